"""The pages as tests: links lead somewhere, command lines are understood, and no flag is left out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

from drivelab.cli.catalogue import BY_NAME, command_of
from drivelab.cli.io_options import DEFAULTS, IoOptions
from drivelab.cli.io_workload import workload_from
from drivelab.cli.main import build_program, with_optional_values
from drivelab.experiments.load import built_in_names
from drivelab.model.errors import KINDS
from drivelab.model.units import parse_bytes
from drivelab.needs.load import NEED_NAMES, load_need
from drivelab.simulated.load import load_model

PROJECT = Path(__file__).resolve().parents[2]
DOCS = PROJECT / "docs"
INDEX = DOCS / "index.md"
PAGES = sorted([*PROJECT.glob("*.md"), *DOCS.rglob("*.md")])
PICTURE_BYTES_MAX = 300_000
FIGURE_BYTES_MAX = 150_000

FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
ELSEWHERE = ("http://", "https://", "mailto:")


def ids(paths: list[Path]) -> list[str]:
    """Paths as people write them."""
    return [str(path.relative_to(PROJECT)) for path in paths]


def links_of(page: Path) -> list[str]:
    """Where the links and pictures of a page point, within the project."""
    return [link for link in LINK.findall(FENCE.sub("", page.read_text())) if not link.startswith(ELSEWHERE)]


def anchors_of(page: Path) -> set[str]:
    """The names that a page's headings can be linked by."""
    words = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(FENCE.sub("", page.read_text()))]
    return {word.strip().replace(" ", "-") for word in words}


def command_lines(text: str) -> Iterator[str]:
    """Every complete ``drivelab`` command line of a page: lines of code blocks, and code within sentences."""
    for block in FENCE.findall(text):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(r"\s*(?:\$ |- run: |run: )?(?:sudo )?(drivelab .+)", line)
            if found:
                yield re.split(r"\s+(?:#|>|\||&&|\|\||;)", found[1])[0]
    for code in INLINE_CODE.findall(FENCE.sub("", text)):
        if code.startswith("drivelab "):
            yield code


@cache
def options_of_io() -> dict[str, Any]:
    """What the program's own parser knows about ``drivelab io``, by flag."""
    command = typer.main.get_command(build_program("io")).commands["io"]  # type: ignore[attr-defined]
    return {option.opts[-1]: option for option in command.params if option.param_type_name == "option"}


def parse(line: str) -> None:
    """Let the program's parser read a command line, and check the names that it leaves to the command."""
    name, *arguments = shlex.split(line)[1:]
    if name in ("--version", "--help", "--show-completion", "COMMAND"):
        return
    assert name in BY_NAME, f"no command '{name}'"
    if not arguments:
        # a command that is only mentioned
        return
    chosen = command_of([name, *arguments])
    assert chosen is not None
    command: Any = typer.main.get_command(build_program(chosen.name))
    for word in chosen.name.split():
        command = command.commands[word]
    arguments = arguments[len(chosen.name.split()) - 1 :]
    typed = command.make_context(name, with_optional_values(arguments) if name == "report" else arguments).params
    if name == "io":
        options = {name: typed[name] for name in DEFAULTS}
        workload_from(IoOptions(**options))
    need = typed.get("need_name")
    if name == "check" and need not in (None, "NAME", "NEED") and not need.endswith(".toml"):
        load_need(need)
    if name in ("plan", "run"):
        assert typed["experiment"] in built_in_names() or typed["experiment"].endswith((".toml", ".fio"))
        for target in typed["targets"]:
            if target.startswith("scratch:"):
                parse_bytes(target.removeprefix("scratch:"))
    if name == "errors":
        assert typed["code"] in (*KINDS, "CODE")


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_every_link_leads_somewhere(page: Path) -> None:
    broken = []
    for link in links_of(page):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or not target.is_relative_to(PROJECT):
            broken.append(link)
        elif anchor and anchor not in anchors_of(target):
            broken.append(f"{link}: no such heading")
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=ids(PAGES))
def test_every_command_line_is_understood(page: Path) -> None:
    for line in command_lines(page.read_text()):
        try:
            parse(line)
        except Exception as error:
            pytest.fail(f"{line}\n{error}", pytrace=False)


