"""The arguments and options that commands which measure by a plan have in common, each written once."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from drivelab.experiments.load import built_in_names

ExperimentArgument = Annotated[
    str,
    typer.Argument(
        help="A built-in experiment, a TOML file of your own, or a job file of fio: JOBS.fio.",
        autocompletion=lambda incomplete: [name for name in built_in_names() if name.startswith(incomplete)],
    ),
]
TargetsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="TARGET...",
        help="Block devices, directories, scratch:SIZE, RAID sets (raid5:A,B,C), or simulated drives "
        "(drivelab drives --simulated). A job file may name its own.",
    ),
]
QuickOption = Annotated[bool, typer.Option("--quick", help="Fewer repeats and less data: a first look.")]
SeedOption = Annotated[
    int | None, typer.Option(min=0, max=2**32 - 1, help="Decides the order and the data; random, and recorded.")
]
LabelOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="What to call a target; once for each, in the same order.")
]
RepeatsOption = Annotated[
    int | None, typer.Option(metavar="N", min=1, max=1000, help="Measure every combination N times instead.")
]
OnlyOption = Annotated[
    list[str] | None,
    typer.Option(metavar="FACTOR=LEVEL", help="Keep only this level of a factor; several times keeps several."),
]
TraceOption = Annotated[
    bool, typer.Option("--trace", help="Trace every trial once more, to explain it: drivelab explain RUN (root).")
]
StrictOption = Annotated[bool, typer.Option("--strict", help="Refuse a job file that is not run just as fio runs it.")]
SkipOption = Annotated[bool, typer.Option("--skip-unavailable", help="Leave out the levels that a target cannot have.")]
EraseOption = Annotated[
    list[str] | None,
    typer.Option(metavar="SERIAL", help="Erase this drive: what 'drivelab plan' says its owner types."),
]
PurgeOption = Annotated[
    list[str] | None,
    typer.Option(metavar="SERIAL", help="Purge this drive too, where the experiment does: nothing is left of it."),
]
OverwriteOption = Annotated[
    bool, typer.Option("--overwrite-file", help="Jobs of fio may write over a file that is there.")
]
DetailsOption = Annotated[bool, typer.Option("--details", help="Print all tables, intervals and findings.")]
OnErrorOption = Annotated[
    Literal["continue", "stop"], typer.Option("--on-error", help="When a step fails: do the others, or stop there.")
]
