"""Settings, trims and fill levels in a run: set, read back, recorded, and put back, also after a kill."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from device.program import Drivelab, wait_for_line, watch
from drivelab.inventory.mounts import read_mounts
from drivelab.inventory.target import resolve_target
from drivelab.store.read import open_run

pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool("losetup", "mkfs.ext4")]

HEAD = """
format = 1
name = "varied"
question = "What does the setting change?"
repeats = { full = 2, quick = 1 }

[[workloads]]
name = "log"
block_size = "4KiB"
backend = "sync"
durability = "fdatasync"
direct = true
access = "sequential"
count = 200
interval = "5ms"
"""


def factor(setting: str, *levels: str) -> str:
    listed = ", ".join(json.dumps(level) for level in levels)
    return f'\n[[factors]]\nsetting = "{setting}"\nlevels = [{listed}]\n'


def queue(device: Path, attribute: str) -> str:
    return Path(f"/sys/block/{device.name}/queue/{attribute}").read_text().strip()


def run_on(drivelab: Drivelab, device: Path, *factors: str, more: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Rows of the trials of an experiment with these factors."""
    file = drivelab.folder / "varied.toml"
    file.write_text(HEAD + "".join(factors))
    answer = drivelab.run("run", str(file), str(device), "--erase", device.name, *more)
    assert answer.returncode in (0, 4), answer.stderr
    (directory,) = drivelab.runs.iterdir()
    rows: list[dict[str, Any]] = open_run(directory).trials.to_pylist()
    return rows


def flushes(row: dict[str, Any]) -> float:
    """Flushes per operation that the kernel counted in the timed pass."""
    counts = next(counts for counts in json.loads(row["devices_json"]) if counts["device"].startswith("loop"))
    return float(counts["flushes"] / row["operation_count"])


