"""Certificates of a fleet: who asks proves to be that, hosts prove to be of the fleet, and nobody else is heard.

One authority signs a certificate for whoever asks and one for each host, which has the host's name in it, so that
it can join as no other; where names are not known, one for all hosts. A fleet that starts its hosts over ssh makes
them when it begins, and hands them over there; they are kept in memory alone. Hosts that are started by others
read them from a directory.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping
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
# of keys that any host may have
ANY = ""
_BYTES_MAX = 64 * 1024
# clocks of hosts may be off; those that are off by more are told
_BEFORE, _KEPT_FOR, _MADE_FOR_ONE = timedelta(days=2), timedelta(days=366), timedelta(days=31)
_AUTHORITY_FILE = "authority.pem"


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
    """Those of the side that asks, and those of its hosts by their names; those of `ANY` are for all that have none."""

    controller: Keys
    hosts: Mapping[str, Keys]


def new_keys(hosts: Iterable[str] = (ANY,), kept_for: timedelta = _MADE_FOR_ONE) -> FleetKeys:
    """Keys of a new authority, whose own key is forgotten at once: it signs these and no other.

    Parameters
    ----------
    hosts : iterable of str
        Names of the hosts.
    kept_for : timedelta
        How long they are valid.

    Raises
    ------
    DrivelabError
        F905: what makes them is not installed.
    """
    require_fleet_extra()
    from cryptography.hazmat.primitives.asymmetric import ec

    signing = ec.generate_private_key(ec.SECP256R1())
    authority = _certificate(_AUTHORITY, signing, None, kept_for)
    pem = _pem(authority)

    def signed(subject: str) -> Keys:
        own = ec.generate_private_key(ec.SECP256R1())
        return Keys(pem, _pem(_certificate(subject, own, (authority, signing), kept_for)), _key_pem(own))

    return FleetKeys(signed(CONTROLLER), {name: signed(f"{_HOST} {name}".strip()) for name in hosts})


def may_join_as(subject: str, name: str) -> bool:
    """Whether who has a certificate of this subject, which was verified, may join as the host of a name."""
    return subject in (_HOST, f"{_HOST} {name}")


def require_own_keys(keys: Keys, name: str, directory: Path) -> None:
    """Return only if a host may join by its name with these keys; who asks would not say why it may not.

    Raises
    ------
    DrivelabError
        F904: they are no certificate, or that of another host.
    """
    from cryptography import x509
    from cryptography.x509.oid import NameOID

    where = str(directory / "host.pem")
    try:
        subject = x509.load_pem_x509_certificate(keys.certificate.encode()).subject
    except ValueError as error:
        raise DrivelabError("F904", "no key: no certificate", where=where) from error
    known = str(subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value)
    if not may_join_as(known, name):
        what = f"these keys are not of {name}, but of {known.removeprefix(f'{_HOST} ')}"
        raise DrivelabError("F904", what, where=where, do="name the host as its keys do: --name NAME")


def common_name(certificate: Mapping[str, Any]) -> str:
    """Whose certificate it is, of one that was verified: as `ssl.SSLSocket.getpeercert` has it."""
    parts = dict(part for group in certificate.get("subject", ()) for part in group)
    return str(parts.get("commonName", ""))


def write_keys(directory: Path, hosts: Iterable[str] = (ANY,)) -> list[Path]:
    """Make keys that are kept in files, which only their owner may read.

    Parameters
    ----------
    directory : Path
        Where to.
    hosts : iterable of str
        Names of the hosts, each of which gets a directory below that; without names all share what lies in it.

    Raises
    ------
    DrivelabError
        F904: there are some already. S501 to S503: they cannot be written.
    """
    made = new_keys(hosts, _KEPT_FOR)
    texts = _files(directory, "controller", made.controller)
    for name, keys in made.hosts.items():
        texts |= _files(directory / name, "host", keys)
    if taken := [path for path in texts if path.exists()]:
        do = f"name another directory, or remove this one first: rm -r {shlex.quote(str(directory))}"
        raise DrivelabError("F904", "there are keys already", where=str(taken[0]), do=do)
    for path, text in texts.items():
        make_directory(path.parent)
        path.parent.chmod(0o700)
        with written_aside(path) as aside:
            os.chmod(aside, 0o600)
            aside.write_text(text)
    return list(texts)


def _files(directory: Path, role: str, keys: Keys) -> dict[Path, str]:
    names = (_AUTHORITY_FILE, f"{role}.pem", f"{role}.key")
    return dict(zip((directory / name for name in names), (keys.authority, keys.certificate, keys.key), strict=True))


def read_keys(directory: Path, role: str) -> Keys:
    """The keys of one side, ``controller`` or ``host``, from a directory.

    Raises
    ------
    DrivelabError
        F904: they are not there, or others may read them.
    """
    do = f"make them: drivelab fleet keys {directory}"
    texts = []
    for name in (_AUTHORITY_FILE, f"{role}.pem", f"{role}.key"):
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
