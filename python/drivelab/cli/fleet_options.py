"""Options that commands of ``drivelab fleet`` share: which hosts, and how they are reached."""

from __future__ import annotations

import inspect
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from drivelab.cli.workload_arguments import located
from drivelab.fleet.extra import require_fleet_extra
from drivelab.model.errors import DrivelabError
from drivelab.model.units import format_wait_ns, parse_duration_ns

_PANEL = "How hosts are reached"
HostsOption = Annotated[Path, typer.Option(metavar="FILE", help="The hosts: docs/how-to/measure-many-hosts.md")]
OnlyHostOption = Annotated[
    list[str] | None,
    typer.Option("--host", metavar="NAME", help="Only this host of them; several times names several."),
]
ListenOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        rich_help_panel=_PANEL,
        help="Address or interface that hosts join; else the one on the way to the first.",
    ),
]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="tls://ADDRESS:PORT",
        rich_help_panel=_PANEL,
        help="Let hosts be started by others, and wait for them here: drivelab fleet worker.",
    ),
]
SlurmOption = Annotated[
    bool,
    typer.Option(
        "--slurm",
        rich_help_panel=_PANEL,
        help="Start hosts by srun, one for each node, and not over ssh.",
    ),
]
KubernetesOption = Annotated[
    str | None,
    typer.Option(
        metavar="IMAGE",
        rich_help_panel=_PANEL,
        help="Start hosts by kubectl, one pod of this image on each node, and not over ssh.",
    ),
]
KeysOption = Annotated[
    Path | None,
    typer.Option(metavar="DIR", rich_help_panel=_PANEL, help="Keys for --scheduler: drivelab fleet keys DIR."),
]
JoinOption = Annotated[
    str, typer.Option(metavar="DURATION", rich_help_panel=_PANEL, help="How long a host may take to join.")
]
DeadlineOption = Annotated[
    str, typer.Option(metavar="DURATION", rich_help_panel=_PANEL, help="How long one drive may take.")
]
SilentOption = Annotated[
    str,
    typer.Option(
        metavar="DURATION", rich_help_panel=_PANEL, help="How long a host may say nothing before it is given up."
    ),
]
EraseListOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Serials (or HOST:NAME) of drives that may be erased; others are only read."),
]
FleetArgument = Annotated[
    str, typer.Argument(metavar="FLEET", help="Directory or name of a fleet that was begun; LAST is the newest.")
]
FleetOutOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where the fleet's directory is made; else where runs are kept.")
]
UnfinishedArgument = Annotated[
    str | None,
    typer.Argument(metavar="FLEET", help="Directory or name of a fleet; else the only one that is unfinished."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON; progress is a line of JSON for each change.")]
NoGatherOption = Annotated[bool, typer.Option("--no-gather", help="Leave the runs on their hosts.")]
JOIN, DEADLINE, SILENT = "60s", "24h", "30s"
# the kernel's own probes of a connection are seconds apart, and ten of them decide
_SILENT_S_MIN, _S_MIN = 11, 1


@dataclass(frozen=True, slots=True)
class Reach:
    """How hosts are reached.

    Attributes
    ----------
    listen : str or None
        Address or interface that they join.
    scheduler : str or None
        ``tls://ADDRESS:PORT``, where others start them.
    keys : Path or None
        Where the keys for that are.
    slurm : bool
        Whether srun starts them, and not ssh.
    kubernetes : str or None
        The image of the pods as which kubectl starts them, and not ssh.
    join_s, item_s, silent_s : float
        How long joining, one drive, and silence may last.
    typed : tuple of str
        The options that say so, as they were typed; none where all is as it is without them.
    """

    listen: str | None
    scheduler: str | None
    keys: Path | None
    slurm: bool
    kubernetes: str | None
    join_s: float
    item_s: float
    silent_s: float
    typed: tuple[str, ...] = ()

    def to_go_on(self, no_gather: bool) -> tuple[str, ...]:
        """What of the options of a command whoever goes on needs, too."""
        return (*self.typed, *["--no-gather"] * no_gather)


def reach_of(
    listen: ListenOption = None,
    scheduler: SchedulerOption = None,
    keys: KeysOption = None,
    slurm: SlurmOption = False,
    kubernetes: KubernetesOption = None,
    join_within: JoinOption = JOIN,
    deadline: DeadlineOption = DEADLINE,
    silent_for: SilentOption = SILENT,
) -> Reach:
    """What was typed about reaching hosts.

    Raises
    ------
    DrivelabError
        U002, U003: no duration, or one that is too short. U004: options that exclude each other, or one without its
        other.
    """
    if scheduler is not None and listen is not None:
        raise DrivelabError("U004", "--scheduler names the address already", do="leave out --listen")
    ways = {"--slurm": slurm, "--kubernetes": kubernetes is not None, "--scheduler": scheduler is not None}
    if len(given := [option for option, is_given in ways.items() if is_given]) > 1:
        do = "give one: --slurm and --kubernetes start hosts, and --scheduler waits for those that others start"
        raise DrivelabError("U004", f"{' and '.join(given)} exclude each other", do=do)
    if (scheduler is None) != (keys is None):
        do = "give both: --scheduler tls://ADDRESS:PORT --keys DIR"
        raise DrivelabError("U004", "--scheduler and --keys belong together", do=do)
    join_s, silent_s = patience(join_within, silent_for)
    said: dict[str, str | Path | None] = {
        "--kubernetes": kubernetes,
        "--listen": listen,
        "--scheduler": scheduler,
        "--keys": keys,
    }
    times = {
        "--join-within": (join_within, JOIN),
        "--deadline": (deadline, DEADLINE),
        "--silent-for": (silent_for, SILENT),
    }
    said |= {option: text for option, (text, usual) in times.items() if text != usual}
    typed = (*["--slurm"] * slurm, *(word for option, text in said.items() if text for word in (option, str(text))))
    item_s = _seconds("--deadline", deadline, _S_MIN)
    return Reach(listen, scheduler, keys, slurm, kubernetes, join_s, item_s, silent_s, typed)


def reaching(function: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of `reach_of` in place of its parameter ``reach``, which it gets made of them."""
    own = inspect.signature(function, eval_str=True).parameters
    asked = inspect.signature(reach_of, eval_str=True).parameters
    parameters = [one for name, one in own.items() if name != "reach"] + list(asked.values())

    @wraps(function)
    def command(**typed: Any) -> int:
        reach = reach_of(**{name: typed.pop(name) for name in asked})
        require_fleet_extra()
        return function(reach=reach, **typed)

    ordered = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in ordered}
    return command


def patience(join_within: str, silent_for: str) -> tuple[float, float]:
    """How long joining and silence may last, in seconds.

    Raises
    ------
    DrivelabError
        U002, U003: no duration, or one that is too short.
    """
    return _seconds("--join-within", join_within, _S_MIN), _seconds("--silent-for", silent_for, _SILENT_S_MIN)


def _seconds(option: str, text: str, least: int) -> float:
    seconds = located(option, parse_duration_ns, text) / 1e9
    if seconds < least:
        what = f"{option} has to be {format_wait_ns(least * 1e9)} or more, not {text}"
        raise DrivelabError("U003", what, where=f"option {option}", do=f"leave it out, or: {option} {least}s")
    return seconds


def chosen_seed(seed: int | None) -> int:
    """The seed that all hosts get: the same question is the same order, too."""
    return secrets.randbits(32) if seed is None else seed
