"""What mkfs and mount may be asked for: nothing that names another device or file, however it is written."""

from __future__ import annotations

import getopt
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivelab.experiments.load import built_in_names, parse_experiment
from drivelab.model.errors import DrivelabError
from drivelab.model.factor import FileSystemLevel
from drivelab.model.filesystem_options import MKFS_OPTIONS, MOUNT_OPTIONS
from drivelab.model.option_rule import refused_mkfs_option, refused_mount_option, require_listed_options
from drivelab.run.filesystem_on_target import FileSystemOnTarget
from drivelab.state.filesystem import mount_filesystem
from drivelab.state.journal import begin_journal
from hostile_options import ACCEPTED, ANY_MOUNT_REFUSED, EXT, MKFS_REFUSED, MOUNT_REFUSED

TYPES = tuple(MKFS_OPTIONS)
# as the programs themselves have it: e2fsprogs 1.47, xfsprogs 6.1, btrfs-progs 6.2, f2fs-tools 1.15
_EXT_GETOPT = "b:cd:e:g:i:jl:m:no:qr:s:t:vC:DE:FG:I:J:KL:M:N:O:R:ST:U:Vz:"
GETOPT: dict[str, tuple[str, list[str]]] = {
    **dict.fromkeys(EXT, (_EXT_GETOPT, [])),
    "xfs": ("b:c:d:i:l:L:m:n:KNp:qr:s:CfV", []),
    "btrfs": (
        "A:b:fl:n:s:m:d:L:R:O:r:U:VvMKq",
        [
            *("byte-count=", "csum=", "checksum=", "leafsize=", "label=", "metadata=", "nodesize=", "sectorsize="),
            *("data=", "rootdir=", "features=", "runtime-features=", "uuid=", "force", "mixed", "nodiscard", "quiet"),
            *("verbose", "version", "shrink", "help"),
        ],
    ),
    "f2fs": ("qa:c:C:d:e:E:g:hil:mo:O:rR:s:S:z:t:T:U:Vfw:", []),
}


def experiment_of(levels: str, more: str = "") -> str:
    return f"""format = 1
name = "own"
question = "Whose drive is it?"

[[factors]]
setting = "filesystem"
levels = {levels}
{more}
[[workloads]]
name = "log"
count = 10
"""


def refusal(text: str) -> DrivelabError:
    with pytest.raises(DrivelabError) as refused:
        parse_experiment(text, "own.toml")
    return refused.value


@pytest.mark.provokes("P713")
@pytest.mark.parametrize(
    ("filesystem", "options"),
    [(name, options) for name, several in MKFS_REFUSED.items() for options in several],
    ids=lambda value: value if isinstance(value, str) else " ".join(value).encode("unicode_escape").decode(),
)
def test_an_option_of_mkfs_that_may_reach_beyond_the_target_is_refused(filesystem: str, options: list[str]) -> None:
    for each in EXT if filesystem == "ext4" else (filesystem,):
        error = refusal(
            experiment_of(f'["raw", {{ type = "{each}", name = "x", mkfs_options = {json.dumps(options)} }}]')
        )
        assert (error.code, error.where) == ("P713", "own.toml:7")
        assert error.what.startswith("factors.1.levels.2.mkfs_options.")
        assert "may have" in error.do


@pytest.mark.parametrize(
    ("filesystem", "option"),
    [
        *((name, option) for name, several in MOUNT_REFUSED.items() for option in several),
        *((name, option) for name in ("ext4", "xfs", "btrfs", "f2fs") for option in ANY_MOUNT_REFUSED),
    ],
)
def test_a_mount_option_that_may_reach_beyond_the_target_is_refused(filesystem: str, option: str) -> None:
    for each in EXT if filesystem == "ext4" else (filesystem,):
        level = f'{{ type = "{each}", mount_options = ["noatime", {json.dumps(option)}] }}'
        error = refusal(experiment_of(f"[{level}]"))
        assert (error.code, error.where) == ("P713", "own.toml:7")
        assert error.what.startswith("factors.1.levels.1.mount_options.2: ")
        assert error.do.startswith(f"{each} may be mounted with a")


