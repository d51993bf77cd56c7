"""How long another load disturbs a drive, from how its trials went."""

from __future__ import annotations

import pytest

from drivelab.model.rounds import PhaseRounds
from drivelab.model.run_answer import RunAnswer
from drivelab.model.stored_experiment import done_again
from drivelab.model.timeline import TrialTimeline
from drivelab.report.sentences.run import plain_text, run_sentences


def went(workload: str, *megabytes: float, target: str = "sda") -> TrialTimeline:
    rates = tuple(1e6 * one for one in megabytes)
    middles = tuple(0.5 + place for place in range(len(rates)))
    return TrialTimeline(target, workload, workload, f"writes of {workload}", 10**9, middles, middles, rates, rates)


def told(*after: float, targets: tuple[str, ...] = ("sda",)) -> list[str]:
    line = [
        one
        for target in targets
        for one in (
            # a cache at first is not what it was before the other load
            went("small", *[900.0] * 4, *[500.0] * 8, target=target),
            went("other", *[50.0] * 12, target=target),
            went("again", *after, target=target),
        )
    ]
    rounds = (PhaseRounds("sda", "groups", 1, 1, "rounds", (1, 1), is_scaled_down=True),)
    answer = RunAnswer(timeline=tuple(line), again={"again": "small"}, rounds=rounds)
    return [plain_text(one) for one in run_sentences(answer)]


@pytest.mark.parametrize(
    ("after", "words"),
    [
        ([500.0] * 12, "are at once as fast (500 MB/s) as in the second half before (500 MB/s)"),
        (
            [200.0] * 3 + [510.0] * 9,
            "are back at 500 MB/s, as in the second half before, within 4 s, at first 200 MB/s",
        ),
        ([200.0] * 12, "are not back at 500 MB/s, as in the second half before, within 12 s: 200 MB/s"),
        # the end of a trial tells too little
        ([200.0] * 10 + [500.0] * 2, "are not back at 500 MB/s, as in the second half before, within 12 s: 200 MB/s"),
    ],
)
def test_a_load_is_back_where_a_few_stretches_together_are_as_fast(after: list[float], words: str) -> None:
    (sentence,) = told(*after)
    assert sentence == f"A rehearsal (--quick): after writes of other, writes of small {words}."


def test_each_of_several_targets_is_named() -> None:
    sentences = told(*[500.0] * 12, targets=("sda", "sdb"))
    assert [one.split(": ")[1] for one in sentences] == ["sda", "sdb"]


def test_only_what_was_done_before_something_else_is_done_again() -> None:
    small = {"operation": "write", "block_size": "1MiB"}
    other = {"operation": "read"}

    def names(*workloads: dict[str, str]) -> dict[str, str]:
        listed = [{"name": f"w{at}", "title": f"title {at}", **one} for at, one in enumerate(workloads)]
        return done_again({"workloads": listed})

    assert names(small, other, small) == {"w2": "w0"}
    assert names(small, small) == {}
    assert names(small, other, small | {"block_size": "8KiB"}) == {}
    assert done_again({}) == {}
