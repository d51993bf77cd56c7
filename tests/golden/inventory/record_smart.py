"""Prints what smartctl and nvme-cli say about a drive's health, shortened, as a JSON object by command.

On a drive of this computer:     python record_smart.py /dev/nvme0n1
On a made-up one, without root:  python record_smart.py --made-up nvme /dev/nvme90n1

Made-up drives (``made_up_drives.c``) answer the tools' own ioctls, so that
everything but the drive is real: commands, parsing, database, output.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

SMARTCTL = "smartctl --json --nocheck=standby --info --health --attributes"
LOGS = "--log=devstat --log=scttempsts --log=error --log=ssd"
NVME = ("smart-log", "id-ctrl", "id-ns", "endurance-log --group-id=1", "ocp smart-add-log")
# what tells of the computer, and what nobody reads
LEFT_OUT = {"platform_info", "build_info", "svn_revision", "argv", "local_time", "when_failed", "lbaf", "lbafs", "psds"}
KEPT_FLAGS = {"valid", "normalized"}


def build(directory: Path, kind: str) -> Path:
    """The library that stands for a drive of a kind."""
    library = directory / "made_up_drives.so"
    source = Path(__file__).with_name("made_up_drives.c")
    command = ["cc", f'-DDRIVE="{kind}"', "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return library


def shortened(value: Any) -> Any:
    """The same without what nobody reads; flags of a statistic keep what is looked at."""
    if isinstance(value, list):
        return [shortened(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {name: shortened(one) for name, one in value.items() if name not in LEFT_OUT}
    if isinstance(kept.get("flags"), dict):
        kept["flags"] = {name: flag for name, flag in kept["flags"].items() if name in KEPT_FLAGS}
    return kept


def answer(command: str, environment: dict[str, str]) -> Any:
    """The JSON that a command prints, or the last line of its complaint."""
    done = subprocess.run(command.split(), capture_output=True, text=True, env=environment)
    if done.stdout.strip():
        return shortened(json.loads(done.stdout))
    return done.stderr.strip().splitlines()[-1]


def main() -> None:
    """Ask and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("device")
    parser.add_argument("--made-up", metavar="KIND", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "LC_ALL": "C"}
        if options.made_up:
            environment |= {"LD_PRELOAD": str(build(Path(directory), options.made_up))}
        is_nvme = "nvme" in options.device
        answers = {"smartctl": answer(f"{SMARTCTL} {'' if is_nvme else LOGS} {options.device}", environment)}
        if is_nvme:
            for words in NVME:
                name = words.partition(" --")[0]
                command = f"nvme {name} {options.device} {words[len(name) :]} --output-format=json"
                answers[f"nvme {name}"] = answer(command, environment)
    print(json.dumps(answers, indent=1))


main()