def test_a_level_of_a_mount_is_held_against_every_file_system_it_is_for() -> None:
    mount = '\n[[factors]]\nsetting = "mount"\nlevels = ["noatime", { name = "all", options = ["discard", "%s"] }]\n'
    error = refusal(experiment_of('["raw", "ext4"]', mount % "journal_path=x"))
    assert (error.code, error.where) == ("P713", "own.toml:11")
    assert error.what.startswith("factors.2.levels.2.options.2: 'journal_path=x' ")
    error = refusal(experiment_of('["ext4", "xfs"]', mount % "commit=5"))
    assert error.what.startswith("factors.2.levels.2.options.2: 'commit=5' is not one of the mount options of xfs")
    error = refusal(experiment_of('["ext4"]', '\n[[factors]]\nsetting = "mount"\nlevels = ["noatime", "loop"]\n'))
    assert (error.code, error.what.partition(":")[0]) == ("P713", "factors.2.levels.2")
    assert parse_experiment(experiment_of('["raw", "ext4", "ext3"]', mount % "commit=5"), "own.toml")


@pytest.mark.parametrize(("filesystem", "mkfs", "mount"), ACCEPTED)
def test_what_touches_the_target_alone_is_taken(filesystem: str, mkfs: list[str], mount: list[str]) -> None:
    require_listed_options(filesystem, mkfs, mount)
    level = FileSystemLevel(type=filesystem, name="x", mkfs_options=tuple(mkfs), mount_options=tuple(mount))
    assert level.mkfs_options == tuple(mkfs)


