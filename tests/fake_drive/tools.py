"""Plays hdparm, sdparm and nvme for drives that are files: started as ``tools.py PROGRAM ARGUMENTS``.

Everything hangs on the environment variable FAKE_DRIVES, a directory:
``NAME.json`` is the state of a drive or controller, ``log`` gets every call,
``fail`` and ``ignore`` hold texts: a call that contains one fails, or is
answered and not obeyed. Root of the made-up system: FAKE_ROOT.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

HOME = Path(os.environ["FAKE_DRIVES"])
ROOT = Path(os.environ["FAKE_ROOT"])
SECURITY = """
ATA device, with non-removable media
\tModel Number:       FAKE DRIVE
Security:
\tMaster password revision code = 65534
\t{not_supported}\tsupported
\t{not_enabled}\tenabled
\t{not_locked}\tlocked
\t{not_frozen}\tfrozen
\tnot\texpired: security count
\t\tsupported: enhanced erase
\t2min for SECURITY ERASE UNIT. 8min for ENHANCED SECURITY ERASE UNIT.
Logical Unit WWN Device Identifier: 5000c5000c0ffee0
"""


def main() -> int:
    """Answer one call."""
    program, arguments = sys.argv[1], sys.argv[2:]
    call = " ".join([program, *(argument.replace(f"{ROOT}/dev/", "") for argument in arguments)])
    with (HOME / "log").open("a") as log:
        log.write(f"{call}\n")
    if mentions("fail", call):
        print(f"{program}: the drive gave up", file=sys.stderr)
        return 1
    name = Path(arguments[-1] if not arguments[-1].startswith("-") else arguments[1]).name
    if program == "nvme":
        name = Path(next(argument for argument in arguments if "/" in argument)).name
    # the controller answers for its namespaces
    owner = re.sub(r"^(nvme[0-9]+)n[0-9]+$", r"\1", name)
    path = HOME / f"{owner}.json"
    state = json.loads(path.read_text())
    status = {"hdparm": hdparm, "sdparm": sdparm, "nvme": nvme}[program](arguments, name, state)
    if not mentions("ignore", call):
        path.write_text(json.dumps(state))
        if program == "hdparm":
            libata_notices(name, state)
    return status


def mentions(list_name: str, call: str) -> bool:
    """Whether one of the texts of a list is part of the call."""
    path = HOME / list_name
    return path.exists() and any(text in call for text in path.read_text().splitlines())


def hdparm(arguments: list[str], name: str, state: dict[str, Any]) -> int:
    """Answer as hdparm does."""
    option = arguments[0]
    print(f"\n/dev/{name}:")
    if option.startswith("-W"):
        if option != "-W":
            state["cache"] = option == "-W1"
        print(f" write-caching =  {int(state['cache'])} ({'on' if state['cache'] else 'off'})")
    elif option.startswith("-B"):
        if option != "-B":
            state["apm"] = "off" if option == "-B255" else option[2:]
        print(f" APM_level\t= {state.get('apm', 'not supported')}")
    elif option == "-I":
        states = {f"not_{key}": "" if state[key] else "not" for key in ("supported", "enabled", "locked", "frozen")}
        print(SECURITY.format(**states))
    elif "--user-master" in arguments:
        return security(arguments[2], arguments[3], name, state)
    return 0


def security(command: str, password: str, name: str, state: dict[str, Any]) -> int:
    """Obey a command that needs the password."""
    if state["frozen"] or (state["locked"] and command != "--security-unlock"):
        print("SG_IO: bad/missing sense data", file=sys.stderr)
        return 5
    if command == "--security-set-pass":
        state.update(enabled=True, password=password)
        return 0
    if password != state["password"]:
        return 5
    if command == "--security-unlock":
        state["locked"] = False
    elif command == "--security-disable":
        state["enabled"] = False
    elif command == "--security-erase":
        state["enabled"] = False
        erase(name, state)
    return 0


def sdparm(arguments: list[str], name: str, state: dict[str, Any]) -> int:
    """Answer as sdparm does."""
    if "--get=WCE" in arguments:
        print(f"    /dev/{name}: FAKE      DRIVE             1.0")
        print(f"WCE           {int(state['cache'])}  [cha: {state.get('changeable', 'y')}, def:  1, sav:  1]")
        return 0
    state["cache"] = "--set=WCE" in arguments
    return 0


def nvme(arguments: list[str], name: str, state: dict[str, Any]) -> int:
    """Answer as nvme-cli does."""
    command = arguments[0]
    given = dict(argument.lstrip("-").split("=") for argument in arguments if "=" in argument)
    if command == "get-feature":
        key = {"6": "cache", "12": "apst"}[given["feature-id"]]
        if key not in state:
            print("NVMe status: Invalid Field in Command", file=sys.stderr)
            return 1
        print(f"get-feature:0x06 (Volatile Write Cache), Current value:{int(state[key]):#010x}")
    elif command == "set-feature":
        state["cache"] = given["value"] == "1"
    elif command == "id-ctrl":
        print(json.dumps({key: state[key] for key in ("oacs", "fna", "sanicap")}))
    elif command == "format":
        erase(name, state)
    elif command == "sanitize" and given["sanact"] != "1":
        state["left"] = state["looks"]
    elif command == "sanitize-log":
        sanitize_log(state)
    return 0


def sanitize_log(state: dict[str, Any]) -> None:
    """Tell how far a sanitize is; it gets on with every look."""
    left, looks = state.get("left", 0), state["looks"]
    if left > 0:
        state["left"] = left - 1
        done, status = 65536 * (looks - left) // looks, "0x2"
    else:
        done, status = 65535, state.get("ends", "0x101")
        if status == "0x101":
            erase(state["namespace"], state)
    print(f"Sanitize Progress                      (SPROG) :  {done}")
    print(f"Sanitize Status                        (SSTAT) :  {status}")


def erase(name: str, state: dict[str, Any]) -> None:
    """Fill the drive with zeroes, when it is one that holds something."""
    node = ROOT / "dev" / name
    if not state.get("keeps_data") and node.stat().st_size == 0:
        with node.open("r+b", buffering=0) as drive:
            size = drive.seek(0, os.SEEK_END)
            drive.seek(0)
            drive.write(bytes(size))
            os.fsync(drive.fileno())


def libata_notices(name: str, state: dict[str, Any]) -> None:
    """Let the kernel's views follow the drive, as they do after a command that changes the cache."""
    block = ROOT / "sys" / "block" / name
    if (HOME / f"{name}.believes").exists() or not block.exists():
        return
    mode = "write back" if state.get("cache") else "write through"
    for view in (block / "queue" / "write_cache", *block.glob("device/scsi_disk/*/cache_type")):
        view.write_text(f"{mode}\n")


if __name__ == "__main__":
    sys.exit(main())
