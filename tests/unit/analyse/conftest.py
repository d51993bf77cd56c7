"""What the tests of the analysis share."""

from __future__ import annotations

import sys
from pathlib import Path

# the modules beside this file: importlib mode does not put their folder on the path
sys.path.insert(0, str(Path(__file__).parent))
