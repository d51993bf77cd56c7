"""The list of errors: each code is unique, raised somewhere, provoked by some test, and documented."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

from drivelab.model import errors
from drivelab.model.errors import KINDS, DrivelabError, ErrorKind
from error_list import AREAS, EXIT_MEANINGS, PAGE, error_page

PROJECT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"\b[A-Z]\d{3}\b")


def python_files(*folders: str) -> list[Path]:
    """The Python files of some folders of the project."""
    return sorted(path for folder in folders for path in (PROJECT / folder).rglob("*.py"))


@cache
def calls_in(path: Path) -> list[tuple[str, list[ast.expr]]]:
    """Name and arguments of every call in a file that names a code at all."""
    text = path.read_text()
    nodes = ast.walk(ast.parse(text)) if CODE.search(text) else ()
    return [(ast.unparse(node.func), node.args) for node in nodes if isinstance(node, ast.Call)]


def codes_in_calls(path: Path, function: str) -> set[str]:
    """Codes given as a literal to calls whose name ends in `function`."""
    arguments = [argument for name, given in calls_in(path) if name.endswith(function) for argument in given]
    constants = [node for argument in arguments for node in ast.walk(argument) if isinstance(node, ast.Constant)]
    return {node.value for node in constants if isinstance(node.value, str) and CODE.fullmatch(node.value)}


def codes_mentioned_in_source() -> set[str]:
    """Codes that stand as a string in the program, in Python or Rust, outside the list itself."""
    own_list = Path(errors.__file__)
    files = [path for path in python_files("python") if path != own_list] + sorted(PROJECT.glob("crates/*/src/**/*.rs"))
    return {code for path in files for code in re.findall(r'"([A-Z]\d{3})"', path.read_text())}


def codes_asserted_in_rust() -> set[str]:
    """Codes that a test of the engine crate looks for; these never reach Python before they do there."""
    lines = (line for path in PROJECT.glob("crates/*/tests/**/*.rs") for line in path.read_text().splitlines())
    return {code for line in lines if "assert" in line for code in re.findall(r'"(E\d{3})"', line)}


def is_complete(kind: ErrorKind) -> bool:
    """Whether a kind of error has all its parts, and refusals of a drive their exit code."""
    is_known = CODE.fullmatch(kind.code) and kind.code[0] in AREAS and kind.exit_code in EXIT_MEANINGS
    is_told = kind.title and kind.advice and kind.title[-1] not in ".!"
    return bool(is_known and is_told) and (kind.code[0] != "C" or kind.exit_code == errors.EXIT_REFUSED)


def test_each_kind_is_complete() -> None:
    assert [kind for kind in KINDS.values() if not is_complete(kind)] == []


def test_no_code_is_used_twice() -> None:
    codes = [kind.code for kind in errors._KINDS]
    assert sorted(codes) == sorted(set(codes))


def test_each_code_is_provoked_by_some_test() -> None:
    provoked = {code for path in python_files("tests") for code in codes_in_calls(path, "mark.provokes")}
    provoked |= codes_asserted_in_rust()
    missing, unknown = sorted(set(KINDS) - provoked), sorted(provoked - set(KINDS))
    assert not missing, f"mark tests that make these happen with pytest.mark.provokes: {' '.join(missing)}"
    assert not unknown, f"these codes do not exist: {' '.join(unknown)}"


def test_what_a_test_claims_to_provoke_it_also_looks_at() -> None:
    def unseen(path: Path) -> list[str]:
        beyond_the_marker = re.sub(r"mark\.provokes\([^)]*\)", "", path.read_text())
        return sorted(code for code in codes_in_calls(path, "mark.provokes") if code not in beyond_the_marker)

    assert {path: codes for path in python_files("tests") if (codes := unseen(path))} == {}


def test_each_code_is_raised_somewhere() -> None:
    idle = sorted(set(KINDS) - codes_mentioned_in_source())
    assert not idle, f"nothing raises these: {' '.join(idle)}"


def test_only_codes_that_exist_are_raised() -> None:
    raised = {code for path in python_files("python") for code in codes_in_calls(path, "DrivelabError")}
    unknown = sorted(raised - set(KINDS))
    assert not unknown, f"these codes do not exist: {' '.join(unknown)}"


def test_the_page_of_errors_is_up_to_date() -> None:
    is_up_to_date = PAGE.read_text() == error_page()
    assert is_up_to_date, "run: make docs"


def test_an_error_says_what_where_and_what_to_do() -> None:
    error = DrivelabError("U001", "'4k' is not a size", where="option --size", do="write 4KiB")
    assert str(error) == "error[U001] '4k' is not a size\n  where: option --size\n  do:    write 4KiB"


def test_an_error_that_knows_nothing_better_gives_the_advice_of_its_kind() -> None:
    error = DrivelabError("U001", "'4k' is not a size")
    assert error.do == KINDS["U001"].advice
    assert "where" not in str(error)
