"""The first sentence of every stored run, of pairs of them, and of every published page has at most thirty words."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations
from pathlib import Path

import pytest

from drivelab.answers.comparison import compare_runs
from drivelab.answers.explanations import explanation_differences
from drivelab.joint_report import joint_report
from drivelab.model.estimate import Estimate
from drivelab.model.trace import ExplanationDifference, PartDifference
from drivelab.reference.load import load_reference, reference_names
from drivelab.report.answer import answer_of
from drivelab.report.parts_of_text import capitalised, first_in_few_words
from drivelab.report.sentences.comparison_answer import answers
from drivelab.report.sentences.explanation_difference import difference_sentences
from drivelab.report.sentences.run import run_sentences
from golden_reports import golden_joint, golden_run

RUNS = sorted((Path(__file__).resolve().parents[2] / "golden" / "runs").iterdir())
WORDS_MAX = 30
POSTGRES = (
    "PostgreSQL would commit about 6 480 times a second here with one client (range: 5 280 to 8 380), more often than "
    "on an Intel 320 with capacitors (4 000); with 8 clients it would be 21 000 to 42 000, with 32 clients "
    "60 000 to 110 000"
)


def word_count(sentence: str) -> int:
    return len(sentence.split())


@pytest.mark.parametrize("run", RUNS, ids=lambda path: path.name)
def test_a_stored_run_begins_with_a_short_sentence(run: Path) -> None:
    joint = golden_joint(run.name)
    assert 0 < word_count(joint.sentences[0]) <= WORDS_MAX
    in_terminal = run_sentences(joint.runs[0].answer)
    assert not in_terminal or word_count(in_terminal[0]) <= WORDS_MAX
    # and so it does while it is not complete
    content = joint.runs[0]
    cut = answer_of(
        content.verdict, content.trials, content.findings, in_terminal, "3 of 54 trials; it was killed or still runs"
    )
    assert cut.sentence.startswith("Not complete")
    assert word_count(cut.sentence) <= WORDS_MAX


@pytest.mark.parametrize("page", reference_names())
def test_a_published_page_begins_with_a_short_sentence(page: str) -> None:
    assert 0 < word_count(joint_report([], [load_reference(page)]).sentences[0]) <= WORDS_MAX


@pytest.mark.parametrize("pair", list(combinations(RUNS, 2)), ids=lambda pair: "+".join(path.name for path in pair))
def test_a_report_of_two_runs_begins_with_a_short_sentence(pair: tuple[Path, Path]) -> None:
    first, *others = golden_joint(*(run.name for run in pair)).sentences
    assert 0 < word_count(first) <= WORDS_MAX
    assert all(sentence.endswith(".") for sentence in (first, *others))


@pytest.mark.parametrize("pair", list(permutations(RUNS, 2)), ids=lambda pair: "+".join(path.name for path in pair))
def test_a_comparison_begins_with_a_short_sentence(pair: tuple[Path, Path]) -> None:
    base, new = (golden_run(run.name) for run in pair)
    assert 0 < word_count(answers(compare_runs([base], [new]))[0]) <= WORDS_MAX


def test_a_difference_of_traced_runs_begins_with_a_short_sentence() -> None:
    run = golden_run("explained-appends")
    found = explanation_differences(run, run)
    assert found
    assert all(0 < word_count(difference_sentences(one)[0]) <= WORDS_MAX for one in found)


def test_a_part_that_differs_for_sure_leads_where_the_whole_may_be_chance() -> None:
    whole = PartDifference("total", 163e3, 218e3, Estimate(54.5e3, -55e3, 164e3, "ns", 0, 9.0, ""), False, 0.3)
    device = PartDifference("device", 45e3, 98.5e3, Estimate(53.3e3, 39e3, 67e3, "ns", 0, 9.0, ""), True, 1e-6)
    found = ExplanationDifference("4 KiB overwrite", "4 KiB append", (whole, device), {}, "operations")
    sentence = difference_sentences(found)[0].replace("\u00a0", " ").replace("µs", "us")
    assert sentence == (
        "4 KiB append beside 4 KiB overwrite: the drive's own time is longer (+53.3 us); "
        "the mean, 163 us and 218 us, may differ by chance."
    )
    long = replace(found, base="a write of a page with " + "many " * 9 + "words")
    assert difference_sentences(long)[0].startswith("The drive's own time is longer (+53.3")


def test_runs_beside_all_pages_begin_with_a_short_sentence() -> None:
    pages = [load_reference(page) for page in reference_names()]
    for runs in ([], [golden_run(RUNS[-1].name)]):
        assert 0 < word_count(joint_report(runs, pages).sentences[0]) <= WORDS_MAX


def test_a_forecast_of_many_clients_is_told_in_two_sentences() -> None:
    content = golden_joint(RUNS[0].name).runs[0]
    verdict = {"need": "postgres", "outcome": "no_limit", "sentence": POSTGRES, "checks": ()}
    told = answer_of(verdict, content.trials, replace(content, findings=()).findings)
    assert word_count(told.sentence) <= WORDS_MAX
    assert told.sentence.startswith("PostgreSQL would commit about 6 480 times a second here with one client")
    assert "with 32 clients 60 000 to 110 000" in told.sentences[0]


def test_a_long_sentence_ends_where_its_clause_does_and_loses_ranges_before_anything_else() -> None:
    short = "A is 3 times faster than B."
    assert first_in_few_words((short, "More.")) == (short, "More.")
    assert first_in_few_words(()) == ()
    clause = " ".join(["word"] * 25)
    assert first_in_few_words((f"{clause} (a; b); {clause}.", "More.")) == (
        f"{clause} (a; b).",
        f"{clause.capitalize()}.",
        "More.",
    )
    ranged = f"{clause[:109]} with 3 ms (95 %: 2 to 4 ms), twice (at 4 KiB)"
    assert first_in_few_words((f"{ranged}.",)) == (f"{clause[:109]} with 3 ms, twice (at 4 KiB).",)


def test_no_answer_is_in_words_that_a_reader_stumbles_over() -> None:
    told = [golden_joint(run.name).sentences for run in RUNS]
    assert not any("from chance" in sentence for sentences in told for sentence in sentences)
    assert any("settle it" in sentence for sentences in told for sentence in sentences)
    assert any("is clear" in sentence for sentences in told for sentence in sentences)


def test_names_that_are_written_small_stay_so_at_the_beginning_of_a_sentence() -> None:
    for name in ("scratch-1GiB and scratch-512MiB cannot be told apart", "raid5-sda-sdb is faster", "ext4 leads"):
        assert capitalised(name) == name
    assert capitalised("scratch drives lie on files") == "Scratch drives lie on files"
