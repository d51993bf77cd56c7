"""The command ``drivelab experiments``: which experiments there are, and what each one asks."""

from __future__ import annotations

import json
import textwrap
from typing import Annotated

import typer

from drivelab.experiments.load import built_in_names, load_experiment
from drivelab.model.experiment import Experiment

SCHEMA = 1
_WIDTH_MIN = 40


def command(
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with every key of every experiment.")] = False,
) -> None:
    """List the built-in experiments: the question of each, its factors and its workloads.

    A TOML file of your own works wherever a built-in name does.
    """
    experiments = [load_experiment(name) for name in built_in_names()]
    if as_json:
        document = {"schema": SCHEMA, "experiments": [experiment.model_dump(mode="json") for experiment in experiments]}
        print(json.dumps(document, indent=2))
        return
    # imported here: JSON needs no terminal library
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for experiment in experiments:
        console.print(Text(experiment.name, style="bold"))
        for line in experiment_lines(experiment, max(console.width, _WIDTH_MIN)):
            console.print(Text(line))
        console.print()


def experiment_lines(experiment: Experiment, width: int) -> list[str]:
    """What an experiment is about, in lines no wider than `width`."""
    lines = textwrap.wrap(experiment.question, width - 4)
    lines += [
        f"{factor.name}: {', '.join([factor.name_of(level) for level in factor.levels])}"
        for factor in experiment.factors
    ]
    titles = "; ".join(workload.title or workload.name for workload in experiment.workloads)
    lines += textwrap.wrap(f"workloads: {titles}", width - 4, subsequent_indent="  ")
    repeats = experiment.repeats
    lines.append(f"repeats: {repeats.full}, with --quick {repeats.quick}")
    return [f"    {line}" for line in lines]
