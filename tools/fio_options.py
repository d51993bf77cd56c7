"""Writes docs/fio_options.md, what becomes of fio's options and engines, from python/drivelab/interop/fio."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
PAGE = PROJECT / "docs" / "fio_options.md"
sys.path.insert(0, str(PROJECT / "python"))

from drivelab.interop.fio.engines import ENGINES, REFUSED  # noqa: E402
from drivelab.interop.fio.option import Option  # noqa: E402
from drivelab.interop.fio.options import OPTIONS  # noqa: E402

HEAD = """# fio's options and engines, and what becomes of them

Every option of a job file is reported in one of these ways, by `drivelab import JOBFILE` and by every run:

- **honoured**: as fio does it;
- **approximated**: something near it, which is said; `--strict` makes it an error;
- **noted**: it changes nothing that is measured, or drivelab does it always;
- **not honoured**: fio would do something that drivelab does not; `--strict` makes it an error;
- **unknown**: not in the list below; `--strict` makes it an error.

What stands here is what becomes of an option by itself. A value, an engine or another option can make it less; then the
line of the job file is told with the reason. A value that is fio's default is honoured, whatever the option is.
From fio's unit rules to what runs: [From fio to drivelab](how-to/fio.md).

This page is written by `make docs` from `python/drivelab/interop/fio`; change it there.
"""


def option_page() -> str:
    """The whole page, in Markdown."""
    topics = dict.fromkeys(option.topic for option in OPTIONS)
    parts = [HEAD]
    for topic in topics:
        parts.append(_options(topic, [option for option in OPTIONS if option.topic == topic]))
    return "\n".join([*parts, _engines(), _refused()])


def _options(topic: str, options: list[Option]) -> str:
    rows = [
        f"| {_names(option)} | {_default(option)} | {option.effect.replace('-', ' ')} | {_what(option)} |"
        for option in options
    ]
    return "\n".join([f"## {topic}", "", "| option | fio's default | | drivelab |", "|---|---|---|---|", *rows, ""])


def _names(option: Option) -> str:
    return ", ".join(f"`{name}`" for name in (option.name, *option.aliases))


def _default(option: Option) -> str:
    if not option.default:
        return ""
    return f"`{option.default}`" + (" us" if option.unit == "us" else " s" if option.unit == "s" else "")


def _what(option: Option) -> str:
    engines = f" ({', '.join(option.engines)})" if option.engines else ""
    return _cell(option.what + engines)


def _engines() -> str:
    rows = [
        f"| `{engine.name}` | {engine.tree_operation or engine.backend} | {engine.effect} | {_cell(engine.what)} |"
        for engine in ENGINES.values()
    ]
    return "\n".join(["## Engines", "", "| engine | becomes | | drivelab |", "|---|---|---|---|", *rows, ""])


def _refused() -> str:
    rows = [f"| `{name}` | {_cell(reason)} |" for name, reason in sorted(REFUSED.items())]
    head = ["## Engines that no drive lab has", "", "A job file that asks for one is refused (U034).", ""]
    return "\n".join([*head, "| engine | why |", "|---|---|", *rows, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    """Write the page, or with ``--check`` only say whether it is up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if not parser.parse_args().check:
        PAGE.write_text(option_page())
    elif not PAGE.exists() or PAGE.read_text() != option_page():
        print(f"{PAGE.relative_to(PROJECT)} is out of date: make docs", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
