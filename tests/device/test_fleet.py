"""Many hosts over real ssh: each is a network namespace with an sshd of its own, and nothing is left of any."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import drivelab
from device.fleets import SIMULATED, Fleet, Host, assert_measured_once, no_space
from device.namespaces import Network, until
from drivelab.fleet.record import open_fleet
from drivelab.model.histogram import merge
from drivelab.store.read import open_run

pytestmark = [
    pytest.mark.needs_root,
    pytest.mark.needs_tool("ip", "nsenter", "ss", "ssh", "sshd", "ssh-keygen", "losetup", "mkfs.ext4", "faketime"),
    pytest.mark.timeout(900),
]

HERE = Path(__file__).parent
MakeLoopDevice = Callable[..., Path]
HOSTS = 20
# the experiment twice, and with both levels of the setting
TRIALS, VARIED_TRIALS = 2, 4
# 20 before a release: make prove
KILLS = 20 if os.environ.get("DRIVELAB_PROVE") else 5
# the shortest that there is
SILENT = ("--silent-for", "11s")
PATIENT = ("--join-within", "10min")
LAST_AND_FIRST = ((max, "last"), (min, "first"))


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    made = Network(tmp_path_factory.mktemp("network"), HOSTS)
    yield made
    made.close()


@pytest.fixture
def fleet(network: Network, tmp_path: Path) -> Iterator[Fleet]:
    made = Fleet(network, tmp_path)
    yield made
    made.close()


def scheduler_of(device: Path) -> str:
    return Path(f"/sys/block/{device.name}/queue/scheduler").read_text().partition("[")[2].partition("]")[0]


def assert_put_back(fleet: Fleet, devices: list[Path]) -> None:
    """Whatever hosts have changed is as it was, and their drives are nobody's."""
    fleet.wait_until_idle()
    assert {host.name: left for host in fleet.hosts.values() if (left := host.left_over())} == {}
    for device in devices:
        assert scheduler_of(device) == "none"
        os.close(os.open(device, os.O_RDWR | os.O_EXCL))


def digests(directory: Path) -> dict[str, str]:
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_twenty_hosts_are_measured_and_their_runs_come_here_as_they_are(fleet: Fleet) -> None:
    for number in range(HOSTS):
        fleet.add(number, targets=[SIMULATED])
    answer = fleet.run(*PATIENT)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    assert f"{HOSTS} of {HOSTS} targets on {HOSTS} hosts are measured" in answer.stdout
    items = fleet.items()
    assert len(items) == HOSTS
    for item in items.values():
        here, there = digests(fleet.directory / item["gathered"]), digests(Path(item["run"]))
        assert here == there
        assert "run.json" in here
    assert list(fleet.directory.glob(".*.partial")) == []


def test_what_is_wrong_with_one_host_harms_no_other_and_is_named(
    fleet: Fleet, make_loop_device: MakeLoopDevice, mount_filesystem: Callable[..., Path]
) -> None:
    fleet.add(0, targets=[SIMULATED])
    with_another_version(fleet.add(1, targets=[SIMULATED]))
    fleet.add(2, targets=[SIMULATED])
    fleet.add(3, targets=[SIMULATED], command="/nowhere/drivelab")
    full = fleet.add(4, targets=[SIMULATED])
    with_another_clock(fleet.add(5, targets=[SIMULATED]))
    fleet.add(6, drives=["nosuchdrive0"])
    fleet.erasable.remove("host6:nosuchdrive0")
    mounted = mount_filesystem("ext4", size_bytes=64 * 2**20)
    in_use = next(
        line.split()[0]
        for line in Path("/proc/mounts").read_text(errors="surrogateescape").splitlines()
        if str(mounted) in line
    )
    fleet.add(7, drives=[Path(in_use).name])
    kept = make_loop_device()
    kept.write_bytes(random.Random(1).randbytes(1 << 20) * 64)
    before = hashlib.sha256(kept.read_bytes()).hexdigest()
    fleet.add(8, drives=[kept.name])
    fleet.erasable.remove(f"host8:{kept.name}")
    with unreachable(fleet.network, 2), no_space(full.runs):
        answer = fleet.run(*PATIENT)
        fleet.wait_until_idle()
    assert answer.returncode == 1, answer.stdout + answer.stderr
    assert "2 of 4 targets on 4 of 9 hosts are measured; 2 failed, 3 hosts could not be asked" in one_line(
        answer.stdout
    )
    hosts = fleet.stored()["hosts"]
    assert re.match(r"F908: another version: files of drivelab \w{16} there and \w{16} here", hosts["host1"]["reason"])
    assert hosts["host2"]["reason"].endswith("port 22: Connection refused (exit code 255)")
    assert "/nowhere/drivelab: No such file or directory" in hosts["host3"]["reason"]
    assert hosts["host5"]["notes"] == ["its clock is 1 h ahead of this one"]
    assert hosts["host6"]["notes"] == ["no drive meets name nosuchdrive0"]
    assert f"is mounted on {mounted}" in hosts["host7"]["notes"][0]
    told = {key: (item["state"], item["reason"].partition(":")[0]) for key, item in fleet.items().items()}
    assert told == {
        "host0/sim-disk-7200": ("complete", ""),
        "host4/sim-disk-7200": ("failed", "S502"),
        "host5/sim-disk-7200": ("complete", ""),
        f"host8/{kept.name}": ("failed", "C201"),
    }
    assert fleet.items()[f"host8/{kept.name}"]["reason"].endswith(f": --erase-list with the line host8:{kept.name}")
    told = one_line(answer.stderr)
    assert f"consent is missing for 1 drive on 1 host: to have them erased, list host8:{kept.name}" in told
    assert told.index("consent is missing") < told.index(": measuring")
    assert hashlib.sha256(kept.read_bytes()).hexdigest() == before


