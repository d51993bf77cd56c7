"""Changes settings in the guest as it is told on its input, one order per line, and tells what came of each.

Orders: ``{"set": [drive, setting, level]}``, ``{"read": [drive, setting]}``,
``{"undo": true}`` (everything, the newest first), ``{"kill": true}`` (itself).
Every answer is one line. After each single step of a switch of the write cache
it looks at drive and kernel; ``unsafe`` lists the steps after which the drive
cached and the kernel sent no flushes.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from drivelab.inventory.drives import read_drives
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import begin_journal, journal_directory
from drivelab.state.settings import cache_switch, write_cache
from drivelab.state.settings.cache_switch import CacheSwitch
from drivelab.state.settings.catalogue import SETTINGS
from drivelab.state.undo import undo_all


def main() -> None:
    """Obey every order of the input."""
    journal = begin_journal(journal_directory(), command="change_settings")
    looked_at: list[str] = []
    unsafe: list[str] = []
    look_after_every_step(looked_at, unsafe)
    for order in map(json.loads, sys.stdin):
        answer: dict[str, Any] = {}
        try:
            if "set" in order:
                drive, name, level = order["set"]
                looked_at[:] = [drive]
                answer["level"] = SETTINGS[name].set(read_drives([drive], ask_tools=False)[0], level, journal)
            elif "read" in order:
                drive, name = order["read"]
                answer = SETTINGS[name].read(read_drives([drive], ask_tools=False)[0]).to_json()
            elif "undo" in order:
                answer["done"] = undo_all(journal)
            elif "kill" in order:
                os.kill(os.getpid(), signal.SIGKILL)
        except DrivelabError as error:
            answer["error"] = [error.code, error.what, error.do]
        print(json.dumps(answer | {"unsafe": list(unsafe)}), flush=True)
    journal.close()


def look_after_every_step(looked_at: list[str], unsafe: list[str]) -> None:
    """Put a look at drive and kernel after all that the switch does."""
    is_looking = False

    def looking(step: Callable[..., Any]) -> Callable[..., Any]:
        def step_and_look(*arguments: Any, **options: Any) -> Any:
            nonlocal is_looking
            result = step(*arguments, **options)
            if not is_looking and looked_at:
                is_looking = True
                facts, _ = CacheSwitch(looked_at[0]).ask()
                if facts.loses_acknowledged_writes:
                    unsafe.append(f"{step.__name__} {arguments[0]} {arguments[1:3]}")
                is_looking = False
            return result

        return step_and_look

    for module, names in (
        (cache_switch, ("write_attribute", "run_program", "flush")),
        (write_cache, ("set_attribute", "write_attribute")),
    ):
        for name in names:
            setattr(module, name, looking(getattr(module, name)))


if __name__ == "__main__":
    main()
