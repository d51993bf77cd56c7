"""What several checked drives are fit for: needs as rows, drives as columns, and a sentence that counts."""

from __future__ import annotations

from collections.abc import Mapping

from drivelab.report.content import ReportContent
from drivelab.report.sentences.run import plain_text
from drivelab.report.tables.fitness import fitness_sentence, fitness_table, needs_table


def checked(outcomes: Mapping[str, str]) -> ReportContent:
    """A check of several needs."""
    verdicts = [{"need": need, "title": need.upper(), "outcome": outcome} for need, outcome in outcomes.items()]
    return ReportContent("run", "check", "fit?", (), verdict={"outcome": "mixed", "verdicts": verdicts})


GOOD = checked({"etcd": "pass", "consul": "pass", "postgres": "no_limit"})
SLOW = checked({"etcd": "undecided", "consul": "fail", "postgres": "no_limit"})
OF_ONE = ReportContent("run", "check", "fit?", (), verdict={"need": "etcd", "title": "ETCD", "outcome": "pass"})
UNJUDGED = ReportContent("run", "queue-depth", "how deep?", ())


def test_needs_are_rows_and_drives_columns() -> None:
    table = fitness_table([SLOW, UNJUDGED, GOOD, OF_ONE], ["slow", "other", "good", "single"])
    assert table is not None
    assert [column.name for column in table.columns] == ["fit for", "slow", "good", "single"]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["ETCD", "?", "Yes", "Yes"],
        ["CONSUL", "No", "Yes", "–"],
    ], "a need without a limit is none that a drive is fit for"


def test_the_fittest_drive_is_told_first() -> None:
    told = fitness_sentence([SLOW, GOOD], ["slow", "good"])
    assert told == "good is fit for 2 of 2 needs, slow is fit for 0 of 2 needs (1 undecided)."
    many = fitness_sentence([SLOW] * 5 + [GOOD], [*"abcde", "good"])
    assert many.startswith("good is fit for 2 of 2 needs, a is ")
    assert many.endswith(", 2 more are fit for as many or fewer.")


def test_drives_that_are_fit_for_all_are_told_once_with_the_faster_one() -> None:
    assert fitness_sentence([GOOD] * 3, ["a", "b", "c"]) == "All 3 are fit for all 2 needs."
    lead = "a is 47 times as fast as b (512 B appended)"
    assert fitness_sentence([GOOD, GOOD], ["a", "b"], lead) == f"Both are fit for all 2 needs; {lead}."
    assert fitness_sentence([GOOD, GOOD], ["a", "b"], "so " * 30) == "Both are fit for all 2 needs."
    assert "faster" not in fitness_sentence([SLOW, GOOD], ["a", "b"], "a is faster")


def test_what_an_undecided_need_means_is_told_where_one_stands() -> None:
    for runs, is_told in (([GOOD, GOOD], False), ([GOOD, SLOW], True)):
        table = fitness_table(runs, ["a", "b"])
        assert table is not None
        assert ("undecided" in table.caption) is is_told


def test_drives_are_compared_by_needs_that_all_were_asked_for() -> None:
    assert fitness_sentence([SLOW, OF_ONE], ["slow", "single"]) == ("ETCD: undecided on slow, yes on single.")
    other = checked({"zookeeper": "pass"})
    assert fitness_sentence([SLOW, other], ["slow", "other"]) == ""


def test_of_a_single_check_every_need_has_its_outcome_and_what_decided_it() -> None:
    told = {"need": "etcd", "title": "etcd", "outcome": "fail", "sentence": "etcd: 99 % took 20 ms (limit 10 ms)"}
    scale = {"need": "kafka", "title": "Kafka", "outcome": "no_limit", "sentence": "Kafka: 200 MB/s"}
    run = ReportContent("run", "check", "fit?", (), verdict={"outcome": "mixed", "verdicts": [told, scale]})
    table = needs_table(run)
    assert table is not None
    assert [[plain_text(cell.text) for cell in row] for row in table.rows] == [
        ["etcd", "No", "99 % took 20 ms (limit 10 ms)"],
        ["Kafka", "No published limit", "200 MB/s"],
    ]
    assert needs_table(OF_ONE) is needs_table(UNJUDGED) is None


def test_a_single_check_has_an_answer_of_its_own() -> None:
    assert fitness_table([GOOD, UNJUDGED], ["good", "other"]) is None
    assert fitness_sentence([GOOD, UNJUDGED], ["good", "other"]) == ""


def forecast(value: float, *, left: float | None = None, text: str = "") -> ReportContent:
    """A check of a program without a limit."""
    rate = {"value": value, "low": 0.9 * value, "high": 1.1 * value}
    told = {"commits_per_s": rate, "lasting_commits_per_s": left, "text": text}
    verdict = {"need": "postgres", "title": "PostgreSQL", "outcome": "no_limit", "forecast": told}
    return ReportContent("run", "check", "fit?", (), verdict=verdict)


def test_checks_of_one_program_begin_with_how_often_it_would_commit() -> None:
    both = [forecast(120.0), forecast(1000.0)]
    assert plain_text(fitness_sentence(both, ["disk", "ssd"])) == (
        "PostgreSQL would commit 1 000 (900 to 1 100) times a second on ssd and 120 (108 to 132) on disk."
    )
    burst = [forecast(120.0), forecast(1000.0, text="PostgreSQL would at first commit 1 000")]
    assert "commit at first 1 000 (900 to 1 100) times a second on vol" in plain_text(
        fitness_sentence(burst, ["disk", "vol"])
    )
    # what lasts decides who is first
    known = [forecast(120.0), forecast(1000.0, left=90.0)]
    assert plain_text(fitness_sentence(known, ["disk", "vol"])) == (
        "PostgreSQL would commit 120 (108 to 132) times a second on disk and 90.0 on vol (1 000 at first)."
    )
    # where the ranges have no room no drive loses its name
    three = [forecast(14_500.0), forecast(991.0), *known[1:]]
    assert plain_text(fitness_sentence(three, ["sim:fast", "sim:ssd", "sim:vol"])).endswith(
        "and 90.0 on sim:vol (1 000 at first)."
    )
    assert fitness_sentence([forecast(120.0), GOOD], ["disk", "other"]) == ""