def test_nothing_is_erased_where_a_line_of_the_list_means_no_drive(
    fleet: Fleet, make_loop_device: MakeLoopDevice
) -> None:
    device = make_loop_device()
    device.write_bytes(random.Random(1).randbytes(1 << 20) * 64)
    before = hashlib.sha256(device.read_bytes()).hexdigest()
    hosts = [fleet.add(0, drives=[device.name]), fleet.add(1, targets=[SIMULATED])]
    told = fleet.run("--dry-run", *PATIENT)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.startswith("ERASES 1 of 2 targets, on 1 host; ")
    fleet.erasable.append("host1:loop999")
    answer = fleet.run(*PATIENT)
    assert answer.returncode == 2
    assert "error[F902] no drive is meant by host1:loop999 of the erase list" in answer.stderr
    assert [host.directories() for host in hosts] == [[], []]
    assert hashlib.sha256(device.read_bytes()).hexdigest() == before
    # its host is off: nobody knows whether it means a drive
    with unreachable(fleet.network, 1):
        answer = fleet.run(*PATIENT)
    assert "host1:loop999 of the erase list: host1 has not answered; it stops nothing" in one_line(answer.stderr)
    assert {item["state"] for item in fleet.items().values()} == {"complete"}
    # it has come meanwhile, and is subject to the same list
    answer = fleet.resume(*PATIENT)
    assert answer.returncode == 2, answer.stdout + answer.stderr
    assert hosts[1].directories() == []


def test_a_drive_without_serial_that_two_hosts_of_one_kernel_see_is_told_beforehand_and_measured_by_turns(
    fleet: Fleet, make_loop_device: MakeLoopDevice
) -> None:
    device = make_loop_device(direct=True)
    for number in range(2):
        fleet.add(number, drives=[device.name])
    answer = fleet.run(*PATIENT)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    told = f"host0/{device.name} and host1/{device.name} are one drive: it is measured from one host after the other"
    assert one_line(answer.stderr).index(told) < one_line(answer.stderr).index(": measuring")
    assert {item["state"] for item in fleet.items().values()} == {"complete"}


def test_a_host_that_is_cut_off_and_one_that_is_killed_put_all_back_and_go_on_later(
    fleet: Fleet, make_loop_device: MakeLoopDevice
) -> None:
    devices = [make_loop_device(direct=True) for _ in range(3)]
    cut_off, killed, good = (fleet.add(number, drives=[device.name]) for number, device in enumerate(devices))
    fleet.vary(per_s=50)
    asking = fleet.start(*fleet.run_words(*PATIENT, *SILENT))
    for device in devices[:2]:
        fleet.wait_until(lambda device=device: scheduler_of(device) == "mq-deadline", "a setting is changed")  # type: ignore[misc]
    with cable_out(fleet.network, cut_off.number):
        fleet.kill_worker(killed)
        assert asking.wait() == 1
        assert_put_back(fleet, devices)
    states = {item["host"]: item["state"] for item in fleet.items().values()}
    assert states == {"host0": "cut_off", "host1": "cut_off", "host2": "complete"}
    assert fleet.reason("host0") == fleet.reason("host1") == "the connection to it was lost"
    assert (fleet.directory / fleet.items()[f"host2/{devices[2].name}"]["gathered"] / "run.json").exists()
    answer = fleet.resume(*PATIENT)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    for host in (cut_off, killed, good):
        assert_measured_once(host, VARIED_TRIALS)
    assert_put_back(fleet, devices)


