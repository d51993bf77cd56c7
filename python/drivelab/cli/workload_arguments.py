"""Reads the arguments of ``drivelab io`` that have a form of their own: mixes, rates, processor lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar, get_args

from drivelab.model.errors import DrivelabError
from drivelab.model.units import parse_bytes
from drivelab.model.workload import (
    AccessKind,
    BackendName,
    BlockSizeShare,
    DurabilityMethod,
    FileState,
    OperationName,
    OperationShare,
    Pacing,
)

OPERATIONS: tuple[str, ...] = get_args(OperationName)
ACCESSES: tuple[str, ...] = get_args(AccessKind)
BACKENDS: tuple[str, ...] = get_args(BackendName)
DURABILITIES: tuple[str, ...] = get_args(DurabilityMethod)
FILE_STATES: tuple[str, ...] = get_args(FileState)
ARRIVALS = ("fixed", "poisson")
# the parameter that may stand behind the name of an order
_ACCESS_PARAMETERS = {"pareto": "pareto_h", "normal": "normal_deviation"}
_CPU_RANGE = re.compile(r"(\d+)(?:-(\d+))?", re.ASCII)
_CPU_MAX = 8191
_ZONES_ROUNDING = 1e-6
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Share:
    """One part of a mix: what, and its weight."""

    text: str
    weight: float


def one_of(option: str, text: str, names: Sequence[str]) -> str:
    """The text, if it is one of some names."""
    if text not in names:
        raise DrivelabError("U005", f"'{text}' is unknown", where=f"option {option}", do=f"choose: {', '.join(names)}")
    return text


def parse_operations(text: str) -> tuple[OperationShare, ...]:
    """The operations of ``read``, or of ``read:70,write:30``."""
    shares = _parse_mix("--operation", text)
    return tuple(
        OperationShare.model_validate(
            {"operation": one_of("--operation", share.text, OPERATIONS), "weight": share.weight}
        )
        for share in shares
    )


def parse_block_sizes(text: str) -> tuple[BlockSizeShare, ...]:
    """The block sizes of ``4KiB``, or of ``4KiB:80,64KiB:20``."""
    largest = 2**30
    sizes = []
    for share in _parse_mix("--block-size", text):
        size = located("--block-size", parse_bytes, share.text)
        if not 1 <= size <= largest:
            do = "choose from 1 B to 1GiB"
            raise DrivelabError("U003", f"a block of {share.text} makes no sense", where="option --block-size", do=do)
        sizes.append(BlockSizeShare(bytes=size, weight=share.weight))
    return tuple(sizes)


def _parse_mix(option: str, text: str) -> list[Share]:
    """The parts of ``a:70,b:30``; a part without a weight has 1."""
    shares = []
    for part in text.split(","):
        name, separator, weight = part.strip().partition(":")
        try:
            number = float(weight) if separator else 1.0
        except ValueError:
            number = 0.0
        if not name or not 0 < number < 1e12:
            do = "write a name, or names with weights: read:70,write:30"
            raise DrivelabError("U003", f"'{text}' is not a mix", where=f"option {option}", do=do)
        shares.append(Share(name, number))
    return shares


def parse_share(option: str, text: str) -> float:
    """The share of ``10%``, or of ``0.1``."""
    number = text.strip()
    try:
        share = float(number.removesuffix("%")) / 100 if number.endswith("%") else float(number)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        do = "write a share as 10% or 0.1"
        raise DrivelabError("U003", f"'{text}' is not a share", where=f"option {option}", do=do)
    return share


def parse_access(text: str) -> dict[str, object]:
    """The order of ``random``, ``pareto:0.2``, ``normal:10%`` or ``zoned:50/5:50/95``, with what is behind it."""
    kind, separator, parameter = text.partition(":")
    found: dict[str, object] = {"kind": one_of("--access", kind, ACCESSES)}
    if kind == "zoned":
        return found | {"zones": _zones(parameter)}
    if not separator:
        return found
    if kind not in _ACCESS_PARAMETERS:
        do = f"write --access {kind}; only {' and '.join(_ACCESS_PARAMETERS)} have a number behind them"
        raise DrivelabError("U004", f"{kind} takes no number", where="option --access", do=do)
    return found | {_ACCESS_PARAMETERS[kind]: parse_share("--access", parameter)}


def _zones(text: str) -> list[dict[str, float]]:
    """The zones of ``50/5:30/15:20/80``: per cent of the I/Os over per cent of the range, as fio writes them."""
    pairs = [part.partition("/") for part in text.split(":")]
    try:
        zones = [(float(share) / 100, float(size) / 100) for share, _, size in pairs]
    except ValueError:
        zones = []
    if not zones or any(abs(sum(column) - 1) > _ZONES_ROUNDING for column in zip(*zones, strict=True)):
        do = "write per cent of the I/Os / per cent of the range, each 100 in all: zoned:50/5:30/15:20/80"
        raise DrivelabError("U003", f"'{text}' names no zones", where="option --access", do=do)
    return [{"access_fraction": share, "range_fraction": size} for share, size in zones]


def parse_cpus(text: str) -> tuple[int, ...]:
    """The processors of ``0,2-3``; none for an empty text."""
    cpus: list[int] = []
    for part in text.split(",") if text.strip() else []:
        match = _CPU_RANGE.fullmatch(part.strip())
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last > _CPU_MAX or first > last:
            do = "write numbers and ranges: 0,2-3"
            raise DrivelabError("U003", f"'{text}' is not a list of processors", where="option --pin", do=do)
        cpus.extend(range(first, last + 1))
    return tuple(cpus)


def parse_pacing(rate: float, arrivals: str | None, think_ns: int = 0, think_every: int = 1) -> Pacing:
    """Closed loop without a rate, with a pause if there is one, otherwise an open loop."""
    if arrivals is not None:
        one_of("--arrivals", arrivals, ARRIVALS)
    if rate == 0:
        if arrivals is None:
            if think_every < 1:
                do = "choose 1 or more"
                raise DrivelabError("U003", f"{think_every} is too few", where="option --think-every", do=do)
            return Pacing(think_ns=think_ns, think_every=think_every)
        raise DrivelabError("U004", "arrivals need a rate", where="option --arrivals", do="add --rate 1000")
    if not 0 < rate <= 1e8:
        do = "choose a number of I/Os per second, up to 100 million"
        raise DrivelabError("U003", f"a rate of {rate:g} per second makes no sense", where="option --rate", do=do)
    if think_ns:
        do = "leave out --think or --rate"
        raise DrivelabError("U004", "only a closed loop pauses: a schedule waits for nobody", where="--think", do=do)
    return Pacing.model_validate({"kind": arrivals or "fixed", "rate_per_s": rate})


def located(option: str, parse: Callable[[str], Value], text: str) -> Value:
    """What `parse` makes of the text; its error names the option."""
    try:
        return parse(text)
    except DrivelabError as error:
        raise DrivelabError(error.code, error.what, where=f"option {option}", do=error.do) from None
