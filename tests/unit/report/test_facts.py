"""Facts for people: units from the keys, reasons for what is unknown, what changed during the run."""

from __future__ import annotations

from drivelab.report.facts import changed_facts, fact_groups, fact_rows, fact_text, words


def test_units_come_from_the_keys() -> None:
    assert fact_text("size_bytes", 4096) == "4 KiB"
    assert fact_text("size_bytes", 2**30) == "1 GiB (1\u202f073\u202f741\u202f824 B)"
    assert fact_text("written_bytes_max", 512) == "512 B"
    assert fact_text("ramp_ns", 1_500_000) == "1.5 ms"
    assert fact_text("rate_bits_per_s", 6_000_000_000) == "6.00 Gbit/s"
    assert fact_text("ceiling_bytes_per_s", 600e6) == "600 MB/s"
    assert fact_text("tick_rate_hz", 250) == "250 Hz"
    assert fact_text("seed", 7) == "7"


def test_keys_become_words_without_their_unit() -> None:
    assert words("logical_block_size_bytes") == "logical block size"
    assert words("is_rotational") == "rotational"
    assert words("written_bytes_max") == "written max"
    assert words("bytes") == "bytes"


def test_truth_is_yes_or_no() -> None:
    assert [fact_text("direct", value) for value in (True, False)] == ["yes", "no"]


def test_what_is_unknown_says_why() -> None:
    rows = dict(fact_rows({"vendor": None, "model": None, "unknown": {"vendor": "nobody told"}}))
    assert rows == {"vendor": "unknown: nobody told", "model": "unknown"}


def test_inner_facts_are_named_after_what_they_belong_to() -> None:
    rows = dict(fact_rows({"link": {"kind": "pcie"}, "layers": [{"name": "a"}, {"name": "b"}]}))
    assert rows == {"link · kind": "pcie", "layers 1 · name": "a", "layers 2 · name": "b"}


def test_a_long_text_is_cut() -> None:
    assert len(fact_text("x", "y" * 1000)) < 500


def test_a_target_is_told_with_its_drives_and_what_changed() -> None:
    before = {"text": "/srv", "drives": [{"name": "sda", "temperature_celsius": 30}]}
    after = {"text": "/srv", "drives": [{"name": "sda", "temperature_celsius": 41}]}
    groups = fact_groups({"targets": [{"label": "/srv", "facts_before": before, "facts_after": after}]})
    assert [group.name for group in groups] == ["target /srv", "drive sda", "changed during the run"]
    assert groups[-1].facts == (("drives · temperature celsius", "30 → 41"),)


def test_a_fact_that_appears_or_vanishes_is_a_change() -> None:
    assert list(changed_facts({"a": 1}, {"b": 2})) == [("a", "1 → nothing"), ("b", "nothing → 2")]


def test_what_stands_elsewhere_on_the_page_is_left_out() -> None:
    assert fact_groups({"schema": 1, "findings": [{"code": "x"}], "verdict": {"outcome": "pass"}}) == []
