"""The option ``--price``: what a drive costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from drivelab.model.errors import DrivelabError
from drivelab.model.plan import Plan
from drivelab.model.price import parse_priced
from drivelab.model.target import TargetFacts

PriceOption = Annotated[
    list[str] | None,
    typer.Option(metavar="DRIVE=PRICE", help="What a drive costs (SERIAL=129.90EUR), for the table of costs."),
]


def prices_of_targets(typed: Sequence[str], plan: Plan, targets: Mapping[str, TargetFacts]) -> dict[str, str]:
    """Prices by the label of the target, in words that a run stores.

    Parameters
    ----------
    typed : sequence of str
        As ``--price`` took them: a target as it was typed, its label, or a serial.
    """
    found: dict[str, str] = {}
    for text in typed:
        name, price = parse_priced(text)
        labels = [
            planned.label
            for planned in plan.targets
            if name in (planned.label, planned.text, *_serials(targets[planned.label]))
        ]
        if not labels:
            known = ", ".join(planned.text for planned in plan.targets)
            raise DrivelabError("U016", f"no target is called {name}", where="--price", do=f"choose: {known}")
        found |= dict.fromkeys(labels, str(price))
    return found


def _serials(facts: TargetFacts) -> tuple[str, ...]:
    """The serial of the only drive beneath a target: the price of a set is not that of a member."""
    return tuple(drive.serial for drive in facts.drives if drive.serial) if len(facts.drives) == 1 else ()
