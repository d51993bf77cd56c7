"""Who may speak to whom: certificates of one authority only, and keys that nobody else can read."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

import pytest

from drivelab.fleet.certificates import ANY, Keys, may_join_as, new_keys, read_keys, require_own_keys, write_keys
from drivelab.model.errors import DrivelabError


def test_both_sides_of_one_fleet_know_each_other(tmp_path: Path) -> None:
    made = new_keys()
    assert handshake(tmp_path, made.controller, made.hosts[ANY]) == ""
    assert handshake(tmp_path, made.hosts[ANY], made.controller) == ""


def test_a_certificate_of_another_authority_is_refused_on_either_side(tmp_path: Path) -> None:
    made, foreign = new_keys(), new_keys()
    for server, client in ((made.controller, foreign.hosts[ANY]), (foreign.hosts[ANY], made.controller)):
        assert "certificate verify failed" in handshake(tmp_path, server, client)
    # one that says it is of ours, with a key of its own
    forged = Keys(made.hosts[ANY].authority, foreign.hosts[ANY].certificate, foreign.hosts[ANY].key)
    assert "certificate verify failed" in handshake(tmp_path, made.controller, forged)


def test_a_host_can_sign_nobody_else(tmp_path: Path) -> None:
    from cryptography import x509

    made = new_keys()
    for pem, is_authority in ((made.hosts[ANY].authority, True), (made.hosts[ANY].certificate, False)):
        certificate = x509.load_pem_x509_certificate(pem.encode())
        assert certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is is_authority


def test_nothing_but_encryption_is_spoken() -> None:
    assert new_keys().hosts[ANY].security().require_encryption is True


def test_keys_in_files_are_their_owner_s(tmp_path: Path) -> None:
    paths = write_keys(tmp_path / "keys")
    assert {path.name: path.stat().st_mode & 0o777 for path in paths} == dict.fromkeys(
        ("authority.pem", "controller.pem", "controller.key", "host.pem", "host.key"), 0o600
    )
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700
    assert handshake(tmp_path, read_keys(tmp_path / "keys", "controller"), read_keys(tmp_path / "keys", "host")) == ""


@pytest.mark.provokes("F904")
def test_keys_that_others_may_read_or_that_are_none_are_refused(tmp_path: Path) -> None:
    write_keys(tmp_path)
    for mode in (0o644, 0o640, 0o602):
        (tmp_path / "host.key").chmod(mode)
        refused(lambda: read_keys(tmp_path, "host"), "others may read the key")
    (tmp_path / "host.key").chmod(0o600)
    read_keys(tmp_path, "host")
    (tmp_path / "controller.pem").write_bytes(b"\xff")
    refused(lambda: read_keys(tmp_path, "controller"), "no key: not in PEM")
    (tmp_path / "host.pem").unlink()
    refused(lambda: read_keys(tmp_path, "host"), "no key: No such file or directory")
    refused(lambda: write_keys(tmp_path), "there are keys already")


@pytest.mark.provokes("F905")
def test_without_what_carries_messages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("distributed", "cryptography"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(DrivelabError, match="distributed and cryptography cannot be imported") as caught:
        new_keys()
    assert caught.value.code == "F905"
    assert caught.value.do == "pip install 'drivelab[fleet]'"


def refused(act: object, what: str) -> None:
    with pytest.raises(DrivelabError, match=what) as caught:
        act()  # type: ignore[operator]
    assert caught.value.code == "F904"


def handshake(folder: Path, server: Keys, client: Keys) -> str:
    """What either side has against the other; empty where both agree."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    sides = [
        context_of(folder, server, ssl.Purpose.CLIENT_AUTH).wrap_bio(to_server, to_client, server_side=True),
        context_of(folder, client, ssl.Purpose.SERVER_AUTH).wrap_bio(to_client, to_server),
    ]
    for _ in range(6):
        for side in sides:
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                pass
            except ssl.SSLError as error:
                return str(error)
    return ""


def context_of(folder: Path, keys: Keys, purpose: ssl.Purpose) -> ssl.SSLContext:
    """As Dask makes one of the same keys."""
    certificate, key = folder / "certificate", folder / "key"
    certificate.write_text(keys.certificate)
    key.write_text(keys.key)
    context = ssl.create_default_context(purpose, cadata=keys.authority)
    context.verify_mode, context.check_hostname = ssl.CERT_REQUIRED, False
    context.load_cert_chain(certificate, key)
    return context


def test_each_host_has_keys_of_its_own_where_names_are_known(tmp_path: Path) -> None:
    write_keys(tmp_path, ["one", "two"])
    assert sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()) == [
        *("authority.pem", "controller.key", "controller.pem"),
        *(f"{name}/{file}" for name in ("one", "two") for file in ("authority.pem", "host.key", "host.pem")),
    ]
    one = read_keys(tmp_path / "one", "host")
    assert handshake(tmp_path, read_keys(tmp_path, "controller"), one) == ""
    require_own_keys(one, "one", tmp_path / "one")
    refused(lambda: require_own_keys(one, "two", tmp_path / "one"), "these keys are not of two, but of one")
    refused(lambda: require_own_keys(Keys("", "rubbish", ""), "two", tmp_path), "no certificate")
    require_own_keys(new_keys().hosts[ANY], "two", tmp_path)


@pytest.mark.parametrize(
    ("subject", "may"),
    [
        ("drivelab fleet host one", True),
        ("drivelab fleet host", True),
        ("drivelab fleet host one ", False),
        ("drivelab fleet host on", False),
        ("drivelab fleet host two", False),
        ("drivelab fleet controller", False),
        ("", False),
    ],
)
def test_a_host_joins_by_the_name_in_its_certificate(subject: str, may: bool) -> None:
    assert may_join_as(subject, "one") is may
