"""What the proofs share with the tests of the analysis: trials made by hand."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "analyse"))
