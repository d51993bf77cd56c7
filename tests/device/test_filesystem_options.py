"""Options of mkfs and mount: what is listed works, and nothing else ever reaches another device or file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from device.program import Drivelab
from drivelab.cli.main import run
from drivelab.inventory.mounts import read_mounts
from drivelab.model.errors import DrivelabError
from drivelab.model.factor import FileSystemLevel
from drivelab.model.filesystem_options import MKFS_OPTIONS
from drivelab.run.filesystem_on_target import FileSystemOnTarget
from drivelab.state.filesystem import MOUNT_PARENT, make_filesystem, mount_filesystem, undo_mount
from drivelab.state.journal import Journal, begin_journal
from drivelab.state.programs import run_program
from drivelab.state.scratch import make_sparse_scratch
from drivelab.state.undo import undo, undo_all
from hostile_options import MKFS_REFUSED, MOUNT_REFUSED

MakeLoopDevice = Callable[..., Path]
SIZE = 512 * 2**20
EXT = ("ext2", "ext3", "ext4")
TOOLS = ("losetup", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mkfs.f2fs")
pytestmark = [pytest.mark.needs_root, pytest.mark.needs_tool(*TOOLS)]

# every option of mkfs is in one of these, with words of every kind
MKFS_WORKS: dict[str, list[list[str]]] = {
    "ext4": [
        ["-E", "nodiscard,lazy_itable_init=0,lazy_journal_init=0"],
        ["-qb4096", "-E", "stride=16,stripe_width=64,resize=1g,packed_meta_blocks=1", "-J", "size=16", "-m", "0.5"],
        ["-vDjK", "-i8192", "-I", "256", "-G", "8", "-r1", "-e", "remount-ro"],
        ["-O", "^has_journal,^resize_inode,^64bit", "-N", "4096", "-g", "8192"],
        ["-O", "bigalloc", "-C", "64k"],
        ["-O", "inline_data,sparse_super2,large_dir", "-E", "num_backup_sb=1", "-T", "largefile,small"],
    ],
    "xfs": [
        ["-K", "-d", "agcount=4,su=64k,sw=2", "-l", "size=64m,lazy-count=1,su=64k"],
        ["-qf", "-b", "size=1024", "-m", "crc=1,finobt=1,rmapbt=1,reflink=1,bigtime=1,inobtcount=1"],
        ["-i", "size=512,maxpct=10,attr=2", "-nsize=8192,version=2", "-s", "size=4096"],
    ],
    "btrfs": [
        ["-K"],
        [
            "-fq",
            "-d",
            "single",
            "-mdup",
            "-n",
            "16k",
            "-s4096",
            "--csum=xxhash",
            "-O",
            "extref,no-holes",
            "-R",
            "quota",
        ],
        ["-vM", "-b", "256m"],
    ],
    "f2fs": [
        ["-a", "0", "-iq", "-o", "10", "-s2", "-z1", "-t0", "-w", "512", "-f"],
        ["-O", "extra_attr,inode_checksum,sb_checksum,compression"],
    ],
}
# made, and mounted only by kernels that were built for it
MADE = {
    "ext4": ["-O", "quota,project,casefold"],
    "xfs": ["-m", "crc=0"],
    "btrfs": ["-O", "^no-holes,^skinny-metadata"],
    "f2fs": ["-O", "encrypt"],
}
# what a kernel of today takes; the others of the list are for other versions, builds and drives
MOUNT_WORKS: dict[str, list[str]] = {
    "ext4": [
        *("noatime,lazytime,nodiratime", "data=writeback", "data=journal", "data=ordered", "commit=60", "nobarrier"),
        *(
            "discard",
            "nodiscard",
            "data=writeback,journal_async_commit",
            "journal_checksum",
            "stripe=16",
            "init_itable=5",
            "nodelalloc",
        ),
        *(
            "dioread_nolock",
            "noauto_da_alloc",
            "errors=remount-ro",
            "max_batch_time=0,min_batch_time=0",
            "sync,dirsync",
        ),
    ],
    "xfs": [
        *("discard", "logbufs=8,logbsize=256k", "allocsize=1m", "inode32", "largeio", "wsync", "nouuid", "swalloc"),
        *("noquota", "filestreams", "noalign"),
    ],
    "btrfs": [
        *("nobarrier", "compress=zstd:3", "compress-force=lzo", "ssd", "nossd", "nodatacow", "nodatasum", "autodefrag"),
        *("commit=5", "discard=async", "discard=sync", "flushoncommit", "notreelog", "space_cache=v2", "thread_pool=2"),
    ],
}


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    begun = begin_journal(tmp_path / "journals")
    yield begun
    undo_all(begun)
    begun.close()


@pytest.fixture
def device(journal: Journal) -> str:
    """A sparse scratch drive."""
    return make_sparse_scratch(SIZE, 64 * 2**20, journal)


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def mounts_of(device: str) -> list[str]:
    """Where drivelab has mounted a device, whatever the kernel calls it; others may run beside this test."""
    begin = f"{MOUNT_PARENT}/{Path(device).name}-"
    return [mount.mount_point for mount in read_mounts() if mount.mount_point.startswith(begin)]


def level_of(filesystem: str, mkfs: list[str], mount: list[str]) -> FileSystemLevel:
    return FileSystemLevel(type=filesystem, name="x", mkfs_options=tuple(mkfs), mount_options=tuple(mount))


@pytest.mark.parametrize("filesystem", MKFS_WORKS)
def test_every_option_of_mkfs_that_is_listed_works(filesystem: str, device: str, journal: Journal) -> None:
    used = {"-" + letter for words in MKFS_WORKS[filesystem] for word in words for letter in word[1:] if word[0] == "-"}
    used |= {word.partition("=")[0] for words in MKFS_WORKS[filesystem] for word in words if word.startswith("--")}
    assert all(used & set(names.split()) for names in MKFS_OPTIONS[filesystem])
    has_driver = filesystem in Path("/proc/filesystems").read_text()
    for words in (*MKFS_WORKS[filesystem], MADE[filesystem]):
        level = level_of(filesystem, words, [])
        if has_driver and words != MADE[filesystem]:
            on_target = FileSystemOnTarget(journal)
            mounted = on_target.bring(device, level)
            (mounted.mount_point / "file").write_text("x")
            on_target.take_away()
        else:
            made = make_filesystem(device, level, journal)
            assert f'TYPE="{filesystem}"' in run_program(["blkid", "-p", device])
            assert undo(made, journal).startswith("wiped")


@pytest.mark.parametrize("filesystem", MOUNT_WORKS)
def test_what_one_mounts_with_works(filesystem: str, device: str, journal: Journal) -> None:
    on_target = FileSystemOnTarget(journal)
    for option in MOUNT_WORKS[filesystem]:
        mounted = on_target.bring(device, level_of(filesystem, [], [option]))
        (mounted.mount_point / "file").write_text(option)
    assert mounts_of(device) == [str(mounted.mount_point)]
    on_target.take_away()


def hostile_levels(canary: Path, file: Path) -> list[str]:
    """Every way to name another device or file, with a device and a file that are there."""

    def named(text: str) -> str:
        return text.replace("/dev/loop1", str(canary)).replace("/etc/passwd", str(file)).replace("/etc/undo", str(file))

    levels = []
    for filesystem, several in MKFS_REFUSED.items():
        for options in several:
            words = json.dumps([named(word) for word in options])
            levels.append(f'{{ type = "{filesystem}", mkfs_options = {words} }}')
    for filesystem, several in MOUNT_REFUSED.items():
        for option in (*several, "loop", "offset=0", "x-systemd.requires=/dev/loop1", "X-mount.mkdir", "helper=x"):
            levels.append(f'{{ type = "{filesystem}", mount_options = [{json.dumps(named(option))}] }}')
    return levels


def test_no_option_changes_a_device_or_file_that_was_not_named(
    make_loop_device: MakeLoopDevice,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    target, canary, file = make_loop_device(), make_loop_device(), tmp_path / "file.txt"
    file.write_bytes(b"owner's" * 1000)
    for name in ("XDG_STATE_HOME", "DRIVELAB_RUNS", "DRIVELAB_SCRATCH"):
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "DRIVELAB_SCRATCH").mkdir()
    before = {path: digest(path) for path in (target, canary, file)}
    experiment = tmp_path / "own.toml"
    for level in hostile_levels(canary, file):
        head = 'format = 1\nname = "own"\nquestion = "q?"\n[[factors]]\nsetting = "filesystem"\n'
        experiment.write_text(f'{head}levels = [{level}]\n[[workloads]]\nname = "log"\nfile_size = "1MiB"\ncount = 1\n')
        for command in (["plan"], ["run", "--erase", target.name]):
            assert run([command[0], str(experiment), str(target), *command[1:]]) == 2, level
            assert "error[P713] factors.1.levels.1.m" in capsys.readouterr().err, level
    assert {path: digest(path) for path in (target, canary, file)} == before
    assert not (tmp_path / "DRIVELAB_RUNS").exists()
    assert not list((tmp_path / "DRIVELAB_SCRATCH").iterdir())


@pytest.mark.provokes("R404")
def test_a_mount_of_something_else_is_taken_back_at_once(
    device: str, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_filesystem(device, level_of("ext4", ["-Enodiscard"], []), journal)
    monkeypatch.setattr("drivelab.state.filesystem.require_listed_options", lambda *_, **__: None)
    through_a_second_loop = FileSystemLevel.model_construct(type="ext4", name="x", mount_options=("loop",))
    changes = journal.outstanding
    with pytest.raises(DrivelabError) as refused:
        mount_filesystem(device, through_a_second_loop, journal)
    assert (refused.value.code, "ext4 of /dev/loop" in refused.value.what) == ("R404", True)
    assert (journal.outstanding, mounts_of(device)) == (changes, [])


def test_a_file_system_that_is_not_the_one_asked_for_is_an_error(
    device: str, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Above all where mkfs made nothing: an older one must not be measured in its place."""
    run_program(["mkfs.ext4", "-q", "-F", device])
    monkeypatch.setattr("drivelab.state.filesystem.require_listed_options", lambda *_, **__: None)
    nothing = FileSystemLevel.model_construct(type="ext4", name="x", mkfs_options=("-n",))
    with pytest.raises(DrivelabError) as refused:
        make_filesystem(device, nothing, journal)
    assert (refused.value.code, refused.value.what.endswith("there is none")) == ("R404", True)