@pytest.mark.provokes("F907")
def test_nobody_without_a_certificate_is_heard_and_nobody_else_measures_meanwhile(
    fleet: Fleet, make_loop_device: MakeLoopDevice
) -> None:
    device = make_loop_device(direct=True)
    host = fleet.add(0, drives=[device.name])
    # longer than anybody disturbs it, however busy the machine is
    fleet.vary(per_s=1)
    asking = fleet.start(*fleet.run_words(*PATIENT))
    fleet.wait_until(host.directories, "the host measures")
    here, there = (listening(fleet.network, number) for number in (None, host.number))
    assert [address for address, _ in here] == [fleet.network.address]
    assert sorted({address for address, _ in there}) == [host.address]
    assert len(there) == 2, "an sshd, and where those who ask are heard"
    foreign = fleet.folder / "foreign"
    assert fleet.ask("keys", str(foreign)).returncode == 0
    for address, port in {*here, *there} - {(host.address, 22)}:
        for keys in ("plain", "none", str(foreign)):
            words = [sys.executable, str(HERE / "tls_client.py"), address, str(port), keys]
            answer = subprocess.run(fleet.network.inside(None, words), capture_output=True, text=True, timeout=300)
            assert answer.stdout == "refused\n", (address, port, keys, answer.stdout, answer.stderr)
    answer = fleet.ask("resume", "LAST")
    assert answer.returncode == 3, answer.stderr
    assert "error[F907]" in answer.stderr
    copy = fleet.folder / "copy"
    shutil.copytree(fleet.directory, copy)
    answer = fleet.ask("resume", str(copy), "--erase-list", str(fleet.folder / "erasable.txt"), *PATIENT)
    assert "F907: this host measures it already" in one_line(answer.stdout), answer.stdout + answer.stderr
    assert asking.poll() is None, fleet.said()
    asking.send_signal(signal.SIGINT)
    assert asking.wait() == 130
    assert f"host0/{device.name}: cut off: the fleet was interrupted" in fleet.said()
    assert_put_back(fleet, [device])
    assert len(host.directories()) == 1, "it was measured twice"


@pytest.mark.provokes("F909")
def test_hosts_that_others_start_join_with_keys_of_the_same_authority_alone(fleet: Fleet) -> None:
    host = fleet.add(0, targets=[SIMULATED])
    own, foreign = fleet.folder / "own", fleet.folder / "foreign"
    for keys in (own, foreign):
        assert fleet.ask("keys", str(keys)).returncode == 0
    place = f"tls://{fleet.network.address}:8786"
    asking = fleet.start(*fleet.run_words(*PATIENT, "--scheduler", place, "--keys", str(own)))
    fleet.wait_until(lambda: (fleet.network.address, 8786) in listening(fleet.network, None), "hosts can join")

    second = fleet.ask(*fleet.run_words("--scheduler", place, "--keys", str(own)))
    assert second.returncode == 1
    assert f"error[F909] cannot listen at {fleet.network.address}: Address already in use" in second.stderr

    def join(keys: Path, *options: str) -> subprocess.CompletedProcess[str]:
        words = [str(host.folder / "drivelab"), "fleet", "worker", place, "--keys", str(keys), "--name", host.name]
        return subprocess.run(fleet.network.inside(host.number, [*words, *options]), capture_output=True, text=True)

    refused = join(foreign, "--join-within", "5s")
    assert refused.returncode == 1
    assert refused.stderr.startswith(f"error[F909] it cannot join {place}: its keys are those of another authority")
    joined = join(own, *PATIENT)
    assert joined.returncode == 0, joined.stderr
    assert asking.wait() == 0
    assert_measured_once(host, TRIALS)


@pytest.mark.timeout(1800)
def test_after_kills_of_who_asks_every_trial_is_there_once_and_nothing_is_left(
    fleet: Fleet, make_loop_device: MakeLoopDevice
) -> None:
    devices = [make_loop_device(direct=True) for _ in range(2)]
    hosts = [fleet.add(number, drives=[device.name]) for number, device in enumerate(devices)]
    fleet.vary(per_s=100)
    generator = random.Random(1)
    run, erasable = fleet.run_words(*PATIENT), ("--erase-list", str(fleet.folder / "erasable.txt"))
    goes_on, cut_off = False, 0
    for _ in range(KILLS):
        if goes_on and open_fleet(str(fleet.directory)).is_whole:
            # the kill before came too late, and there is nothing left to kill
            break
        asking = fleet.start(*(("resume", *erasable, *PATIENT) if goes_on else run))
        if generator.random() < 0.7:
            # the others hit the start, in which nothing is gained yet; what is measured may only have to come here
            until(lambda asking=asking: "measuring" in fleet.said() or asking.poll() is not None, "it is measured")
        time.sleep(VARIED_TRIALS * generator.random())
        asking.kill()
        asking.wait()
        assert_put_back(fleet, devices)
        states = [host.directories() and open_run(host.directories()[-1]).run_json["status"] for host in hosts]
        goes_on = any((fleet.folder / "runs").glob("*/fleet.json"))
        cut_off += states != ["complete"] * len(hosts)
    assert cut_off, "the kills came too late to mean anything"
    answer = fleet.ask("resume", str(fleet.directory), *erasable, *PATIENT)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    for host in hosts:
        assert_measured_once(host, VARIED_TRIALS)
    assert_put_back(fleet, devices)


