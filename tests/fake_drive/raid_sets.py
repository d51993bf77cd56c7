"""A made-up kernel with RAID sets: what mdadm and wipefs do to its files, superblocks included."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path

from drivelab.inventory.system_paths import SystemPaths
from drivelab.model.errors import DrivelabError
from drivelab.state.journal import Journal

_SUPERBLOCK_AT, _MAGIC = 4096, bytes.fromhex("fc4e2ba9")


class FakeRaidSets:
    """The drives ``sda``, ``sdb`` ... in a directory, and the RAID sets that are made of them.

    Parameters
    ----------
    root : Path
        Where the tree lies.
    count : int
        How many drives there are.

    Attributes
    ----------
    commands : list of list of str
        Every program that was run.
    broken : dict of str to str
        Attributes of ``md/`` that come out other than asked.
    failing : str
        A program or option that fails.
    is_assembled_again : bool
        Whether udev puts a set together again right after it was stopped, once.
    """

    def __init__(self, root: Path, count: int = 4) -> None:
        self.paths = SystemPaths(sys=root / "sys", proc=root / "proc", dev=root / "dev", root=root)
        self.commands: list[list[str]] = []
        self.broken: dict[str, str] = {}
        self.failing = ""
        self.is_assembled_again = False
        for directory in ("dev/md", "sys/class/block", "sys/module/md_mod", "proc/sys/kernel/random"):
            (root / directory).mkdir(parents=True)
        for module in ("raid0", "raid1", "raid456", "raid10"):
            (root / "sys/module" / module).mkdir()
        self.start_again("boot-1")
        self.drives = [self.paths.dev / f"sd{'abcdefgh'[place]}" for place in range(count)]
        for drive in self.drives:
            drive.write_bytes(bytes(3 * 4096))
            block = self._block(drive.name)
            (block / "holders").mkdir(parents=True)
            (block / "size").write_text("24")

    def start_again(self, boot: str) -> None:
        """Have another boot, in which nothing runs."""
        (self.paths.proc / "sys/kernel/random/boot_id").write_text(boot)
        for name in self.arrays:
            self._remove(name)

    @property
    def arrays(self) -> list[str]:
        """Kernel names of the sets that run."""
        return sorted(path.name for path in (self.paths.sys / "class/block").glob("md*"))

    def superblocks(self) -> list[str]:
        """Names of the drives that carry a superblock."""
        return [drive.name for drive in self.drives if drive.read_bytes()[_SUPERBLOCK_AT:][:4] == _MAGIC]

    def rename(self, old: str, new: str) -> None:
        """Give a drive another name, as a computer may when it starts."""
        (self.paths.dev / old).rename(self.paths.dev / new)
        self._block(old).rename(self._block(new))
        self.drives = [drive if drive.name != old else drive.with_name(new) for drive in self.drives]

    def set_attribute(self, array: str, name: str, text: str) -> None:
        """Change a file below ``md/``."""
        (self._block(array) / "md" / name).write_text(text)

    def assemble(self, array: str, identifier: uuid.UUID, level: str, members: Sequence[Path]) -> None:
        """Have a set run."""
        directory = self._block(array) / "md"
        (directory / "bitmap").mkdir(parents=True)
        texts = {
            "level": level,
            "raid_disks": str(len(members)),
            "uuid": str(identifier),
            "array_state": "clean",
            "degraded": "0",
            "sync_action": "idle",
            "layout": "2" if level in ("raid5", "raid6") else "258",
            "chunk_size": "524288",
            "metadata_version": "1.2",
            "consistency_policy": "resync",
            "bitmap/location": "none",
        } | self.broken
        texts |= {"stripe_cache_size": "256"} if level in ("raid5", "raid6") else {}
        for name, text in texts.items():
            (directory / name).write_text(text)
        (self._block(array) / "size").write_text("40")
        for member in members:
            link = self._block(array) / "slaves" / member.name
            link.mkdir(parents=True)
            (self._block(member.name) / "holders" / array).mkdir(exist_ok=True)

    def run_program(self, command: Sequence[str], journal: Journal | None = None, *, timeout_s: float = 0.0) -> str:
        """Take the place of `drivelab.state.programs.run_program`."""
        del journal, timeout_s
        self.commands.append(list(command))
        if self.failing and any(self.failing in word for word in command):
            raise DrivelabError("R403", f"{command[0]} failed: {command[0]}: no luck", where=" ".join(command))
        if command[0] == "wipefs":
            Path(command[-1]).write_bytes(bytes(3 * 4096))
        elif command[1] == "--create":
            self._create(command)
        elif command[1] == "--detail":
            text = (self._block(Path(command[-1]).name) / "md/uuid").read_text().replace("-", "")
            return f"MD_LEVEL=raid\nMD_UUID={':'.join(text[at : at + 8] for at in range(0, 32, 8))}\n"
        elif command[1] == "--stop":
            self._stop(Path(command[-1]).name)
        elif command[1] == "--zero-superblock":
            member = Path(command[-1])
            if os.listdir(self._block(member.name) / "holders"):
                raise DrivelabError("R403", f"mdadm failed: {member} is busy")
            member.write_bytes(bytes(3 * 4096))
        return ""

    def _create(self, command: Sequence[str]) -> None:
        given = dict(word.lstrip("-").partition("=")[::2] for word in command if word.startswith("--"))
        members = [Path(word) for word in command if word.startswith(str(self.paths.dev / "sd"))]
        identifier = uuid.UUID(given["uuid"].replace(":", ""))
        for member in members:
            content = bytearray(member.read_bytes())
            content[_SUPERBLOCK_AT : _SUPERBLOCK_AT + 32] = _MAGIC + bytes(12) + identifier.bytes
            member.write_bytes(content)
        (self.paths.dev / "md" / given["name"]).symlink_to("../md127")
        self.assemble("md127", identifier, f"raid{given['level']}", members)

    def _stop(self, array: str) -> None:
        block = self._block(array)
        members = [self.paths.dev / name for name in sorted(os.listdir(block / "slaves"))]
        identifier, level = uuid.UUID((block / "md/uuid").read_text()), (block / "md/level").read_text()
        self._remove(array)
        if self.is_assembled_again:
            self.is_assembled_again = False
            self.assemble("md126", identifier, level, members)

    def _remove(self, array: str) -> None:
        shutil.rmtree(self._block(array))
        for holders in (self.paths.sys / "class/block").glob(f"*/holders/{array}"):
            holders.rmdir()

    def _block(self, name: str) -> Path:
        return self.paths.sys / "class/block" / name
