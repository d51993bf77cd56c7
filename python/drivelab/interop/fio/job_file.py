"""A job file, read: its jobs with the values of their options."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from drivelab.interop.fio.arithmetic import ArithmeticMistake, evaluated
from drivelab.interop.fio.options import BY_NAME, READ_FIRST, READ_LAST, nearest
from drivelab.interop.fio.sizes import ValueMistake
from drivelab.interop.fio.syntax import Line, Place, Section, read_sections
from drivelab.interop.fio.translated import Environment, Warned
from drivelab.interop.fio.values import Choice, PerDirection, Value, parse_value
from drivelab.model.errors import DrivelabError

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
# what templates of Ansible, Jinja and Helm leave where nobody filled them in
PLACEHOLDER = re.compile(r"\{\{\s*(.+?)\s*\}\}")
_OPERATORS = re.compile(r"[-+*/]")
# longer ones are left as they are, as in fio
_ARITHMETIC_CHARACTERS_MAX = 128
_TEXT_SHOWN_MAX = 80


@dataclass(frozen=True, slots=True)
class Setting:
    """One option that is set.

    Attributes
    ----------
    option : str
        As the list of options names it, or as it was typed when the list doesn't have it.
    text : str
        Its value as written, with variables replaced; "" is a flag.
    value : Value or None
        Its value; None of an unknown option.
    is_shared : bool
        Whether it stands in ``[global]``.
    """

    option: str
    text: str
    place: Place
    value: Value | None
    is_shared: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One section with what holds for it.

    Attributes
    ----------
    name : str
        The one that its section sets, or else the section's; never that of ``[global]``.
    section, place : str, Place
        Its section, after which fio calls its files, and where that begins.
    settings : mapping of str to Setting
        The setting of each option that holds: its own, or that of ``[global]``.
    written : tuple of Setting
        All that was written for it and before it in ``[global]``, in order.
    """

    name: str
    section: str
    place: Place
    settings: Mapping[str, Setting]
    written: tuple[Setting, ...]

    def has(self, option: str) -> bool:
        """Whether an option is set."""
        return option in self.settings


@dataclass(frozen=True, slots=True)
class JobFile:
    """A job file.

    Attributes
    ----------
    warnings : tuple of Warned
        Values that are not what they look like.
    """

    path: str
    jobs: tuple[Job, ...]
    warnings: tuple[Warned, ...]


@dataclass(slots=True)
class _Scope:
    """Options that hold at a place in the file, and all that led to them."""

    settings: dict[str, Setting] = field(default_factory=dict)
    written: list[Setting] = field(default_factory=list)


def read_job_file(path: Path, environment: Environment) -> JobFile:
    """The jobs of a file, with the options that hold for each.

    Raises
    ------
    DrivelabError
        U030: it cannot be read. U031: it is no job file. U032: a value that fio would refuse.
        U037: there is no job in it.
    """
    warnings: dict[Warned, None] = {}
    shared = _Scope()
    jobs = []
    for section in read_sections(path):
        scope = _Scope(dict(shared.settings), list(shared.written))
        _read(section, scope, environment, warnings)
        if section.is_global:
            shared = scope
        else:
            own = scope.settings.get("name")
            name = section.name if own is None or own.is_shared else own.text
            jobs.append(Job(name, section.name, section.place, scope.settings, tuple(scope.written)))
    if not jobs:
        # what to do is that of the error
        raise DrivelabError("U037", f"{path} holds no job", where=str(path))
    return JobFile(str(path), tuple(jobs), tuple(warnings))


def read_settings(section: Section, environment: Environment) -> list[Setting]:
    """The options of one section, in the order in which fio reads them.

    Raises
    ------
    DrivelabError
        U032: a value that fio would refuse.
    """
    scope = _Scope()
    _read(section, scope, environment, {})
    return scope.written