@pytest.mark.parametrize("before", ["btrfs", "xfs", "ext4", "f2fs"])
@pytest.mark.parametrize("filesystem", ["ext4", "xfs", "btrfs", "f2fs"])
def test_what_was_there_before_does_not_hide_what_is_made(
    filesystem: str, before: str, device: str, journal: Journal
) -> None:
    """Two signatures on one device would be none to whoever looks, and ours would stay there after the run."""
    run_program([f"mkfs.{before}", "-q", "-F" if before == "ext4" else "-f", device])
    made = make_filesystem(device, level_of(filesystem, [], []), journal)
    assert undo(made, journal).startswith(f"wiped the {filesystem} file system")
    assert run_program(["wipefs", "--no-act", device]) == ""


def test_what_lies_on_our_mount_point_is_unmounted_whatever_the_kernel_calls_it(
    device: str, journal: Journal, tmp_path: Path
) -> None:
    """As with a loop device that mount put in between, or a device by another name."""
    run_program(["mkfs.ext4", "-q", "-F", device])
    mount_point = MOUNT_PARENT / f"{Path(device).name}-ext4-00000000"
    change = journal.will_change("mount", mount_point=str(mount_point), device=device)
    mount_point.mkdir(parents=True)
    run_program(["mount", "-o", "loop", device, str(mount_point)])
    assert mounts_of(device) == [str(mount_point)]
    assert undo_all(journal)[0] == f"unmounted {mount_point}"
    assert change not in journal.outstanding
    assert (mounts_of(device), mount_point.exists()) == ([], False)


