"""Writes the tables of metrics in docs/metrics.md from python/drivelab/model/metric.py."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PAGE = PROJECT / "docs" / "metrics.md"
sys.path.insert(0, str(PROJECT / "python"))

from drivelab.model.metric import LATENCIES, METRICS, STATISTICS  # noqa: E402


def metric_page(text: str) -> str:
    """The page with every table of metrics as the list has it; everything between them stays.

    Parameters
    ----------
    text : str
        The page as it is. A table is the first of its section whose head begins as the new one does.
    """
    for title, rows in _tables():
        begin = text.index(f"\n## {title}\n")
        place = text.index(f"\n{rows[0].split(' | ')[0]} |", begin) + 1
        text = text[:place] + "\n".join(rows) + text[text.index("\n\n", place) :]
    return text


def _tables() -> Iterator[tuple[str, list[str]]]:
    """Sections with the rows of their table."""
    kinds = [(f"`{kind}_latency_ns`", words) for kind, words in LATENCIES.items()]
    yield "Latencies", _rows(("kind", "from, to"), kinds)
    told = [
        (f"`{name}`", words if head == words else f"{head}, {words}", meaning)
        for name, (head, words, meaning) in STATISTICS.items()
    ]
    yield "Latencies", _rows(("statistic", "in print", "meaning"), told)
    for section in dict.fromkeys(metric.section for metric in METRICS if metric.section):
        members = [metric for metric in METRICS if metric.section == section]
        heads = [f"{one.band}: {one.head}".removeprefix(": ") for one in members]
        cells = [(f"`{one.name}`", head, one.meaning, one.unit) for one, head in zip(members, heads, strict=True)]
        yield section, _rows(("metric", "in print", "meaning", "unit"), cells)


def _rows(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in (heads, *rows)]
    return [lines[0], "|---" * len(heads) + "|", *lines[1:]]


def main() -> int:
    """Write the page, or with ``--check`` only say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    text = PAGE.read_text()
    if not parser.parse_args().check:
        PAGE.write_text(metric_page(text))
    elif text != metric_page(text):
        print(f"{PAGE.relative_to(PROJECT)} is out of date: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
