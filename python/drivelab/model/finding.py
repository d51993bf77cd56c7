"""A sentence about a run, with its evidence and the numbers that it touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from drivelab.model.names import counted_of

Severity = Literal["note", "warning", "invalid"]
_GRAVITY = {"invalid": 0, "warning": 1, "note": 2}
# advice that a command completes with its own option
MEASURE_LONGER = "measure longer"
USE_DIRECT_IO = "use direct I/O, or a range larger than memory"
# of a trial beside which others used the drive or the processors
FOREIGN_WORK = "foreign-work"
# in its evidence: what others moved on the drive itself
OTHERS_REQUESTS = "foreign_request_share"
OTHERS_BYTES = {"read": "excess_read_share", "write": "excess_write_share"}
OTHERS_ON_DRIVE = frozenset({OTHERS_REQUESTS, *OTHERS_BYTES.values()})
# of a trial that gave no numbers
TRIAL_FAILED = "trial-failed"
NOT_MEASURED = "not measured: "
# about the volume, whichever trial has shown it
VOLUME_CODES = frozenset({"burst-credit", "burst-ended", "burst-possible"})


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a reader must know before trusting or using a number.

    Attributes
    ----------
    code : str
        Stable slug of the kind of finding (``page-cache-answered``); one file
        of ``analyse/findings`` each.
    severity : str
        ``note`` explains, ``warning`` limits what the number means,
        ``invalid`` says that the number does not describe the drive.
    text : str
        The sentence, for people.
    trial : str
        Name of the trial it touches, the first one where there are several; empty for the whole run.
    evidence : dict
        The measured values behind it, names carrying their unit.
    advice : str
        What to do about it; may be empty.
    trials : sequence of str
        Names of trials where it stands for many: the first of them, not all.
    trial_count : int
        How many trials it stands for; 0 where it stands for itself.
    """

    code: str
    severity: Severity
    text: str
    trial: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)
    advice: str = ""
    trials: Sequence[str] = ()
    trial_count: int = 0

    def to_json(self) -> dict[str, Any]:
        """Plain data for JSON; what concerns many trials only where it stands for many."""
        document = asdict(self)
        if not self.trial_count:
            del document["trials"], document["trial_count"]
        return document


def kind_of(one: Finding) -> tuple[str, str]:
    """What is told together: the same code, of limits the same unit, and of what can be judged in several ways one way.

    A limit of bytes is another than one of I/Os, and what is not known is another than what is not so.
    """
    return one.code, str(one.evidence.get("token") or one.evidence.get("verdict") or "")


def gravity(one: Finding) -> int:
    """Where a finding stands among others: the gravest first, what another version stored last."""
    return severity_order(one.severity)


def severity_order(severity: str) -> int:
    """The same of a severity alone."""
    return _GRAVITY.get(severity, len(_GRAVITY))


def trials_of(count: int, total: int, verb: str = "") -> str:
    """Some of the trials in words: ``3 of 6 trials``, ``1 of 1 trial``.

    Parameters
    ----------
    verb : str, optional
        What they do, as several: ``1 of 6 trials does not`` for ``do not``.
    """
    return counted_of(count, total, "trial", verb)
