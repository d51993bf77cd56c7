"""The style as a test: a rule that no program checks is a wish."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from drivelab import __version__

PROJECT = Path(__file__).resolve().parents[2]
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
LINE_COLUMNS_MAX = 120
FOLDERS = ("python", "crates", "tests", "tools", "bench")
TEXT_SUFFIXES = {".py", ".pyi", ".rs", ".toml", ".md", ".html", ".css", ".js", ".c", ".sh", ".in"}
PURE_PACKAGES = ("model", "plan", "analyse")

LEFTOVERS = re.compile(r"\b(TO" + r"DO|FIX" + r"ME|X" + r"XX|HA" + r"CK)\b")
MACHINE_PATHS = re.compile(r"/(?:ro" + r"ot|work|home/\w+|Users/\w+)/")
VAGUE_WORDS = re.compile(r"(?:^|_)(?:utils?|helpers?|managers?)(?:_|$)|(?:Util|Helper|Manager)s?(?![a-z])")
LINE_END = "\n"
EFFECTS = {"open", "print", "input", "exec", "eval", "breakpoint"}
EFFECT_METHODS = {"read_text", "write_text", "read_bytes", "write_bytes", "now", "utcnow", "today", "default_rng"}


def text_files() -> list[Path]:
    """Every file of the project that people write."""
    inside = [path for folder in FOLDERS for path in (PROJECT / folder).rglob("*")]
    found = [*inside, *(PROJECT / "docs").glob("*.md"), *PROJECT.glob("*"), PROJECT / ".ci" / "run"]
    return sorted(
        path
        for path in found
        if path.is_file()
        and (path.suffix in TEXT_SUFFIXES or path.name in {"Makefile", "run"})
        and not {"target", "__pycache__", "golden", "node_modules"} & set(path.relative_to(PROJECT).parts)
    )


FILES = text_files()
CODE_FILES = [path for path in FILES if path.suffix in {".py", ".rs"}]
PYTHON_FILES = [path for path in FILES if path.suffix == ".py"]
PACKAGE_FILES = [path for path in PYTHON_FILES if path.is_relative_to(PROJECT / "python")]


def report_nothing(found: list[str]) -> None:
    """Fail with one line for each place that was found."""
    if found:
        pytest.fail("\n".join(found), pytrace=False)


def name_of(path: Path) -> str:
    """A path as people write it."""
    return str(path.relative_to(PROJECT))


@cache
def text_of(path: Path) -> str:
    """What stands in a file."""
    return path.read_text()


def numbered_lines(path: Path) -> Iterator[tuple[str, str]]:
    """The lines of a file, each with its place."""
    for number, line in enumerate(text_of(path).splitlines(), start=1):
        yield f"{name_of(path)}:{number}", line


@dataclass
class Contents:
    """What a Python file has: lines of functions, names of what it defines, calls with effects, each with its place."""

    documented: bool
    lengths: list[tuple[str, int]] = field(default_factory=list)
    names: list[tuple[str, str]] = field(default_factory=list)
    effects: list[tuple[str, str]] = field(default_factory=list)


@cache
def contents_of(path: Path) -> Contents:
    """What a Python file has, of one look through its tree, which is too large to be kept."""
    tree = ast.parse(text_of(path))
    contents = Contents(bool(ast.get_docstring(tree)))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            place = f"{name_of(path)}:{node.lineno}"
            contents.names.append((place, node.name))
            if not isinstance(node, ast.ClassDef) and node.end_lineno:
                contents.lengths.append((place, node.end_lineno - node.lineno + 1))
        elif isinstance(node, ast.arg):
            contents.names.append((f"{name_of(path)}:{node.lineno}", node.arg))
        elif isinstance(node, ast.Call) and is_effect(node):
            contents.effects.append((f"{name_of(path)}:{node.lineno}", ast.unparse(node.func)))
    return contents


def function_lengths(path: Path) -> Iterator[tuple[str, int]]:
    """Each function's place and number of lines; Rust's end at the brace that closes its indentation."""
    if path.suffix == ".py":
        yield from contents_of(path).lengths
        return
    lines = text_of(path).splitlines()
    for start, line in enumerate(lines):
        opening = re.match(r"(\s*)(?:pub(?:\([a-z]+\))? )?(?:const |unsafe |extern \"C\" )*fn \w+", line)
        if opening and not line.rstrip().endswith((";", "}")):
            closing = f"{opening[1]}}}"
            length = next((n for n, later in enumerate(lines[start:]) if later == closing), 0)
            yield f"{name_of(path)}:{start + 1}", length + 1


def test_the_checks_see_the_project() -> None:
    seen = {name_of(path) for path in FILES}
    assert {"pyproject.toml", "Cargo.toml", "Makefile", ".ci/run", "python/drivelab/model/units.py"} <= seen
    assert any(path.suffix == ".rs" for path in FILES)


def test_files_are_short_enough_to_read() -> None:
    lengths = {name_of(path): len(text_of(path).splitlines()) for path in CODE_FILES}
    report_nothing([f"{name} has {length} lines" for name, length in lengths.items() if length > FILE_LINES_MAX])


def test_functions_fit_on_a_screen() -> None:
    lengths = {place: length for path in CODE_FILES for place, length in function_lengths(path)}
    report_nothing([f"{place} has {length} lines" for place, length in lengths.items() if length > FUNCTION_LINES_MAX])


def test_lines_fit_on_a_screen() -> None:
    # Python's lines are ruff's to measure
    code = [path for path in FILES if path.suffix in {".rs", ".toml"}]
    long = [place for path in code for place, line in numbered_lines(path) if len(line) > LINE_COLUMNS_MAX]
    report_nothing(long)


@pytest.mark.parametrize(
    ("pattern", "advice"),
    [
        (LEFTOVERS, "finish it, or open an issue"),
        (MACHINE_PATHS, "a path of one machine; derive it"),
        (re.compile(r"[^\S\n]$", re.MULTILINE), "white space at the end of a line"),
        (re.compile(r"\bissue #?\d|\bISSUE-\d"), "say why, not which number"),
    ],
    ids=["leftovers", "machine-paths", "trailing-space", "issue-numbers"],
)
def test_nothing_is_left_lying_about(pattern: re.Pattern[str], advice: str) -> None:
    found = [
        f"{name_of(path)}:{text_of(path).count(LINE_END, 0, match.start()) + 1}: {advice}"
        for path in FILES
        for match in pattern.finditer(text_of(path))
    ]
    report_nothing(found)


def test_names_say_what_a_thing_does() -> None:
    vague = [name_of(path) for path in FILES if VAGUE_WORDS.search(path.stem)]
    vague += [
        f"{place} {name}"
        for path in PYTHON_FILES
        for place, name in contents_of(path).names
        if VAGUE_WORDS.search(name)
    ]
    report_nothing(vague)


def test_every_package_and_module_says_what_it_is_for() -> None:
    silent = [name_of(path) for path in PYTHON_FILES if not contents_of(path).documented]
    report_nothing(silent)
    folders = {path.parent for path in PACKAGE_FILES}
    report_nothing([name_of(folder) for folder in folders if not (folder / "__init__.py").exists()])


def test_every_rust_file_says_what_it_is_for() -> None:
    rust = [path for path in CODE_FILES if path.suffix == ".rs" and "/src/" in str(path)]
    report_nothing([name_of(path) for path in rust if not text_of(path).startswith("//!")])


def test_pure_packages_touch_nothing() -> None:
    pure = [
        path for path in PACKAGE_FILES if path.relative_to(PROJECT / "python" / "drivelab").parts[0] in PURE_PACKAGES
    ]
    report_nothing([f"{place} {call}" for path in pure for place, call in contents_of(path).effects])


def is_effect(call: ast.Call) -> bool:
    """Whether a call does I/O, reads the clock, or draws random numbers without a seed."""
    if isinstance(call.func, ast.Name):
        return call.func.id in EFFECTS
    if isinstance(call.func, ast.Attribute) and call.func.attr == "default_rng":
        return not call.args and not call.keywords
    return isinstance(call.func, ast.Attribute) and call.func.attr in EFFECT_METHODS


def test_only_run_and_trace_import_the_engine() -> None:
    importers = {
        path.relative_to(PROJECT / "python" / "drivelab").parts[0]
        for path in PACKAGE_FILES
        if re.search(r"(from|import) drivelab\._engine|from drivelab import .*_engine", text_of(path))
    }
    assert importers <= {"run", "trace"}


def test_the_engine_crate_knows_nothing_of_python() -> None:
    manifest = tomllib.loads((PROJECT / "crates/drivelab-engine/Cargo.toml").read_text())
    dependencies = {**manifest.get("dependencies", {}), **manifest.get("dev-dependencies", {})}
    assert not [name for name in dependencies if name.startswith(("pyo3", "arrow"))]


def test_one_version_stands_everywhere() -> None:
    package = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    crates = tomllib.loads((PROJECT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    assert {package, crates} == {__version__}


def test_every_tool_that_a_test_needs_has_a_package() -> None:
    from system_packages import GOALS

    needed = {
        name
        for path in PYTHON_FILES
        for arguments in re.findall(r"mark\.needs_tool\(([^)]*)\)", text_of(path))
        for name in re.findall(r"\"([\w.-]+)\"", arguments)
    }
    assert needed - {tool.program for tool in GOALS["test"]} == set()
