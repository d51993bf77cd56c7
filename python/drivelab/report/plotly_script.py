"""The script that draws the figures: Plotly for charts in a plane, as its makers publish it, packed.

The file is ``plotly-cartesian.min.js`` of npm's ``plotly.js-cartesian-dist-min``, through ``gzip -9n``. The Python
package holds Plotly whole instead, which makes each page 1.3 MB larger and its installation 43 MB.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
from importlib.resources import files

VERSION = "4.1.1"
_SCRIPTS = files("drivelab.report") / "scripts"


def packed_script() -> bytes:
    """The script through gzip, in Base64: no letter of it can end an element."""
    return base64.b64encode(_packed())


def script() -> bytes:
    """The script as it is run."""
    return gzip.decompress(_packed())


def script_hash() -> str:
    """What a content security policy calls the script: ``sha256-...``."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script()).digest()).decode('ascii')}"


def licence() -> str:
    """The terms of the script."""
    return (_SCRIPTS / "plotly-LICENSE.txt").read_text(encoding="utf-8").strip()


def _packed() -> bytes:
    return (_SCRIPTS / f"plotly-cartesian-{VERSION}.min.js.gz").read_bytes()
