"""What stands for something else in an option: ``${NAME}``, ``$ncpus``, and the arithmetic around them."""

from __future__ import annotations

import re
from collections.abc import Callable

from drivelab.interop.fio.arithmetic import ArithmeticMistake, evaluated
from drivelab.interop.fio.syntax import Line
from drivelab.interop.fio.translated import Environment
from drivelab.model.errors import DrivelabError

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
# what templates of Ansible, Jinja and Helm leave where nobody filled them in
PLACEHOLDER = re.compile(r"\{\{\s*(.+?)\s*\}\}")
_OPERATORS = re.compile(r"[-+*/]")
# longer ones are left as they are, as in fio
_ARITHMETIC_CHARACTERS_MAX = 128


def substituted(line: Line, environment: Environment) -> str:
    """The text of an option with variables and keywords replaced.

    A variable that is not set is empty. Where a keyword was replaced, a value
    with an operator is calculated in whole numbers.

    Raises
    ------
    DrivelabError
        U032: arithmetic that makes no sense.
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


def unset_variables(line: Line, environment: Environment) -> list[str]:
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
