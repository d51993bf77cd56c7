"""The command that issues a recording again as a job would that reads it."""

from __future__ import annotations

import shlex
from pathlib import Path

from drivelab.interop.fio.job_options import JobOptions


def replay_command(options: JobOptions) -> str:
    """``drivelab replay`` with what the job's options say of the recording: its target, pace, scale and depth."""
    target = options.text("replay_redirect") or options.text("filename") or options.text("directory") or "TARGET"
    words = ["drivelab", "replay", options.text("read_iolog"), target]
    # a recording is put into a file that is made for it where the job names a relative one
    if not Path(target).is_absolute() and options.text("directory") and target != options.text("directory"):
        words[-1] = str(Path(options.text("directory")) / target)
    if options.truth("replay_no_stall"):
        words.append("--as-fast-as-possible")
    elif options.number("replay_time_scale") != 100:
        words += ["--speed", f"{options.number('replay_time_scale') / 100:g}"]
    if options.number("replay_scale") > 1:
        words.append("--scale-to-target")
    if options.number("iodepth") > 1:
        words += ["--queue-depth", str(options.number("iodepth"))]
    if not options.truth("direct"):
        words.append("--buffered")
    return shlex.join(words)
