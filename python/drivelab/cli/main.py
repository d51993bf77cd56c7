"""The program: picks the command, imports only that one, and catches every error once.

Results go to stdout; progress and errors to stderr. With ``--json`` an error
is one JSON object on stderr, so stdout stays either empty or one document.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import re
import shlex
import signal
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from drivelab import __version__
from drivelab.cli.catalogue import BY_NAME, COMMANDS, command_of
from drivelab.cli.command import Command
from drivelab.cli.failure import abandon_stdout, print_bug, print_error, print_message, results_delivered
from drivelab.model.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, DrivelabError
from drivelab.state.journal import left_outstanding
from drivelab.state.signals import obey_though_ignored, signals_received
from drivelab.streams import printable_streams, verbatim_stdout

# words that people try, and what has what they look for
_NO_COMMANDS = {
    "list": "for drives: drivelab drives; for experiments: drivelab experiments; for runs: drivelab runs",
    "reference": "a published page is a report: drivelab report reference:ssd-latency --text",
    "references": "a published page is a report: drivelab report reference:ssd-latency --text",
}
EXIT_CODES = "Exit codes: 0 ok, 1 failed, 2 usage, 3 refused for safety, 4 done but not to be trusted, 130 interrupted."
# a short -h would be found in the middle of a word such as -thread
_TAKES_WORDS = {"ignore_unknown_options": True, "help_option_names": ["--help"]}
# numpydoc sections are for readers of the code; the help shows what stands before them
_DOCSTRING_SECTION = re.compile(r"\n+(Parameters|Returns|Raises|Notes|Examples|References|Yields|See Also)\n-{3,}\n")


def run(arguments: Sequence[str]) -> int:
    """Exit status of the program run with `arguments`; never raises."""
    received: list[int] = []

    def interrupt(number: int) -> None:
        received.append(number)
        raise KeyboardInterrupt

    # a polite kill cleans up as Ctrl-C does
    with printable_streams(), signals_received(interrupt):
        if list(arguments[:1]) == ["fio"]:
            # as fio: scripts end with it what they started in the background, where shells have it ignored
            obey_though_ignored(signal.SIGINT)
        try:
            with results_delivered():
                return _dispatch(arguments)
        except DrivelabError as error:
            print_error(error, as_json="--json" in arguments)
            return error.exit_code
        except KeyboardInterrupt:
            print_message(_interrupted())
            return 128 + received[0] if received else EXIT_INTERRUPTED
        except BrokenPipeError:
            abandon_stdout()
            return 128 + signal.SIGPIPE
        except Exception as error:
            print_bug(error, _command_line(arguments))
            return EXIT_FAILED


def _interrupted() -> str:
    """What is said when a command was interrupted, and what is left to be done."""
    left = left_outstanding()
    if not left:
        return "interrupted"
    names = ", ".join(str(path) for path in left)
    return f"interrupted; not everything could be put back. Run: drivelab restore ({names})"


def with_optional_values(arguments: Sequence[str]) -> list[str]:
    """The arguments of ``drivelab report``, one of whose options may go without a value: typer has none."""
    from drivelab.cli.report_sources import with_matching

    return with_matching(arguments)


def build_program(chosen: str | None, *, is_certain: bool = False) -> typer.Typer:
    """The program with all its commands, of which only `chosen` is imported.

    Parameters
    ----------
    chosen : str or None
        The command that is going to run, with its group; the others stand in the help only.
    is_certain : bool
        Whether nothing else can be asked for, so that commands outside of its group are left out.
    """
    program = typer.Typer(
        name="drivelab",
        cls=_Program,
        help=f"Finds out what a storage drive really does, and whether the number can be trusted.\n\n{EXIT_CODES}",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    program.callback()(_root)
    for command in COMMANDS:
        if is_certain and command.word != str(chosen).split()[0]:
            continue
        if not command.commands:
            _add(program, command, chosen)
            continue
        group = typer.Typer(cls=_Program, pretty_exceptions_enable=False, rich_markup_mode="rich")
        for part in command.commands:
            _add(group, part, chosen)
        program.add_typer(group, name=command.name, help=command.summary, epilog=_epilog(command))
    return program


def _add(group: typer.Typer, command: Command, chosen: str | None) -> None:
    """Add one command to the program or to a group of it."""
    function = _load(command) if command.name == chosen else _not_imported
    group.command(
        command.word,
        cls=_Command,
        help=_help_text(function, command),
        short_help=command.summary,
        epilog=_epilog(command),
        context_settings=_TAKES_WORDS if command.takes_words else None,
    )(function)


class _Program(TyperGroup):
    """The program, or a group of its commands; its help is styled by typer."""

    def list_commands(self, *_: Any) -> list[str]:
        # in the order of work, where typer has groups behind all commands
        group = BY_NAME.get(self.name or "")
        return [command.word for command in (group.commands if group else COMMANDS)]

    def format_help(self, *arguments: Any) -> None:
        with verbatim_stdout():
            super().format_help(*arguments)


class _Command(TyperCommand):
    """A command; its help is styled by typer."""

    def format_help(self, *arguments: Any) -> None:
        with verbatim_stdout():
            super().format_help(*arguments)


def _dispatch(arguments: Sequence[str]) -> int:
    """Parse the arguments and run the command they name."""
    command = command_of(arguments)
    chosen = command.name if command else None
    # an option before it may be one of the program itself, such as --help
    is_certain = chosen is not None and arguments[0] == chosen.split()[0]
    program = typer.main.get_command(build_program(chosen, is_certain=is_certain))
    given = with_optional_values(arguments) if chosen == "report" else list(arguments)
    # what scripts ask to see whether fio is there; elsewhere it is a part of words of fio
    given = ["fio", "--help"] if given == ["fio", "-h"] else given
    try:
        with program.make_context("drivelab", given or ["--help"]) as context:
            result = program.invoke(context)
    except typer.Exit as asked:
        return asked.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
    except typer.TyperException as error:
        raise _usage_error(error, arguments) from error
    return result if isinstance(result, int) else EXIT_OK


def _show_completion(shell: str | None) -> None:
    """Print the script of a shell, where one was asked for, and end."""
    if shell is not None:
        from drivelab.cli.completion import completion_script

        print(completion_script(shell), end="")
        raise typer.Exit


def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    show_completion: Annotated[
        Literal["bash", "zsh", "fish"] | None,
        typer.Option(
            callback=_show_completion, is_eager=True, help="Print what this shell reads to complete commands, and exit."
        ),
    ] = None,
) -> None:
    """Options of the program itself."""
    if version:
        print(f"drivelab {__version__}")
        raise typer.Exit


def _load(command: Command) -> Callable[..., Any]:
    """Import the function behind a command."""
    # nothing of what is imported is ever garbage: it is not looked through meanwhile, nor when the command runs
    gc.disable()
    try:
        function: Callable[..., Any] = importlib.import_module(command.module).command
    finally:
        gc.freeze()
        gc.enable()
    return function


def _not_imported() -> None:
    """Stand in, in the list of commands, for one that is not going to run."""
    raise AssertionError("only the chosen command is ever invoked")


def _help_text(function: Callable[..., Any], command: Command) -> str:
    if function is _not_imported:
        return command.summary
    text = inspect.cleandoc(function.__doc__ or command.summary)
    return _DOCSTRING_SECTION.split(text, maxsplit=1)[0]


def _epilog(command: Command) -> str:
    return "\n".join(["Examples:", *(f"  drivelab {example}" for example in command.examples)])


def _usage_error(error: typer.TyperException, arguments: Sequence[str]) -> DrivelabError:
    """A mistake in the arguments, in the form that all errors have."""
    chosen = command_of(arguments)
    do = f"drivelab {chosen.name} --help" if chosen else "drivelab --help"
    what = " ".join(error.format_message().split()).replace(": Value error, ", ": ")
    # the library that reads numbers speaks of its own parsing
    what = re.sub(r"Input should be (a valid \w+), unable to parse string as .*", r"it is not \1", what)
    if chosen and "unexpected extra argument" in what:
        do = chosen.one_at_a_time or do
    for word, instead in _NO_COMMANDS.items():
        if what.startswith(f"No such command '{word}'"):
            do = instead
    return DrivelabError("U006", what[:1].lower() + what[1:], where=_command_line(arguments), do=do)


def _command_line(arguments: Sequence[str]) -> str:
    return shlex.join(["drivelab", *arguments])
