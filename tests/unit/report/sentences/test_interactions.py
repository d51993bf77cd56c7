"""Interactions in sentences, tables and the figure of effects: what is told, in which words, and what is not."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping

import numpy as np
import pytest

from drivelab.analyse.judged_metric import TrialKind
from drivelab.analyse.run_answer import ExperimentOrder, RunTrial, run_answer
from drivelab.model.estimate import Estimate, Unit
from drivelab.model.run_answer import RunAnswer
from drivelab.report.figures.effects_overview import effects_overview
from drivelab.report.sentences.effect_words import ratio_change
from drivelab.report.sentences.interactions import interaction_sentences
from drivelab.report.sentences.run import plain_text, run_sentences
from drivelab.report.tables.factorial import INTERACTIONS_SHOWN, factorial_tables
from made_result_sets import column_texts

LATENCY, P99 = "total_latency_ns_p50", "total_latency_ns_p99"
UNITS: dict[str, Unit] = {LATENCY: "ns", P99: "ns"}
FACTORS = {"filesystem": ("raw", "ext4", "xfs"), "write-cache": ("on", "off")}
# a microsecond-exact drive: the cache makes appends 9.2, 3.8 and 7.4 times as fast
LATENCIES_US = {
    ("raw", "on"): 440,
    ("raw", "off"): 440 / 9.2,
    ("ext4", "on"): 960,
    ("ext4", "off"): 960 / 3.8,
    ("xfs", "on"): 880,
    ("xfs", "off"): 880 / 7.4,
}


def answer(
    latencies: Mapping[tuple[str, ...], float] = LATENCIES_US,
    factors: Mapping[str, tuple[str, ...]] = FACTORS,
    *,
    blocks: int = 5,
    scatter: float = 0.01,
    workloads: tuple[str, ...] = ("small",),
    with_effects: bool = False,
    one_at_a_time: bool = False,
) -> RunAnswer:
    random = np.random.default_rng(4)
    trials = []
    for workload, block, cell in itertools.product(workloads, range(1, blocks + 1), latencies):
        value = latencies[cell] * 1e3 * random.lognormal(0, scatter)
        trials.append(
            RunTrial(
                f"{workload}-{len(trials)}",
                "sda",
                workload,
                block,
                dict(zip(factors, cell, strict=True)),
                {},
                TrialKind(512, 1, True, True, False),
                {LATENCY: value, P99: 3 * value},
            )
        )
    order = ExperimentOrder(dict.fromkeys(workloads, "appends"), factors, one_at_a_time)
    return run_answer(trials, order, UNITS, with_effects=with_effects, factorial_metrics=(P99,))


def test_an_interaction_that_matters_is_told() -> None:
    (sentence,) = interaction_sentences(answer())
    words = plain_text(sentence)
    assert words.startswith("What write-cache off does against on depends on filesystem: 9.2 times as fast (")
    assert ") with raw, but 3.8 times as fast (" in words
    assert words.endswith(") with xfs.")
    assert "7.4 times as fast" in words
    assert sentence in run_sentences(answer())
    assert sentence in run_sentences(answer(with_effects=True))


def test_noise_and_small_differences_are_not_told() -> None:
    alike = dict.fromkeys(LATENCIES_US, 500.0)
    assert interaction_sentences(answer(alike)) == ()
    assert interaction_sentences(answer(scatter=2.0)) == ()
    assert interaction_sentences(answer(blocks=1)) == ()
    assert answer(one_at_a_time=True).factorials == ()


def test_workloads_are_named_where_there_are_several() -> None:
    sentences = interaction_sentences(answer(workloads=("small", "other")))
    assert len(sentences) == 2
    assert all(sentence.startswith("Appends on sda: what write-cache off") for sentence in sentences)


@pytest.mark.parametrize(
    ("ratio", "is_latency", "words"),
    [
        ((1 / 9.2, 1 / 9.8, 1 / 8.7), True, "9.2 times as fast (8.7 to 9.8)"),
        ((9.2, 8.7, 9.8), False, "9.2 times as fast (8.7 to 9.8)"),
        ((1.12, 1.03, 1.21), True, "12 % slower (3 to 21)"),
        ((1 / 1.12, 1 / 1.21, 1 / 1.03), False, "11 % slower (3 to 17)"),
        ((1.02, 0.99, 1.05), True, "no difference shown (ratio 0.990 to 1.05)"),
        ((3.0, None, None), True, "3.0 times as slow"),
    ],
)
def test_effects_in_words(ratio: tuple[float, float | None, float | None], is_latency: bool, words: str) -> None:
    estimate = Estimate(*ratio, "1", 5, 5.0, "")
    assert plain_text(ratio_change(estimate, is_more_slower=is_latency)) == words


def test_tables_of_a_factorial() -> None:
    terms, pairs, *of_p99 = factorial_tables(answer(), "run 1")
    assert terms.title == "Which factor matters how much: appends on sda: median latency, run 1"
    texts = column_texts(terms)
    assert texts["term"][:3] == ("filesystem", "write-cache", "filesystem x write-cache")
    assert texts["term"][-1] == "scatter between repeats"
    assert sum(map(float, texts["share [%]"])) == pytest.approx(100, abs=0.3)
    assert [row[1].text for row in pairs.rows] == ["0.108", "0.108"]
    assert float(pairs.rows[0][3].text) == pytest.approx(9.2 / 3.8, rel=0.03)
    assert pairs.rows[0][3].interval
    assert [table.title.split(": ")[2].split(",")[0] for table in of_p99] == ["p99 latency"] * 2
    for table in (terms, pairs, *of_p99):
        assert {len(row) for row in table.rows} == {len(table.columns)}
        assert {len(row) for row in table.plain().rows} == {len(table.plain().columns)}
    assert [row[3] for row in terms.plain().rows] == list(texts["term"]), "its data tell as much as it does"
    assert not any("three factors" in term for term in texts["term"])
    assert factorial_tables(RunAnswer()) == ()


def test_too_few_blocks_for_pairs_have_shares_only() -> None:
    assert {table.key for table in factorial_tables(answer(blocks=2))} == {"factorial-terms"}
    assert {table.key for table in factorial_tables(answer(blocks=3))} == {"factorial-terms", "interactions"}


def test_one_repeat_has_shares_and_nothing_else() -> None:
    once = answer(blocks=1)
    (terms, _) = factorial_tables(once)
    assert {table.key for table in factorial_tables(once)} == {"factorial-terms"}
    assert "one repeat" in terms.caption
    assert effects_overview(once) is None


def test_only_the_largest_interactions_are_shown_and_all_are_in_the_data() -> None:
    factors = {"block_size": tuple(str(n) for n in range(6)), "queue_depth": tuple(str(n) for n in range(7))}
    latencies = dict.fromkeys(itertools.product(*factors.values()), 100.0)
    pairs = factorial_tables(answer(latencies, factors))[1]
    assert (len(pairs.rows), len(pairs.plain().rows)) == (INTERACTIONS_SHOWN, 30)
    assert "24 largest of 30" in pairs.caption


def test_the_figure_shows_interactions_below_effects() -> None:
    made = answer()
    figure = effects_overview(made)
    assert figure is not None
    effects, interactions = figure.plots
    assert "changes what another does" in interactions.name
    assert len(effects.layout["annotations"]) == 3
    labels = [label["text"] for label in interactions.layout["annotations"]]
    assert labels == [
        "write-cache off at filesystem ext4, over that at filesystem raw",
        "write-cache off at filesystem xfs, over that at filesystem raw",
    ]
    (marks,) = [trace for trace in interactions.data if trace["name"] == "matters"]
    assert marks["x"][0] == pytest.approx(9.2 / 3.8, rel=0.03)
    assert marks["error_x"]["array"][0] > 0
    assert "1 where the one does not change the other" in figure.caption
    assert {len(row) for row in figure.table.rows} == {len(figure.table.columns)}
    assert len(figure.table.rows) == 3 + 2
    # without factors that were varied together there is nothing to draw
    assert effects_overview(answer(one_at_a_time=True)) is None


def test_factorials_are_in_the_json() -> None:
    document = json.loads(json.dumps(answer().to_json()))
    median, p99 = document["factorial"]
    assert (median["metric"], p99["metric"]) == (LATENCY, P99)
    assert {term["factors"][0] for term in median["terms"]} == {"filesystem", "write-cache"}
    assert median["scatter_share"] < 0.1
    assert "main_effects" not in median