def _read(section: Section, scope: _Scope, environment: Environment, warnings: dict[Warned, None]) -> None:
    texts = [(_substituted(line, environment), line) for line in section.lines]
    names = {id(line): text.partition("=")[0].strip() for text, line in texts}

    def order(pair: tuple[str, Line]) -> int:
        name = names[id(pair[1])]
        return 0 if name in READ_FIRST else 2 if name in READ_LAST else 1

    for text, line in sorted(texts, key=order):
        if names[id(line)] != "description" and (left := PLACEHOLDER.search(text)):
            what = f"{_shortened(text)}: nothing has filled in {left[1]}"
            raise DrivelabError("U032", what, where=str(line.place), do=f"write a value in place of {left[0]}")
        try:
            setting = _setting(text, line.place, scope, warnings, is_shared=section.is_global)
        except ValueMistake as mistake:
            raise _refusal(text, mistake, line, environment) from None
        scope.settings[setting.option] = setting
        scope.written.append(setting)


def _refusal(text: str, mistake: ValueMistake, line: Line, environment: Environment) -> DrivelabError:
    """Why a value cannot be read: the variable that is not set, if one stands in it."""
    unset = _unset_variables(line, environment)
    if unset:
        shown = _shortened(line.text)
        names = " and ".join(dict.fromkeys(unset))
        what = f"{shown}: variable{'s' if len(set(unset)) > 1 else ''} {names} {'are' if len(set(unset)) > 1 else 'is'}"
        return DrivelabError(
            "U032", f"{what} not set", where=str(line.place), do=f"set it: {unset[0]}=... drivelab ..."
        )
    name = text.partition("=")[0].strip()
    return DrivelabError("U032", f"{_shortened(text)}: {mistake}", where=str(line.place), do=f"correct {name}")


def _shortened(text: str) -> str:
    return text if len(text) <= _TEXT_SHOWN_MAX else text[: _TEXT_SHOWN_MAX - 3] + "..."


def _setting(text: str, place: Place, scope: _Scope, warnings: dict[Warned, None], *, is_shared: bool) -> Setting:
    typed, equals, rest = text.partition("=")
    name = typed.strip()
    value_text = rest if equals else None
    option = BY_NAME.get(name)
    if option is None:
        return Setting(name, rest.strip(), place, None, is_shared)
    value, surprises = parse_value(option, value_text, kb_base=_kb_base(scope))
    for surprise in surprises:
        warnings[Warned(surprise, place.path, place.line)] = None
    earlier = scope.settings.get(option.name)
    if isinstance(value, PerDirection) and earlier is not None and isinstance(earlier.value, PerDirection):
        value = value.over(earlier.value)
    return Setting(option.name, rest.strip(), place, value, is_shared)


def _kb_base(scope: _Scope) -> int:
    setting = scope.settings.get("kb_base")
    value = setting.value if setting else None
    return int(value.word) if isinstance(value, Choice) else 1024


def unknown_option_advice(name: str) -> str:
    """What to say of an option that the list doesn't have."""
    like = nearest(name)
    return "drivelab does not know it" + (f"; did you mean {like}?" if like and like != name else "")


def _substituted(line: Line, environment: Environment) -> str:
    """The text of an option with variables and keywords replaced.

    A variable that is not set is empty. Where a keyword was replaced, a value
    with an operator is calculated in whole numbers.
    """
    text = _VARIABLE.sub(lambda match: environment.variables.get(match[1], ""), line.text)
    replaced = _with_keywords(text, environment)
    name, equals, value = replaced.partition("=")
    calculates = replaced != text and equals and len(replaced) < _ARITHMETIC_CHARACTERS_MAX
    if not calculates or not _OPERATORS.search(value) or "'" in value:
        return replaced
    try:
        return f"{name}={int(evaluated(value, whole=True))}"
    except ArithmeticMistake as mistake:
        what = f"'{value}' cannot be calculated: {mistake}"
        raise DrivelabError("U032", what, where=str(line.place), do="write the number itself") from None


def _unset_variables(line: Line, environment: Environment) -> list[str]:
    """Variables of a line that are not set."""
    return [name for name in _VARIABLE.findall(line.text) if name not in environment.variables]


def _with_keywords(text: str, environment: Environment) -> str:
    keywords: dict[str, Callable[[], int]] = {
        "$pagesize": lambda: environment.page_bytes,
        "$mb_memory": lambda: environment.memory_bytes // 2**20,
        "$ncpus": lambda: environment.cpu_count,
    }
    for keyword, value in keywords.items():
        if keyword in text:
            text = text.replace(keyword, str(value()))
    return text