@pytest.mark.provokes("R406")
@pytest.mark.parametrize("place", ["{other}", f"{MOUNT_PARENT}/../..{{other}}", f"{MOUNT_PARENT}/..", "/"])
def test_a_mount_point_of_others_is_never_unmounted(mount_filesystem: Callable[..., Path], place: str) -> None:
    other = mount_filesystem("ext4", size_bytes=16 * 2**20)
    source = next(mount.source for mount in read_mounts() if mount.mount_point == str(other))
    with pytest.raises(DrivelabError) as refused:
        undo_mount(place.format(other=other), source)
    assert refused.value.code == "R406"
    assert str(other) in {mount.mount_point for mount in read_mounts()}


MOUNTED_TWICE = """
format = 1
name = "mounted-twice"
question = "Does a mount option matter to reads?"
repeats = { full = 2 }

[[factors]]
setting = "filesystem"
levels = [
  { name = "plain", type = "ext4" },
  { name = "noatime", type = "ext4", mount_options = ["noatime"] },
]

[[workloads]]
name = "read"
operation = "read"
file_size = "1MiB"
count = 20

[[workloads]]
name = "stat"
operation = "stat"
file_count = 20
"""


def test_what_a_file_system_held_for_reads_is_gone_when_it_is_mounted_otherwise(
    drivelab: Drivelab, tmp_path: Path
) -> None:
    file = tmp_path / "twice.toml"
    file.write_text(MOUNTED_TWICE)
    answer = drivelab.run("run", str(file), "scratch:64MiB", "--json")
    document = json.loads(answer.stdout)
    assert document["failures"] == {}
    assert answer.returncode in (0, 4), answer.stderr
    assert drivelab.left_over() == []