def test_command_lines_are_found_where_people_write_them() -> None:
    text = "Run `drivelab drives`.\n```console\n$ sudo drivelab check . | tee x\n$ drivelab io f \\\n    --once\n```\n"
    assert list(command_lines(text)) == ["drivelab check .", "drivelab io f      --once", "drivelab drives"]


def test_every_page_is_reached_from_the_index() -> None:
    reached, open_pages = set(), [INDEX]
    while open_pages:
        page = open_pages.pop()
        if page in reached:
            continue
        reached.add(page)
        linked = [(page.parent / link.partition("#")[0]).resolve() for link in links_of(page)]
        open_pages += [path for path in linked if path.suffix == ".md" and path.exists()]
    assert set(ids(list(DOCS.rglob("*.md")))) <= set(ids(sorted(reached)))


def test_the_readme_leads_to_the_index() -> None:
    assert "docs/index.md" in links_of(PROJECT / "README.md")


def test_every_test_that_the_page_on_safety_names_is_there() -> None:
    named = re.findall(r"`(tests/[\w/]+)(?:\.py)?`", (DOCS / "safety.md").read_text())
    assert len(named) > 10
    assert [name for name in named if not (PROJECT / f"{name}.py").is_file()] == []


def test_every_need_stands_on_its_page_and_where_one_chooses() -> None:
    assert set(NEED_NAMES) <= set(re.findall(r"^## `([\w-]+)`$", (DOCS / "needs.md").read_text(), re.MULTILINE))
    choice = next(line for line in (DOCS / "check.md").read_text().splitlines() if line.startswith("| `--for NEED`"))
    assert set(NEED_NAMES) <= set(INLINE_CODE.findall(choice))


def test_the_page_about_io_has_every_flag_in_its_group_with_its_default() -> None:
    documented = {}
    for section in re.split(r"^## ", (DOCS / "io.md").read_text(), flags=re.MULTILINE)[1:]:
        group = section.partition("\n")[0]
        rows = re.findall(r"^\| `(--[\w-]+)[^|]*\|(?:[^|]*\|){2} *([^|]*?) *\|$", section, re.MULTILINE)
        documented |= {flag: (group, default.strip("`")) for flag, default in rows}
    known = {
        flag: (option.rich_help_panel, shown_default(option))
        for flag, option in options_of_io().items()
        if flag != "--help"
    }
    assert documented == known


def shown_default(option: Any) -> str:
    """A default as the page writes it; what the program decides by itself stands in the meaning."""
    if option.is_flag:
        return "off"
    return "" if option.default in (None, "") or option.multiple else str(option.default)


def test_pictures_are_small_and_are_shown() -> None:
    pictures = [path for path in (DOCS / "images").rglob("*") if path.is_file()]
    shown = {(page.parent / link).resolve() for page in PAGES for link in links_of(page)}
    assert set(pictures) <= shown
    assert all(path.stat().st_size < PICTURE_BYTES_MAX for path in pictures)


@pytest.mark.parametrize("name", built_in_names())
def test_every_experiment_shows_the_figure_of_a_real_run(name: str) -> None:
    page, figure = DOCS / "experiments" / f"{name}.md", DOCS / "images" / "experiments" / f"{name}.svg"
    assert figure in [(page.parent / link).resolve() for link in links_of(page)]
    assert figure.stat().st_size < FIGURE_BYTES_MAX
    # a figure tells of a drive, and of nobody's directories
    assert not re.search(r"/(tmp|root|home|run|var)/", figure.read_text())


def test_the_simulated_drive_of_the_page_is_one(tmp_path: Path) -> None:
    text = (DOCS / "simulated_drives.md").read_text(encoding="utf-8")
    (model,) = (
        block for block in re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if "size" in block
    )
    (tmp_path / "drive.toml").write_text(model, encoding="utf-8")
    found = load_model(f"sim:{tmp_path}/drive.toml")
    assert found.flash is not None
    assert (found.title, found.size, found.flash.units) == ("small SSD of my own", 1 << 30, 8)
