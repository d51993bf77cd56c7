"""How long an I/O of each size takes, in a sentence: up to which size the bytes cost nothing, and what most cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from drivelab.model.judged_metric import LATENCY
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.model.units import format_bytes
from drivelab.report.numerals import latency_text
from drivelab.report.parts_of_text import capitalised
from drivelab.report.sentences.one_curve import curves_over, label_of
from drivelab.report.sentences.several_drives import BLOCK_SIZE

# what is not slower than this is as fast
_AS_FAST = 1.1
# a size that takes so much less than the first is told of
_FALLS = 1.25


def size_sentences(answer: RunAnswer) -> Iterator[str]:
    """The latency over the sizes of the first workload that has a curve of them, for each target; at most a sentence.

    Parameters
    ----------
    answer : RunAnswer
        What other factors do is told of them; the curve is at their first levels.
    """
    curves = curves_over(answer, BLOCK_SIZE, _size)
    workload = next((name for name, _ in curves), "")
    own = {target: members for (name, target), members in curves.items() if name == workload}
    if own:
        what = label_of(answer, BLOCK_SIZE, next(iter(own.values()))[0])
        told = [f"{f'{target} ' if len(own) > 1 else ''}{_curve(members)}" for target, members in own.items()]
        yield f"{capitalised(what)}: {'; '.join(told)}."


def _curve(members: Sequence[CombinationResult]) -> str:
    """``781 us up to 4 KiB, 4.9 ms at 1 MiB``; where a larger size takes less, that one too."""
    latencies = [one.metrics[LATENCY].median for one in members]
    sizes = [format_bytes(one.block_size_bytes or 0) for one in members]
    last, least = len(members) - 1, min(range(len(members)), key=latencies.__getitem__)
    if latencies[0] > _FALLS * latencies[least]:
        return ", ".join(f"{latency_text(latencies[place])} at {sizes[place]}" for place in sorted({0, least, last}))
    slower = (place for place, latency in enumerate(latencies) if latency > _AS_FAST * latencies[0])
    flat = next(slower, len(members)) - 1
    span = f"{'up to' if flat else 'at'} {sizes[flat]}"
    rest = "" if flat == last else f", {latency_text(latencies[last])} at {sizes[last]}"
    return f"{latency_text(latencies[0])} {span}{rest}"


def _size(one: CombinationResult) -> int | None:
    is_latency = one.judged_metric == LATENCY and LATENCY in one.metrics
    return one.block_size_bytes if is_latency else None
