"""What the traced passes of a run say in its answer: where the time goes, and why the levels that matter do."""

from __future__ import annotations

from collections.abc import Sequence

from drivelab.model.stored_experiment import asks_total_time
from drivelab.model.trace import Explanation, ExplanationDifference
from drivelab.report.content import ReportContent
from drivelab.report.joint import Joint
from drivelab.report.numerals import latency_text
from drivelab.report.sentences.explanation import explanation_sentences, headline, told_parts
from drivelab.report.sentences.explanation_difference import difference_sentences, explained_levels
from drivelab.report.sentences.memory import taken_by_memory
from drivelab.report.sentences.run import run_sentences

# of more of them the section tells, and the answer stays short
TOLD_AT_MOST = 3


def answer_sentences(content: ReportContent) -> tuple[str, ...]:
    """The answer of a run in sentences: what its trials come to, and where the time goes where that was traced.

    A run that was traced in few combinations and has no effects to tell of was
    made to be explained: there the explanation comes first, and has at most three sentences.
    """
    own = run_sentences(content.answer, of_tasks=asks_total_time(content.experiment))
    told = _explained(content)
    levels = tuple(explained_levels(content.level_differences))[:TOLD_AT_MOST]
    if not leads(content):
        by_memory = taken_by_memory(content.trials) if content.record.job_file else ()
        return (*own[:1], *by_memory, *own[1:], *levels, *told)
    # with where the time goes the whole of it is told
    is_told = told and not any(one.explanation.refusal for one in content.traced)
    return (*told, *(() if is_told else own), *levels)[:TOLD_AT_MOST]


def leads(content: ReportContent) -> bool:
    """Whether where the time goes is what the run is about."""
    return 0 < len(content.traced) <= TOLD_AT_MOST and not content.answer.effects


def are_explained(joint: Joint) -> bool:
    """Whether which part of the latency differs is what a report of several runs is about."""
    return len(joint.runs) == len(joint.result_sets) > 1 and all(map(leads, joint.runs))


def short_explanation(explanation: Explanation) -> str:
    """``no answer yet``, ``827 us, 646 us of it software``: the answer where there is little room."""
    if explanation.check.verdict == "too_few_flushes":
        return "durability alarm"
    if explanation.answered_for:
        return "answered by the page cache, not by the drive alone"
    if explanation.refusal:
        return "no answer: the trace is not whole"
    if explanation.is_unsettled:
        return "no answer yet"
    if not headline(explanation):
        return ""
    time, _, name = max(told_parts(explanation))
    return f"{latency_text(explanation.typical_ns)}, {latency_text(time)} of it {name.partition(' (')[0]}"


def told_differences(differences: Sequence[ExplanationDifference]) -> tuple[str, ...]:
    """Why traced runs differ: a sentence for each combination, which is named where there are several."""
    # what is held against something else is named by its sides
    found = [
        ("" if one.base.startswith(one.label.rpartition(", against ")[2]) else one.label, difference_sentences(one)[0])
        for one in differences
    ]
    if len({label for label, _ in found}) < 2:
        return tuple(text for _, text in found)
    return tuple(f"{label}: {text[0].lower()}{text[1:]}" if label else text for label, text in found)


def _explained(content: ReportContent) -> tuple[str, ...]:
    traced = content.traced
    if len(traced) == 1:
        return explanation_sentences(traced[0].explanation)
    if len(traced) > TOLD_AT_MOST:
        return ()
    return tuple(f"{one.label}: {text[0].lower()}{text[1:]}" for one in traced if (text := headline(one.explanation)))
