"""Random plans that cannot have all that they are asked for: a program is missing, or a target has nothing to set."""

from __future__ import annotations

from random_trials import Random

from drivelab.model.experiment import Experiment
from drivelab.model.setting import SETTING_NAMES, SettingFacts
from drivelab.model.target import TargetFacts
from drivelab.plan.make import make_plan

_GIB = 2**30
_WORKLOAD = {"name": "w", "block_size": "4KiB", "count": 10, "durability": "fdatasync", "file_state": "append"}
# file systems, and the packages with the programs that make them
_PACKAGES = {"xfs": "xfsprogs", "btrfs": "btrfs-progs", "f2fs": "f2fs-tools"}
_LEVELS: dict[str, list[object]] = {
    "write-cache": ["on", "off"],
    "scheduler": ["as-found", "none", "bfq"],
    "apm": [1, 254],
}
_REASONS = ("a loop device has none of its own", "the drive has none", "the kernel does not tell")


def plan_without(random: Random, *, is_program: bool) -> tuple[str, ...]:
    """What is left out of the plan of an experiment on one or two scratch drives, in the planner's words."""
    targets = [_scratch(number) for number in range(int(random.integers(1, 3)))]
    if is_program:
        lacking = {kind for kind in _PACKAGES if random.random() < 0.5} or {str(random.choice(list(_PACKAGES)))}
        factors = [
            {"setting": "filesystem", "levels": ["raw", {"type": "ext4"}, *({"type": one} for one in _PACKAGES)]}
        ]
        reasons = {kind: f"mkfs.{kind} is not installed: apt-get install {_PACKAGES[kind]}" for kind in lacking}
        known = {"filesystem": SettingFacts("filesystem", views=reasons)}
    else:
        asked = [name for name in _LEVELS if random.random() < 0.6] or ["write-cache"]
        factors = [{"setting": name, "levels": _LEVELS[name]} for name in asked]
        known = {name: SettingFacts(name, reason=str(random.choice(_REASONS))) for name in SETTING_NAMES}
    keys = {"format": 1, "name": "x", "question": "?", "workloads": [_WORKLOAD], "repeats": {"full": 4, "quick": 2}}
    experiment = Experiment.model_validate(keys | {"factors": factors})
    plan = make_plan(experiment, targets, seed=int(random.integers(1000)), settings=[known] * len(targets))
    return plan.left_out


def _scratch(number: int) -> TargetFacts:
    size = (number + 1) * _GIB
    return TargetFacts(f"scratch:{number + 1}GiB", "scratch", "", False, None, (), (), size, 512, False)
