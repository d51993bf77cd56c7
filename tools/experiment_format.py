"""Writes what is made from the formats of experiments, needs and hosts: JSON Schemas, and the tables of their pages."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
DOCS = PROJECT / "docs"
_NAMES = ("write-an-experiment.md", "ask-for-your-own-limits.md", "measure-many-hosts.md")
PAGES = [DOCS / "how-to" / name for name in _NAMES]
sys.path.insert(0, str(PROJECT / "python"))

from drivelab.experiments.keys import KEYS, Key  # noqa: E402
from drivelab.experiments.schema import experiment_schema  # noqa: E402
from drivelab.fleet.hosts_format import KEYS as KEYS_OF_HOSTS  # noqa: E402
from drivelab.model.filesystem_options import MKFS_OPTIONS, MOUNT_OPTIONS  # noqa: E402
from drivelab.needs.keys import KEYS as KEYS_OF_NEEDS  # noqa: E402
from drivelab.needs.keys import need_schema  # noqa: E402

_TABLE = re.compile(r"(<!-- keys of (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
_OPTIONS = re.compile(r"(<!-- options of file systems -->\n).*?(<!-- end -->)", re.DOTALL)


def made_files() -> dict[Path, str]:
    """What every file shall hold."""
    schemas = {"experiment": experiment_schema(), "need": need_schema()}
    texts = {name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n" for name, schema in schemas.items()}
    return {DOCS / f"{name}.schema.json": text for name, text in texts.items()} | {
        page: page_text(page.read_text()) for page in PAGES
    }


def page_text(page: str) -> str:
    """A page with its tables as the lists of keys and of options have them."""
    known = KEYS | KEYS_OF_NEEDS | KEYS_OF_HOSTS
    page = _TABLE.sub(lambda found: f"{found[1]}{key_table(known[found[2]])}{found[3]}", page)
    return _OPTIONS.sub(lambda found: f"{found[1]}{option_table()}{found[2]}", page)


def option_table() -> str:
    """What options file systems may have, in Markdown; types with the same options share their rows."""
    rows = ["| | option | values |", "|---|---|---|"]
    for options in {id(options): options for options in MKFS_OPTIONS.values()}.values():
        types = [name for name, others in MKFS_OPTIONS.items() if others is options]
        title = ", ".join(f"mkfs.{name}" for name in types)
        for names, takes in options.items():
            rows.append(f"| {title} | {_code(names)} | {_code(takes)} |")
            title = ""
        rows.append(f"| mount {', '.join(types)} | `-o` | {_code(MOUNT_OPTIONS[types[0]])} |")
    return "\n".join([*rows, ""])


def _code(words: str) -> str:
    """Words as code; a bar would end the cell."""
    return " ".join(f"`{word}`" for word in words.split()).replace("|", "\\|")


def key_table(keys: dict[str, Key]) -> str:
    """A table of keys, in Markdown."""
    rows = [f"| `{name}` | {key.takes} | {_default(key)} | {key.meaning} |" for name, key in keys.items()]
    return "\n".join(["| key | takes | default | meaning |", "|---|---|---|---|", *rows, ""])


def _default(key: Key) -> str:
    if key.is_required:
        return "required"
    return f"`{key.default}`" if key.default else ""


def main() -> int:
    """Write the files, or with ``--check`` only say whether they are up to date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    stale = []
    for path, text in made_files().items():
        if is_check and (not path.exists() or path.read_text() != text):
            stale.append(str(path.relative_to(PROJECT)))
        elif not is_check:
            path.write_text(text)
    if stale:
        print(f"out of date: {', '.join(stale)}: make docs", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
