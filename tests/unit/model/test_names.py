"""Names that mean one thing each."""

from __future__ import annotations

from drivelab.model.names import counted, counted_of, free_name, names_apart


def test_a_name_that_is_taken_gets_the_first_free_number() -> None:
    assert free_name("a", ()) == "a"
    assert free_name("a", {"a", "a-2"}) == "a-3"
    assert free_name("a", {"a"}, "{}-b{}") == "a-b2"


def test_namesakes_get_the_first_ending_that_differs() -> None:
    serials, places = [" 1", " 1", " 2", " 9"], [" sda", " sdb", " sdc", " sdd"]
    assert names_apart(["x", "x", "x", "y"], serials, places) == ["x 1 sda", "x 1 sdb", "x 2", "y"]
    assert names_apart(["x", "x"], ["", ""]) == ["x", "x"]


def test_nouns_and_verbs_are_those_of_their_number() -> None:
    assert [counted(number, "run", "are") for number in (0, 1, 2)] == ["0 runs are", "1 run is", "2 runs are"]
    assert counted(1, "traced pass", "were") == "1 traced pass was"
    assert counted(2, "traced pass") == "2 traced passes"
    assert counted_of(1, 2, "run", "have") == "1 of 2 runs has"
    assert [counted_of(part, 1, "run", "are") for part in (0, 1)] == ["0 of 1 run is", "1 of 1 run is"]
    assert [counted_of(part, 2, "run", "do not") for part in (0, 2)] == ["0 of 2 runs do not", "2 of 2 runs do not"]
    assert counted_of(1, 3, "target") == "1 of 3 targets"
