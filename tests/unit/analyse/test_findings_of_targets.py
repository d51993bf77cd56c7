"""Findings about the target itself, and about findings as a whole."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from simulated_trials import counted, drive, durable_values, durable_workload, evidence, filesystem, measured, target

from drivelab.analyse import findings
from drivelab.analyse.findings import (
    CODES,
    findings_between_targets,
    link_below_maximum,
    network_or_memory_file_system,
    run_findings,
    target_findings,
    trial_findings,
    virtual_drive,
    write_cache_views_disagree,
)
from drivelab.analyse.run_evidence import RunEvidence
from drivelab.model.drive import LinkFacts, WriteCacheFacts
from drivelab.model.finding import VOLUME_CODES, gravity
from drivelab.model.host import HostFacts

DOCS = Path(__file__).resolve().parents[3] / "docs"


def host(hypervisor: str = "") -> HostFacts:
    return HostFacts(
        hostname="h",
        kernel_release="6.18",
        kernel_version="",
        architecture="x86_64",
        distribution=None,
        machine_vendor=None,
        machine_model=None,
        hypervisor=hypervisor,
        container="",
        cpu_model=None,
        cpu_count=2,
        cpu_usable_count=2,
        cpu_governor=None,
        memory_bytes=1 << 34,
        clocksource="tsc",
        tick_rate_hz=250,
        drivelab_version="0.1.0",
    )


def test_a_virtual_drive_is_told() -> None:
    (found,) = virtual_drive.find_in_target(target(drives=[drive(virtual="loop device")]))
    assert (found.severity, found.trial) == ("warning", "")


def test_a_drive_in_a_virtual_machine_is_a_note() -> None:
    assert virtual_drive.find_in_target(target(), host("kvm"))[0].severity == "note"
    assert virtual_drive.find_in_target(target(), host()) == []


def test_two_directories_of_one_drive_are_told() -> None:
    """A reader would take them for two drives."""
    here = target(filesystem())
    (found,) = findings_between_targets({"/data/a": here, "/data/b": here})
    assert found.text.startswith("/data/a and /data/b are in one file system on the same drive (")
    partition = target(filesystem(device_number="8:2"))
    assert "b are on the same drive" in findings_between_targets({"a": here, "b": partition})[0].text
    other = target(filesystem(), [drive(name="sdz")])
    assert findings_between_targets({"a": here, "b": other}) == findings_between_targets({"a": here}) == []


def test_a_link_that_was_trained_down_is_told() -> None:
    narrow = drive(link=LinkFacts("pcie", 8_000_000_000, 16_000_000_000, 2, 4))
    assert "8 GT/s x2 of 16 GT/s x4" in link_below_maximum.find_in_target(target(drives=[narrow]))[0].text
    slow = drive(link=LinkFacts("sata", 3_000_000_000, 6_000_000_000))
    assert "3 Gbit/s of 6 Gbit/s" in link_below_maximum.find_in_target(target(drives=[slow]))[0].text


def test_a_link_at_its_maximum_or_unknown_is_not() -> None:
    assert link_below_maximum.find_in_target(target()) == []
    assert link_below_maximum.find_in_target(target(drives=[drive(link=None)])) == []


def test_memory_is_not_a_drive() -> None:
    (found,) = network_or_memory_file_system.find_in_target(target(filesystem("tmpfs", is_memory=True), []))
    assert found.severity == "invalid"


@pytest.mark.parametrize("kind", ["is_network", "is_fuse"])
def test_other_machines_and_programs_in_between_are_told(kind: str) -> None:
    on = target(filesystem("nfs4", **{kind: True}), [])
    assert network_or_memory_file_system.find_in_target(on)[0].severity == "warning"


def test_a_file_system_on_a_drive_is_fine() -> None:
    assert network_or_memory_file_system.find_in_target(target(filesystem())) == []
    assert network_or_memory_file_system.find_in_target(target()) == []


def test_a_cache_that_is_on_and_never_flushed_loses_writes() -> None:
    lossy = drive(write_cache=WriteCacheFacts(True, "hdparm", "write through", False))
    (found,) = write_cache_views_disagree.find_in_target(target(drives=[lossy]))
    assert found.severity == "invalid"
    assert "sda" in found.advice


def test_a_cache_that_is_off_and_flushed_is_a_note() -> None:
    careful = drive(write_cache=WriteCacheFacts(False, "hdparm", "write back", False))
    assert write_cache_views_disagree.find_in_target(target(drives=[careful]))[0].severity == "note"
    assert write_cache_views_disagree.find_in_target(target()) == []


def test_a_clean_trial_has_no_finding_beyond_its_size() -> None:
    given = evidence(measured(durable_workload(), durable_values(2000), devices=[counted(writes=6000, flushes=4000)]))
    assert [one.code for one in trial_findings(given.measured, given.summary, given.target)] == ["too-little-data"]


def test_everything_is_told_gravest_first() -> None:
    given = evidence(measured(devices=[counted(reads=100)], intervals=3))
    on = target(filesystem(), [drive(virtual="loop device")])
    for found in (trial_findings(given.measured, given.summary, on), target_findings(on)):
        assert [gravity(one) for one in found] == sorted(gravity(one) for one in found)
    assert run_findings(RunEvidence.of([given.summary])) == []


def test_every_kind_has_a_file_of_its_own_name_and_a_section() -> None:
    folder = Path(findings.__file__).parent
    files = {path.stem.replace("_", "-") for path in folder.glob("*.py")} - {"--init--", "evidence"}
    assert set(CODES) == files
    assert set(CODES) >= VOLUME_CODES
    sections = re.findall(r"^## `([a-z-]+)`$", (DOCS / "findings.md").read_text(), re.MULTILINE)
    assert sections == sorted(CODES)


def test_the_sections_tell_every_severity_that_can_occur() -> None:
    page = (DOCS / "findings.md").read_text()
    folder = Path(findings.__file__).parent
    for code in CODES:
        source = (folder / f"{code.replace('-', '_')}.py").read_text()
        severities = {word for word in ("note", "warning", "invalid") if f'"{word}"' in source}
        section = page.split(f"## `{code}`\n")[1].split("\n## ")[0]
        told = set(re.findall(r"\*\*(note|warning|invalid)\*\*", section))
        assert told == severities, code
