"""Levels in words, where their factor does not stand beside them."""

from __future__ import annotations

import doctest

import pytest

from drivelab.model import level_words
from drivelab.model.level_words import level_text, levels_phrase


def test_the_examples_hold() -> None:
    assert doctest.testmod(level_words).failed == 0


@pytest.mark.parametrize(
    ("name", "written", "text"),
    [
        *(("block_size", written, "4 KiB") for written in ("4KiB", "4 KiB", "4096")),
        ("shift", "0", "0 B"),
        ("file_size", "1", "1 B"),
        ("fill_level", "20%", "20 %"),
        ("fill_level", "1GiB", "1GiB"),
        ("queue_depth", "4096", "4096"),
        ("read_fraction", "0.65", "R/W 65/35"),
        ("read_fraction", "1.0", "reads"),
        ("read_fraction", "0", "writes"),
        ("read_fraction", "R/W 65/35", "R/W 65/35"),
    ],
)
def test_a_level_has_one_form(name: str, written: str, text: str) -> None:
    assert level_text(name, written) == text


@pytest.mark.parametrize(
    ("levels", "phrase"),
    [
        ({}, ""),
        ({"scheduler": "none", "read-ahead": "131072"}, "scheduler none, read-ahead 128 KiB"),
        ({"fill_level": "20%", "file_size": "4MiB"}, "fill level 20 %, file size 4 MiB"),
        ({"block_size": "4KiB-16KiB"}, "block size 4KiB-16KiB"),
        ({"mount": "discard", "direct": "true"}, "discard, page cache bypassed"),
    ],
)
def test_a_level_stands_with_its_factor_unless_it_speaks_for_itself(levels: dict[str, str], phrase: str) -> None:
    assert levels_phrase(levels) == phrase


def test_a_mix_speaks_for_itself() -> None:
    assert levels_phrase({"read_fraction": "0.65", "block_size": "4KiB"}) == "R/W 65/35, block size 4 KiB"