@pytest.mark.parametrize("options", [{"mkfs_options": ("-J", "device=/dev/loop1")}, {"mount_options": ("loop",)}])
def test_no_option_reaches_a_program_by_any_other_way(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A level that nobody validated, as from a plan of another version."""
    level = FileSystemLevel.model_construct(
        type="ext4", name="x", **{"mkfs_options": (), "mount_options": (), **options}
    )
    started: list[list[str]] = []
    monkeypatch.setattr("drivelab.state.filesystem.run_program", lambda command, *_: started.append(command))
    journal = begin_journal(tmp_path)
    make = FileSystemOnTarget(journal).bring if level.mkfs_options else partial(mount_filesystem, journal=journal)
    with pytest.raises(DrivelabError) as refused:
        make("/dev/null", level)
    assert (refused.value.code, started, journal.outstanding) == ("P713", [], ())
    journal.close()


def test_the_lists_hold_nothing_that_could_be_a_path() -> None:
    listed = [words for options in MKFS_OPTIONS.values() for item in options.items() for words in item]
    assert not [words for words in (*listed, *MOUNT_OPTIONS.values()) if set(words) & set("/\\\"'$~*?")]
    for filesystem, options in MKFS_OPTIONS.items():
        short, long = GETOPT[filesystem]
        for name in (name for names in options for name in names.split()):
            takes_value = bool(
                {**{words: options[words] for words in options}}[next(n for n in options if name in n.split())]
            )
            known = f"{name[2:]}{'=' * takes_value}" in long if name.startswith("--") else name[1] in short
            assert known, f"mkfs.{filesystem} has {name}"
            if not name.startswith("--"):
                assert (f"{name[1]}:" in short) == takes_value, f"mkfs.{filesystem} {name} takes a value or none"


def test_built_in_experiments_and_the_file_systems_of_explain_pass() -> None:
    from drivelab.cli.explain_options import FILE_SYSTEMS

    assert built_in_names()
    for filesystem, options in FILE_SYSTEMS.items():
        FileSystemLevel(type=filesystem, name="x", **{key: tuple(value) for key, value in options.items()})


def written(word: str) -> str:
    """An option as one would write it, from how it is listed."""
    word = word.removeprefix("[^]").replace("[=", "=").replace("]", "")
    return word.replace("SIZE", "64k").replace("PERCENT", "1").replace("N", "4").partition("|")[0]


HOSTILE_VALUES = (
    "/dev/loop1",
    "device=/dev/loop1",
    "logdev=x",
    "rtdev=x",
    "name=x",
    "file",
    "uuid=x",
    "offset=4",
    "a/b",
)
HOSTILE_WORDS = (
    "/dev/loop1",
    "x",
    "-",
    "--",
    "-J",
    "-l",
    "-r",
    "-z",
    "-d",
    "-U",
    "-c",
    "-L",
    "-p",
    "--rootdir",
    "--uuid=x",
)


@st.composite
def typed_options(draw: st.DrawFn) -> tuple[str, list[str]]:
    """Options of a type as they may be written, together or apart, now and then with something else among them."""
    filesystem = draw(st.sampled_from(TYPES))
    words: list[str] = []
    flags = [(name, takes) for names, takes in MKFS_OPTIONS[filesystem].items() for name in names.split()]
    for name, takes in draw(st.lists(st.sampled_from(flags), max_size=4)):
        value = ""
        if takes:
            values = st.sampled_from([written(word) for word in takes.split()])
            value = ",".join(draw(st.lists(values, min_size=1, max_size=3)))
            if draw(st.integers(0, 7)) == 0:
                value += draw(
                    st.sampled_from([f",{each}" for each in HOSTILE_VALUES] + [*HOSTILE_VALUES, ",", "/", "="])
                )
        is_apart = bool(value) and draw(st.booleans())
        joint = "=" if value and name.startswith("--") else ""
        last = words[-1] if words else ""
        if last.startswith("-") and not last.startswith("--") and not name.startswith("--") and draw(st.booleans()):
            # in a cluster with what stands before it, which may make it a part of that one's value
            words[-1] += name[1:] if is_apart else f"{name[1:]}{value}"
        else:
            words.append(name if is_apart else f"{name}{joint}{value}")
        words += [value] if is_apart else []
    if draw(st.integers(0, 3)) == 0:
        words.insert(
            draw(st.integers(0, len(words))), draw(st.one_of(st.sampled_from(HOSTILE_WORDS), st.text(max_size=5)))
        )
    return filesystem, words


@given(typed=typed_options())
def test_what_is_accepted_holds_no_path_and_reads_alike_to_getopt(typed: tuple[str, list[str]]) -> None:
    filesystem, words = typed
    if refused_mkfs_option(filesystem, words) is not None:
        return
    short, long = GETOPT[filesystem]
    found, others = getopt.gnu_getopt([*words, "/dev/target"], short, long)
    assert others == ["/dev/target"]
    known = {name for names in MKFS_OPTIONS[filesystem] for name in names.split()}
    assert {name for name, _ in found} <= known
    assert not [value for _, value in found if set(value) & set("/\\\"' \t\n") or value.startswith("-")]
    parts = {part.partition("=")[0] for _, value in found for part in value.split(",")}
    assert not parts & {
        "device",
        "logdev",
        "rtdev",
        "name",
        "file",
        "uuid",
        "offset",
        "options",
        "journal_dev",
        "list-all",
    }


_MOUNT_PIECES = st.sampled_from(
    [
        *'/=,:" ',
        *(word.partition("=")[0].rstrip("[") for words in MOUNT_OPTIONS.values() for word in words.split()),
        *("loop", "device", "journal_path", "logdev", "x-systemd", "offset", "4", "5", "noatime", "ordered", "data="),
    ]
)


@given(filesystem=st.sampled_from(TYPES), words=st.lists(st.lists(_MOUNT_PIECES, max_size=5).map("".join), max_size=3))
def test_mount_options_that_are_accepted_hold_no_path_and_no_quotes(filesystem: str, words: list[str]) -> None:
    if refused_mount_option(filesystem, words) is not None:
        return
    joined = ",".join(words)
    assert not set(joined) & set("/\"'\\ \t\n")
    names = {word.partition("=")[0].rstrip("[") for word in MOUNT_OPTIONS[filesystem].split()}
    assert {part.partition("=")[0] for part in joined.split(",") if part} <= names
