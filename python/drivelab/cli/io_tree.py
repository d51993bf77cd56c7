"""``drivelab io`` on the files of a directory."""

from __future__ import annotations

from drivelab.cli.io_options import IoOptions
from drivelab.cli.workload_arguments import parse_operations
from drivelab.inventory.target import require_writable
from drivelab.model.errors import DrivelabError
from drivelab.model.target import TargetFacts
from drivelab.model.workload import TREE_OPERATIONS


def refuse_mixed_up_tree(options: IoOptions) -> None:
    """Return only if the operations fit the rest: those on files need files, and the others have none."""
    names = [share.operation for share in parse_operations(options.operation)]
    on_files = [name for name in names if name in TREE_OPERATIONS]
    if on_files and len(on_files) < len(names):
        do = "measure them one after the other"
        raise DrivelabError("U004", "operations on files and on blocks cannot be mixed", where="--operation", do=do)
    if on_files and options.files < 1:
        do = "add --files 10000, for instance"
        raise DrivelabError("U003", f"{on_files[0]} works on the files of a directory", where="option --files", do=do)
    if options.files and not on_files:
        do = f"choose: {', '.join(TREE_OPERATIONS)}"
        raise DrivelabError(
            "U004", f"--files has files made and opened, which {names[0]} does not", where="option --operation", do=do
        )


def require_directory(target: TargetFacts) -> None:
    """Return only if files can be made there."""
    if target.kind != "directory":
        what = f"{target.text} is {'not there' if target.kind == 'missing_file' else 'no directory'}"
        do = "name a directory; for a new one: mkdir"
        raise DrivelabError("E316", what, where="drivelab io", do=do)
    require_writable(target)
