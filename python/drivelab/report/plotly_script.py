"""Plotly's JavaScript as its Python package carries it, read in pieces and never as a whole.

The package itself is not imported: that would take half a second and 40 MB.
"""

from __future__ import annotations

import base64
import hashlib
import re
import zlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path

from drivelab.model.errors import DrivelabError

_PIECE_BYTES = 1 << 18
_SCRIPT = "package_data/plotly.min.js"
# window bits of zlib for a gzip header, in which no time is written
_GZIP = 31


class PlotlyScript:
    """The script, its version, its hash and its licence.

    Raises
    ------
    DrivelabError
        O801: the plotly package is not installed, or without its script.
    """

    def __init__(self) -> None:
        self._path = _package() / _SCRIPT
        self.licence = _licence().strip()
        with self._path.open("rb") as file:
            version = re.search(rb"plotly\.js v([0-9.]+)", file.read(400))
        self.version = version[1].decode() if version else "of unknown version"

    def pieces(self) -> Iterator[bytes]:
        """The script in pieces."""
        with self._path.open("rb") as file:
            while piece := file.read(_PIECE_BYTES):
                yield piece

    def packed_pieces(self) -> Iterator[bytes]:
        """The script in pieces of gzip, written in Base64: the same bytes each time, and none that ends an element."""
        packer = zlib.compressobj(9, zlib.DEFLATED, _GZIP)
        held = b""
        for piece in self.pieces():
            held += packer.compress(piece)
            # three bytes are four letters, and what is left over waits
            whole = len(held) - len(held) % 3
            yield base64.b64encode(held[:whole])
            held = held[whole:]
        yield base64.b64encode(held + packer.flush())

    def content_hash(self) -> str:
        """What a content security policy calls the script: ``sha256-...``."""
        digest = hashlib.sha256()
        for piece in self.pieces():
            digest.update(piece)
        return f"sha256-{base64.b64encode(digest.digest()).decode('ascii')}"


def _package() -> Path:
    """Where the package lies; finding it does not import it."""
    spec = find_spec("plotly")
    places = list(spec.submodule_search_locations or []) if spec else []
    for place in places:
        if (Path(place) / _SCRIPT).is_file():
            return Path(place)
    if places:
        do = "install it again: pip install --force-reinstall plotly"
        raise DrivelabError("O801", "the plotly package has no plotly.min.js", do=do)
    raise DrivelabError("O801", "the plotly package is not installed")


def _licence() -> str:
    try:
        text = distribution("plotly").read_text("licenses/LICENSE.txt") or distribution("plotly").read_text(
            "LICENSE.txt"
        )
    except PackageNotFoundError:
        text = None
    return text or "The MIT License (MIT)\nCopyright (c) Plotly, Inc."
