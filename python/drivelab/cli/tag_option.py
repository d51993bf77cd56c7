"""The option ``--tag``: what a user says of a run."""

from __future__ import annotations

from typing import Annotated

import typer

TAG_HELP = "Something to know this run by, kept with it: rack=r07; several times for several."
TagOption = Annotated[list[str] | None, typer.Option("--tag", metavar="KEY=VALUE", help=TAG_HELP)]