def test_a_setting_is_set_read_back_recorded_and_put_back(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    before = queue(device, "write_cache"), queue(device, "scheduler")
    levels = ("write back", "write through")
    rows = run_on(drivelab, device, factor("kernel-write-cache", *levels), factor("scheduler", "none", "mq-deadline"))
    assert len(rows) == 8
    for row in rows:
        assert row["achieved_kernel-write-cache"] == row["asked_kernel-write-cache"]
        assert row["achieved_scheduler"] == row["asked_scheduler"]
        expected = 1.0 if row["asked_kernel-write-cache"] == "write back" else 0.0
        assert flushes(row) == pytest.approx(expected, abs=0.02)
    assert (queue(device, "write_cache"), queue(device, "scheduler")) == before
    (directory,) = drivelab.runs.iterdir()
    assert open_run(directory).run_json["restored"][-1] == "every setting was read again, and is as it was found"


def test_one_at_a_time_leaves_the_others_as_found(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    design = 'design = "one-at-a-time"\n'
    file = drivelab.folder / "scan.toml"
    factors = factor("kernel-write-cache", "as-found", "write through") + factor("read-ahead", "as-found", "65536")
    file.write_text(HEAD.replace("question", design + "question", 1) + factors)
    found = queue(device, "write_cache"), str(int(queue(device, "read_ahead_kb")) * 1024)
    assert drivelab.run("run", str(file), str(device), "--erase", device.name).returncode in (0, 4)
    (directory,) = drivelab.runs.iterdir()
    achieved = {
        (row["achieved_kernel-write-cache"], row["achieved_read-ahead"])
        for row in open_run(directory).trials.to_pylist()
    }
    assert achieved == {found, ("write through", found[1]), (found[0], "65536")}


def test_a_killed_run_leaves_settings_that_restore_puts_back(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    before = queue(device, "read_ahead_kb")
    file = drivelab.folder / "varied.toml"
    file.write_text(HEAD + factor("read-ahead", "4096"))
    process = drivelab.start("run", str(file), str(device), "--erase", device.name)
    wait_for_line(process, "step 1 of 2")
    process.kill()
    process.communicate()
    assert queue(device, "read_ahead_kb") == "4"
    answer = drivelab.run("restore")
    assert answer.returncode == 0
    assert "read" in answer.stdout
    assert queue(device, "read_ahead_kb") == before


@pytest.mark.provokes("P707")
def test_a_level_that_is_not_to_be_had_is_told_before_anything_is_done(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    file = drivelab.folder / "varied.toml"
    file.write_text(HEAD + factor("apm", "as-found", "254"))
    answer = drivelab.run("run", str(file), str(device), "--erase", device.name)
    assert answer.returncode == 2
    assert "error[P707] apm 254 for" in answer.stderr
    assert "--skip-unavailable" in answer.stderr
    assert not drivelab.runs.exists()
    answer = drivelab.run("run", str(file), str(device), "--erase", device.name, "--skip-unavailable")
    assert answer.returncode in (0, 4), answer.stderr
    (directory,) = drivelab.runs.iterdir()
    run = open_run(directory)
    assert {row["asked_apm"] for row in run.trials.to_pylist()} == {"as-found"}
    assert "apm 254" in run.run_json["plan"]["left_out"][0]


def test_a_whole_device_is_trimmed_before_each_trial(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    rows = run_on(drivelab, device, factor("trim", "none", "device"))
    trimmed = [json.loads(row["context_json"]).get("trim") for row in rows if row["asked_trim"] == "device"]
    assert [trim["discarded_bytes"] for trim in trimmed] == [32 * 2**20] * 2
    assert all("trim" not in json.loads(row["context_json"]) for row in rows if row["asked_trim"] == "none")


def test_a_fill_level_uses_the_begin_of_the_drive_only(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    file = drivelab.folder / "fill.toml"
    file.write_text(HEAD.replace('access = "sequential"', 'access = "random"\nfill_level = "25%"'))
    device.write_bytes(bytes(32 * 2**20))
    assert drivelab.run("run", str(file), str(device), "--erase", device.name).returncode in (0, 4)
    content = device.read_bytes()
    assert any(content[: 8 * 2**20])
    assert not any(content[8 * 2**20 :])


def test_a_file_that_is_read_is_written_first(drivelab: Drivelab, tmp_path: Path) -> None:
    file = drivelab.folder / "read.toml"
    reads = HEAD.replace('durability = "fdatasync"', 'operation = "read"\nfile_size = "8MiB"')
    file.write_text(reads.replace("direct = true\n", "") + factor("page-cache", "keep", "drop"))
    target = tmp_path / "target"
    target.mkdir()
    answer = drivelab.run("run", str(file), str(target))
    assert answer.returncode in (0, 4), answer.stderr
    (directory,) = drivelab.runs.iterdir()
    for row in open_run(directory).trials.to_pylist():
        context = json.loads(row["context_json"])
        assert row["operation_count"] == 200
        assert context["page_cache"]["resident_bytes_before"] == 0
        assert ("dropped_page_cache" in context) == (row["asked_page-cache"] == "drop")
    assert list(target.iterdir()) == []


def test_an_option_that_the_kernel_refuses_is_told_before_anything_is_changed(
    drivelab: Drivelab, make_loop_device
) -> None:
    device = make_loop_device(32 * 2**20)
    before = device.read_bytes()
    file = drivelab.folder / "mount.toml"
    levels = '\n[[factors]]\nsetting = "filesystem"\nlevels = [{ type = "ext4", mount_options = ["dax=always"] }]\n'
    file.write_text((HEAD + levels).replace('access = "sequential"', 'access = "sequential"\nfile_state = "append"'))
    answer = drivelab.run("run", str(file), str(device), "--erase", device.name)
    assert answer.returncode == 1
    assert "error[R403] ext4:" in answer.stderr
    assert "dax=always" in answer.stderr
    assert device.read_bytes() == before
    assert not drivelab.runs.exists()
    assert drivelab.left_over() == []


@pytest.mark.provokes("C210")
def test_a_purge_needs_a_word_of_its_own(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    from drivelab.inventory.consent import require_purge_consent
    from drivelab.inventory.target import resolve_target
    from drivelab.model.errors import DrivelabError

    with pytest.raises(DrivelabError, match="its owner has not named it") as refused:
        require_purge_consent(resolve_target(str(device)), ["somebody-else"])
    assert refused.value.code == "C210"
    require_purge_consent(resolve_target(str(device)), [device.name])


@pytest.fixture
def mounted(mount_filesystem) -> tuple[Path, Path]:
    """A directory on an ext4 file system, and the loop device that it lies on."""
    directory = mount_filesystem("ext4", size_bytes=64 * 2**20)
    device = next(mount.source for mount in read_mounts() if mount.mount_point == str(directory))
    return directory, Path(device)


def test_a_directory_on_a_loop_device_sets_that_device_and_not_the_one_below(
    drivelab: Drivelab, mounted: tuple[Path, Path]
) -> None:
    directory, device = mounted
    file = drivelab.folder / "scheduler.toml"
    file.write_text(HEAD.replace("direct = true", 'file_size = "8MiB"') + factor("scheduler", "none", "mq-deadline"))
    below = drive_below(device)
    before = queue(device, "scheduler"), queue(below, "scheduler")
    process = drivelab.start("run", str(file), str(directory), "--json")
    seen = set()
    out, err = watch(process, lambda: seen.add(queue(below, "scheduler")))
    assert process.returncode in (0, 4), err
    assert seen == {before[1]}
    assert (queue(device, "scheduler"), queue(below, "scheduler")) == before
    rows = open_run(json.loads(out)["run"]).trials.to_pylist()
    assert {row["achieved_scheduler"] for row in rows} == {"none", "mq-deadline"}


def drive_below(loop: Path) -> Path:
    """The drive that the file of a loop device lies on."""
    facts = resolve_target(str(loop))
    return Path(facts.devices[0].path)


@pytest.mark.provokes("C212")
def test_flushes_are_not_kept_from_a_drive_with_data_of_others(drivelab: Drivelab, mounted: tuple[Path, Path]) -> None:
    directory, device = mounted
    file = drivelab.folder / "cache.toml"
    file.write_text(HEAD.replace("direct = true", 'file_size = "8MiB"') + factor("kernel-write-cache", "write through"))
    before = queue(device, "write_cache")
    answer = drivelab.run("run", str(file), str(directory))
    assert answer.returncode == 3
    assert "error[C212]" in answer.stderr
    assert queue(device, "write_cache") == before
    assert not drivelab.runs.exists()


def test_a_setting_that_somebody_else_keeps_changing_fails_its_steps(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(32 * 2**20)
    file = drivelab.folder / "varied.toml"
    file.write_text(HEAD.replace("count = 200", "count = 4000") + factor("read-ahead", "65536"))

    def meddle() -> None:
        with suppress(OSError):
            Path(f"/sys/block/{device.name}/queue/read_ahead_kb").write_text("32")

    process = drivelab.start("run", str(file), str(device), "--erase", device.name, "--json")
    out, err = watch(process, meddle, every_s=0.002)
    # seen right after it was set, as the attribute, or right before the trial, as the setting
    said = re.compile("read_ahead_kb was set to 64 and is 32|read-ahead was set to 65536 and is 32768")
    if process.returncode == 1 and not out:
        assert said.search(err), "no step gave a result"
        return
    # a step that began between two looks of the other program fails or is marked, either way
    failures = json.loads(out)["failures"]
    assert all(said.search(failure) for failure in failures.values()), failures
    (directory,) = drivelab.runs.iterdir()
    for row in open_run(directory).trials.to_pylist():
        assert row["achieved_read-ahead"] == "32768", "what it was in the trial stands beside what was asked"
        assert any(finding["code"] == "setting-not-kept" for finding in json.loads(row["findings_json"]))


def test_discards_of_one_trial_do_not_fall_into_the_next(drivelab: Drivelab, make_loop_device) -> None:
    device = make_loop_device(256 * 2**20)
    file = drivelab.folder / "discard.toml"
    large = HEAD[HEAD.index("[[workloads]]") :].replace('"log"', '"large"').replace('"4KiB"', '"1MiB"')
    ext4 = '{ type = "ext4", mount_options = ["discard"] }'
    file.write_text(
        (HEAD + large.replace("count = 200", "count = 100")).replace(
            "direct = true", 'direct = true\nfile_state = "append"'
        )
        + f'\n[[factors]]\nsetting = "filesystem"\nlevels = [{ext4}]\n'
    )
    answer = drivelab.run("run", str(file), str(device), "--erase", device.name)
    assert answer.returncode in (0, 4), answer.stderr
    (directory,) = drivelab.runs.iterdir()
    for row in open_run(directory).trials.to_pylist():
        loop = next(counts for counts in json.loads(row["devices_json"]) if counts["device"] == device.name)
        assert loop["discards"] == 0, row["trial"]


@pytest.mark.provokes("C211")
def test_two_runs_do_not_set_one_drive(drivelab: Drivelab, mounted: tuple[Path, Path]) -> None:
    directory, _device = mounted
    file = drivelab.folder / "scheduler.toml"
    text = HEAD.replace("direct = true", 'file_size = "8MiB"') + factor("scheduler", "none", "mq-deadline")
    file.write_text(text.replace("count = 200", "count = 20000"))
    first = drivelab.start("run", str(file), str(directory))
    wait_for_line(first, "step 1 of")
    second = drivelab.run("run", str(file), str(directory))
    assert second.returncode == 3
    assert "error[C211]" in second.stderr
    first.terminate()
    first.communicate()
    assert drivelab.left_over() == []