def one_line(text: str) -> str:
    return " ".join(text.split())


def listening(network: Network, number: int | None) -> list[tuple[str, int]]:
    """Every address and port that somebody listens at on a host, or where hosts are asked from."""
    words = network.inside(number, ["ss", "-Hltn"])
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    places = [line.split()[3].rpartition(":") for line in lines]
    return [(address, int(port)) for address, _, port in places]


@contextmanager
def cable_out(network: Network, number: int) -> Iterator[None]:
    """A host that is cut off, so that no packet says so."""
    network.set_cable(number, "down")
    try:
        yield
    finally:
        network.set_cable(number, "up")


@contextmanager
def unreachable(network: Network, number: int) -> Iterator[None]:
    """A host without an sshd."""
    network.stop_sshd(number)
    try:
        yield
    finally:
        network.start_sshd(number)


def with_another_version(host: Host) -> None:
    """Have a host start a copy of drivelab with one line more."""
    copy = host.folder / "copy"
    shutil.copytree(Path(drivelab.__file__).parent, copy / "drivelab", ignore=shutil.ignore_patterns("__pycache__"))
    with (copy / "drivelab" / "__init__.py").open("a") as file:
        file.write("# another line\n")
    host.environment["PYTHONPATH"] = f"{copy}:{host.environment['PYTHONPATH']}"


def with_another_clock(host: Host) -> None:
    """Let a host's clock be an hour ahead."""
    words = ["faketime", "-m", "-f", "+1h", "env"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    faked = dict(line.split("=", 1) for line in told.splitlines() if line.startswith(("FAKETIME=", "LD_PRELOAD=")))
    host.environment |= faked | {"FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1"}


def test_a_workload_begins_on_all_hosts_at_one_moment_or_on_none(fleet: Fleet, tmp_path: Path) -> None:
    for number in range(3):
        fleet.add(number, targets=[str(tmp_path / "shared-{host}.dat")])
    hosts = fleet.run_words()[3]
    options = ("--operation", "write", "--size", "1MiB", "--runtime", "1s", "--json", *PATIENT)
    answer = fleet.ask("io", "--hosts", hosts, *options)
    # 4: what was written lies in memory, which is told
    assert answer.returncode == 4, answer.stdout + answer.stderr
    told = json.loads(answer.stdout)["together"]
    runs = [open_run(fleet.directory / item["gathered"]) for item in fleet.items().values()]
    measured = [run.measurement("io") for run in runs]
    whole = merge([one.histograms["write", "total"] for one in measured])
    assert told["totals"]["write"]["latency_count"] == whole.total_count
    assert told["totals"]["write"]["total_latency_ns_p99"] == whole.quantile_ns(0.99)
    assert 0 < told["window_ns"] <= min(one.engine["measured_ns"] for one in measured)
    # they have one clock
    for host in fleet.stored()["hosts"].values():
        assert abs(host["clock_offset_ns"]) <= host["clock_error_ns"]
    moments = [one.context["told_start"] for one in measured]
    asked = [moment["asked_unix_ns"] for moment in moments]
    assert max(asked) - min(asked) <= told["clock_error_ns"]
    last, first = (choose(moment[f"{name}_job_unix_ns"] for moment in moments) for choose, name in LAST_AND_FIRST)
    assert abs(told["begin_spread_ns"] - (last - first)) <= told["clock_error_ns"]

    fleet.add(3, targets=["/nowhere/shared.dat"])
    before = {path: path.read_bytes() for path in tmp_path.glob("shared-*.dat")}
    refused = fleet.ask("io", "--hosts", fleet.run_words()[3], *options, "--overwrite-file", "--seed", "7")
    assert refused.returncode == 1, refused.stdout
    assert "/nowhere does not exist" in fleet.reason("host3")
    assert fleet.reason("host0") == "all were to begin together, and host3 could not"
    assert '"state": "measuring"' not in refused.stderr
    assert {path: path.read_bytes() for path in tmp_path.glob("shared-*.dat")} == before
    assert {item["state"] for item in fleet.items().values() if item["host"] != "host3"} == {"planned"}
