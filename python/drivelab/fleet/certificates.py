"""Certificates of a fleet: who asks proves to be that, hosts prove to be of the fleet, and nobody else is heard.

One authority signs one certificate for whoever asks and one for the hosts. A fleet that
starts its hosts over ssh makes both when it begins, and hands them over there; they are
kept in memory alone. Hosts that are started by others read them from a directory.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from drivelab.fleet.extra import require_fleet_extra
from drivelab.model.errors import DrivelabError
from drivelab.store.durable import make_directory, written_aside
from drivelab.store.regular_file import opened_regular

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.x509 import Certificate
    from distributed.security import Security

_AUTHORITY = "drivelab fleet authority"
CONTROLLER, _HOST = "drivelab fleet controller", "drivelab fleet host"
_BYTES_MAX = 64 * 1024
# clocks of hosts may be off; those that are off by more are told
_BEFORE, _KEPT_FOR, _MADE_FOR_ONE = timedelta(days=2), timedelta(days=366), timedelta(days=31)
_FILES = ("authority.pem", "controller.pem", "controller.key", "host.pem", "host.key")


@dataclass(frozen=True, slots=True)
class Keys:
    """What one side of a fleet proves itself with, as PEM.

    Attributes
    ----------
    authority : str
        Who signs: its certificate.
    certificate, key : str
        One's own.
    """

    authority: str
    certificate: str
    key: str

    def to_json(self) -> dict[str, str]:
        """As it is handed to a host."""
        return asdict(self)

    def security(self) -> Security:
        """As Dask takes it; nothing without it is spoken to."""
        from distributed.security import Security

        names: dict[str, Any] = {"require_encryption": True, "tls_ca_file": self.authority}
        for role in ("client", "scheduler", "worker"):
            names |= {f"tls_{role}_cert": self.certificate, f"tls_{role}_key": self.key}
        return Security(**names)


@dataclass(frozen=True, slots=True)
class FleetKeys:
    """Those of the side that asks, and those of its hosts."""

    controller: Keys
    host: Keys


def new_keys(kept_for: timedelta = _MADE_FOR_ONE) -> FleetKeys:
    """Keys of a new authority, whose own key is forgotten at once: it signs these two and no other.

    Raises
    ------
    DrivelabError
        F905: what makes them is not installed.
    """
    require_fleet_extra()
    from cryptography.hazmat.primitives.asymmetric import ec

    signing = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate(_AUTHORITY, signing, None, kept_for)
    made = []
    for role in (CONTROLLER, _HOST):
        own = ec.generate_private_key(ec.SECP256R1())
        certificate = _certificate(role, own, (authority, signing), kept_for)
        made.append(Keys(_pem(authority), _pem(certificate), _key_pem(own)))
    return FleetKeys(*made)


def common_name(certificate: Mapping[str, Any]) -> str:
    """Whose certificate it is, of one that was verified: as `ssl.SSLSocket.getpeercert` has it."""
    parts = dict(part for group in certificate.get("subject", ()) for part in group)
    return str(parts.get("commonName", ""))


def write_keys(directory: Path) -> list[Path]:
    """Make keys that are kept in files, which only their owner may read.

    Raises
    ------
    DrivelabError
        F904: there are some already. S501 to S503: they cannot be written.
    """
    paths = [directory / name for name in _FILES]
    if taken := [path for path in paths if path.exists()]:
        do = f"name another directory, or remove them first: rm {directory}/*.pem {directory}/*.key"
        raise DrivelabError("F904", "there are keys already", where=str(taken[0]), do=do)
    made = new_keys(_KEPT_FOR)
    make_directory(directory)
    directory.chmod(0o700)
    texts = (made.controller.authority, *_own(made.controller), *_own(made.host))
    for path, text in zip(paths, texts, strict=True):
        with written_aside(path) as aside:
            os.chmod(aside, 0o600)
            aside.write_text(text)
    return paths


def read_keys(directory: Path, role: str) -> Keys:
    """The keys of one side, ``controller`` or ``host``, from a directory.

    Raises
    ------
    DrivelabError
        F904: they are not there, or others may read them.
    """
    do = f"make them: drivelab fleet keys {directory}"
    texts = []
    for name in (_FILES[0], f"{role}.pem", f"{role}.key"):
        path = directory / name
        try:
            with opened_regular(path) as file:
                mode = os.fstat(file.fileno()).st_mode
                texts.append(file.read(_BYTES_MAX).decode("ascii"))
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not in PEM"
            raise DrivelabError("F904", f"no key: {reason}", where=str(path), do=do) from error
        if path.suffix == ".key" and mode & 0o077:
            do = f"if they were never copied: chmod 600 {path}; else make new ones"
            raise DrivelabError("F904", "others may read the key", where=str(path), do=do)
    return Keys(*texts)


def _own(keys: Keys) -> tuple[str, str]:
    return keys.certificate, keys.key


def _certificate(
    name: str,
    key: EllipticCurvePrivateKey,
    signer: tuple[Certificate, EllipticCurvePrivateKey] | None,
    kept_for: timedelta,
) -> Certificate:
    """A certificate for a key; signed by itself where there is no signer."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import NameOID

    now = datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateBuilder(
        issuer_name=signer[0].subject if signer else subject,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now - _BEFORE,
        not_valid_after=now + kept_for,
    ).add_extension(x509.BasicConstraints(ca=signer is None, path_length=None), critical=True)
    return builder.sign(signer[1] if signer else key, hashes.SHA256())


def _pem(certificate: Certificate) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM).decode("ascii")


def _key_pem(key: EllipticCurvePrivateKey) -> str:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode("ascii")
