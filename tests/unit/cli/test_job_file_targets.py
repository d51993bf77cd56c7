"""How often a job file has the drives looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

from drivelab.cli.job_file import plan_job_file
from drivelab.inventory import target
from drivelab.model.target import TargetFacts


def test_a_directory_is_looked_at_once_for_all_files_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []
    resolve = target._file_target

    def counted(text: str, kind: str, path: Path, *rest: object) -> TargetFacts:
        looked_at.append(path)
        return resolve(text, kind, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(target, "_file_target", counted)
    (tmp_path / "old.0.0").write_bytes(bytes(4096))
    sections = [f"[{name}]\nrw=write\nstonewall\n" for name in ("new", "newer", "old")]
    jobs = tmp_path / "jobs.fio"
    jobs.write_text("".join([f"[global]\ndirectory={tmp_path}\nsize=64k\n", *sections]))
    plan = plan_job_file(str(jobs), ())
    assert [step.file_name for step in plan.plan.steps] == ["new.0.0", "newer.0.0", "old.0.0"]
    # what is there may lie elsewhere: it is looked at too
    assert sorted(looked_at) == [tmp_path, tmp_path / "old.0.0"]
