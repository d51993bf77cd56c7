"""Names that mean one thing each."""

from __future__ import annotations

from drivelab.model.names import free_name, names_apart


def test_a_name_that_is_taken_gets_the_first_free_number() -> None:
    assert free_name("a", ()) == "a"
    assert free_name("a", {"a", "a-2"}) == "a-3"
    assert free_name("a", {"a"}, "{}-b{}") == "a-b2"


def test_namesakes_get_the_first_ending_that_differs() -> None:
    serials, places = [" 1", " 1", " 2", " 9"], [" sda", " sdb", " sdc", " sdd"]
    assert names_apart(["x", "x", "x", "y"], serials, places) == ["x 1 sda", "x 1 sdb", "x 2", "y"]
    assert names_apart(["x", "x"], ["", ""]) == ["x", "x"]
