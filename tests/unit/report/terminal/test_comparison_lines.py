"""A comparison in a terminal begins with its answer."""

from __future__ import annotations

import pytest

from drivelab.model.comparison import ComparedRun, SideDifference
from drivelab.report.markdown.comparison import comparison_markdown
from drivelab.report.sentences.comparison_answer import answers
from drivelab.report.terminal.comparison import comparison_text
from made_comparisons import comparison, row


@pytest.mark.parametrize("is_whole", [True, False])
def test_the_answer_comes_first_and_the_runs_where_it_is_told_what_differs(*, is_whole: bool) -> None:
    names = {side: tuple(f"2026112{n}T234055Z-queue-depth-{side}" for n in range(5)) for side in ("one", "two")}
    base, new = (tuple(ComparedRun(name, "") for name in of) for of in names.values())
    differs = (SideDifference("kernel", ("6.12",), ("6.18",)),)
    several = comparison(row(1.5), base=base, new=new, differences=differs)
    text = comparison_text(several, is_whole=is_whole)
    assert " ".join(text.split("\n\n")[0].split()) == answers(several)[0]
    below, _, facts = text.partition("What differs:\n")
    assert facts.split() == ["kernel:", "6.12", "in", "BASE,", "6.18", "in", "NEW"]
    told = " ".join(below.split())
    if is_whole:
        assert told.endswith(f"BASE, 5 runs: {', '.join(names['one'])} NEW, 5 runs: {', '.join(names['two'])}")
    else:
        assert told.endswith(f"BASE: {names['one'][0]} and 4 more runs NEW: {names['two'][0]} and 4 more runs")
    # a comment of a pull request has all of them
    lines = comparison_markdown(several).splitlines()
    assert lines[0] == f"**{answers(several)[0]}**"
    assert [line.partition(":")[0] for line in lines if "5 runs:" in line] == ["BASE, 5 runs", "NEW, 5 runs"]
