"""Lines of keys and values: the scanner finds every place that the parser of the standard library finds."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from drivelab.experiments.load import built_in_names, built_in_text
from drivelab.experiments.toml_lines import Place, line_of

AWKWARD = '''\
# a comment with [brackets], a = 1 and "quotes
title = "a ] } # no comment" # one
"quoted key" = 1
'single key' = 2
dotted.key.below = 3
site."a.b" = 4

multi = """
not_a_key = 1
[not.a.header]
with \\""" inside"""
literal = \'\'\'
also = "not a key" ]
\'\'\'
when = 1979-05-27 07:32:00
numbers = [ 1, 2.5e3, 0xff, true, inf ]

nested = [
    [1, 2], # the first
    [ "a, b", 'c # d' ],

    { x = 1, y = { z = [ 5, 6 ] } },
]

[table]
key = "v"
[table.below]
key = { }

[[array]]
name = "one"
empty = []
[array.sub]
key = 1
[[array.inner]]
deep = true
[[array.inner]]
deep = false
[[array]]
name = "two"
[[array.inner]]
deep = 1
'''
# where things stand, counted by hand
LINES = {
    ("title",): 2,
    ("quoted key",): 3,
    ("single key",): 4,
    ("dotted", "key", "below"): 5,
    ("site", "a.b"): 6,
    ("multi",): 8,
    ("literal",): 12,
    ("when",): 15,
    ("numbers", 4): 16,
    ("nested",): 18,
    ("nested", 0, 1): 19,
    ("nested", 1): 20,
    ("nested", 2, "y", "z", 1): 22,
    ("table",): 25,
    ("table", "key"): 26,
    ("table", "below"): 27,
    ("array",): 30,
    ("array", 0, "name"): 31,
    ("array", 0, "sub", "key"): 34,
    ("array", 0, "inner", 1, "deep"): 38,
    ("array", 1): 39,
    ("array", 1, "inner", 0, "deep"): 42,
}


def places_of(value: Any, above: Place = ()) -> Iterator[Place]:
    """Every place of a document, as the standard library reads it."""
    if above:
        yield above
    children: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places_of(child, (*above, key))


@pytest.mark.parametrize("place", LINES, ids=str)
def test_a_place_is_found_on_its_line(place: Place) -> None:
    assert line_of(AWKWARD, place) == LINES[place]


def test_the_example_holds_every_kind_of_value() -> None:
    document = tomllib.loads(AWKWARD)
    assert set(LINES) <= set(places_of(document))
    assert document["array"][1]["inner"] == [{"deep": 1}]


@pytest.mark.parametrize("name", built_in_names())
def test_every_key_and_value_of_an_experiment_stands_on_the_line_that_is_named(name: str) -> None:
    text = built_in_text(name)
    lines = text.splitlines()
    document = tomllib.loads(text)
    for place in places_of(document):
        *_, last = place
        written = str(last) if isinstance(last, str) else ""
        assert written in lines[line_of(text, place) - 1], place


def test_what_is_missing_is_looked_for_at_the_header_of_its_table() -> None:
    assert line_of(AWKWARD, ("array", 1, "missing")) == LINES["array", 1]
    assert line_of(AWKWARD, ("table", "below", "missing")) == LINES["table", "below"]
    assert line_of(AWKWARD, ("nothing", "at", "all")) == 1


def test_windows_line_ends_are_counted_once() -> None:
    assert line_of(AWKWARD.replace("\n", "\r\n"), ("array", 1, "name")) == 40
