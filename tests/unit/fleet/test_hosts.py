"""``hosts.toml`` and the list of drives that may be erased: what they mean, and mistakes with their place."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.fleet.hosts import load_hosts
from drivelab.fleet.ssh import ssh_starter
from drivelab.model.errors import DrivelabError
from drivelab.model.fleet_hosts import DriveRule, HostEntry

HOSTS = """
format = 1

[defaults]
user = "lab"
drives = ["S1"]
tags = { rack = "7", room = "a" }

[hosts.one]
address = "10.0.0.1"

[hosts.two]
user = "root"
drives = [{ transport = "nvme", min_size = "1 TB" }]
targets = ["/srv/data"]
tags = { rack = "8" }
"""


def read(tmp_path: Path, text: str, *only: str) -> dict[str, HostEntry]:
    path = tmp_path / "hosts.toml"
    path.write_text(text)
    return load_hosts(path, only)


def test_a_host_has_what_it_shares_with_the_others(tmp_path: Path) -> None:
    hosts = read(tmp_path, HOSTS)
    assert list(hosts) == ["one", "two"]
    assert (hosts["one"].user, hosts["one"].drives) == ("lab", (DriveRule(serial="S1"),))
    assert hosts["one"].tags == {"rack": "7", "room": "a"}
    assert (hosts["two"].user, hosts["two"].targets) == ("root", ("/srv/data",))
    assert hosts["two"].drives == (DriveRule(transport="nvme", min_size=10**12),)
    assert hosts["two"].tags == {"rack": "8", "room": "a"}
    assert list(read(tmp_path, HOSTS, "two")) == ["two"]


@pytest.mark.parametrize(
    ("text", "line", "what", "do"),
    [
        ("", 1, "format: field required", "add the key"),
        ("format = 2\n[hosts.a]\n", 1, "format: input should be 1, not 2", ""),
        ("format = 1\n[hosts.a]\nadress = 'x'\n", 3, "hosts.a.adress: there is no such key", "did you mean address?"),
        ("format = 1\n[defaults]\nuzer = 'x'\n[hosts.a]\n", 3, "defaults.uzer", "did you mean user?"),
        ("format = 1\n[hosts.a]\ndrives = [{ serail = 'S' }]\n", 3, "drives.1.serail", "did you mean serial?"),
        ("format = 1\n[hosts.a]\nport = 70000\n", 3, "hosts.a.port", ""),
        ("format = 1\n[hosts.a]\ndrives = [{ min_size = '1 XB' }]\n", 3, "'1 XB' is not a size", ""),
        ("format = 1\n[hosts.'-oProxyCommand=x']\n", 2, "hosts.-oProxyCommand=x", ""),
        ("format = 1\n[hosts.a]\naddress = '-oProxyCommand=x'\n", 3, "hosts.a.address", ""),
        ("format = 1\n[hosts.a]\nuser = '-x'\n", 3, "hosts.a.user", ""),
        ("format = 1\n[hosts.a]\ntargets = ['--erase']\n", 3, "hosts.a.targets.1", ""),
        ('format = 1\n[hosts.a]\ntargets = ["a\\u0000"]\n', 3, "hosts.a.targets.1", ""),
        ("format = 1\n[hosts.a]\ndrivelab = 'a \"b'\n", 3, "not the words of a command: no closing quotation", ""),
        ('format = 1\n[hosts.a]\ndrivelab = "a\\u0000b"\n', 3, "hosts.a.drivelab", ""),
        ("format = 1\n[hosts.a]\ndrivelab = ' '\n", 3, "hosts.a.drivelab", ""),
        ("format = 1\n[hosts]\n", 2, "hosts: name at least one host", "[hosts.NAME]"),
        ("format = 1\n[hosts]\n'a/b' = {}\n", 3, "hosts.a/b: a name has at most 64 letters, digits, '-', '.' and", ""),
        ("format = 1\n[hosts.a]\ndrives = ['S1', { }]\n", 3, "a.drives.2: a rule says something", '{ model = "*" }'),
        ("format = 1\n[hosts.a]\ndrives = [{ in_use = true }]\n", 3, "a rule says something of a drive", ""),
        ("format = 1\nhosts = ['a']\n", 2, "hosts: input should be", ""),
        ("format = 1\nhosts.a = 3\n", 2, "hosts.a: input should be", ""),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, line: int, what: str, do: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        read(tmp_path, text)
    assert caught.value.code == "P703"
    assert caught.value.where == f"{tmp_path / 'hosts.toml'}:{line}"
    assert what in caught.value.what
    assert do in caught.value.do


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("[hosts]\nfir = { port = 22 }\nfir = { port = 23 }\n", 3, "fir stands there twice"),
        ("[hosts.fir]\nport = 22\n\n[hosts.fir]\n", 4, "hosts.fir stands there twice"),
        ("[hosts]\nfir = { }\n[ hosts.fir ]\n", 3, "hosts.fir stands there twice"),
        ("[hosts.fir]\ntargets = ['/a']\ntargets = [\n'/b'\n]\n", 5, "a key stands there twice"),
    ],
)
def test_what_stands_there_twice_is_named(tmp_path: Path, text: str, line: int, what: str) -> None:
    with pytest.raises(DrivelabError) as caught:
        read(tmp_path, text)
    assert (caught.value.code, caught.value.what) == ("P702", what)
    assert caught.value.where.startswith(f"{tmp_path / 'hosts.toml'}:{line}, ")


@pytest.mark.provokes("F901")
def test_without_a_file_or_a_host_of_that_name_nothing_begins(tmp_path: Path) -> None:
    with pytest.raises(DrivelabError, match="cannot be read") as missing:
        load_hosts(tmp_path / "none.toml")
    with pytest.raises(DrivelabError, match="there is no host tow") as unknown:
        read(tmp_path, HOSTS, "tow")
    assert (missing.value.code, unknown.value.code) == ("F901", "F901")
    assert unknown.value.do == "did you mean two?"


def test_ssh_is_given_the_words_of_one_command_and_no_option_of_its_own() -> None:
    entry = HostEntry(user="lab", port=2222, sudo=True, drivelab="'/opt/my lab/drivelab' -x")
    words = ssh_starter(entry, "fe80::1%eth0", 30).words
    assert words[:1] == ["ssh"]
    assert words[-3:] == ["--", "fe80::1%eth0", "sudo -n '/opt/my lab/drivelab' -x fleet worker - --json"]
    assert words[-7:-3] == ["-p", "2222", "-l", "lab"]


def test_tags_that_no_run_takes_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "hosts.toml"
    path.write_text('format = 1\n[hosts.one]\ntags = { model = "x" }\n')
    with pytest.raises(DrivelabError, match="a run knows its model without being told") as caught:
        load_hosts(path)
    assert caught.value.code == "P703"


def test_a_command_in_one_s_home_is_found_by_the_shell_there() -> None:
    words = ssh_starter(HostEntry(drivelab="~/drive lab/bin/drivelab".replace(" ", r"\ ")), "one", 5).words
    assert words[-1] == "~/'drive lab/bin/drivelab' fleet worker - --json"
