"""Latency histograms drawn with block characters, for terminals; with plain characters where those do not exist."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from drivelab.model.histogram import Histogram

BLOCKS = " ▁▂▃▄▅▆▇█"
PLAIN_BLOCKS = " .:-=+*%#"


class TextAxis:
    """A logarithmic latency axis of so many characters, shared by all histograms of a table.

    Parameters
    ----------
    histograms : mapping of str to Histogram
        Those that must fit on it.
    """

    def __init__(self, histograms: Mapping[str, Histogram], width: int) -> None:
        filled = [histogram for histogram in histograms.values() if histogram.total_count]
        low = max(1, min((histogram.minimum_ns for histogram in filled), default=1))
        high = max(low + 1, max((histogram.maximum_ns for histogram in filled), default=2))
        # powers of ten are easy to name
        self.low_ns = 10.0 ** math.floor(math.log10(low))
        self.high_ns = max(10.0 ** math.ceil(math.log10(high)), 10 * self.low_ns)
        self._edges: NDArray[np.float64] = np.geomspace(self.low_ns, self.high_ns, width + 1)

    def draw(self, histogram: Histogram, blocks: str = BLOCKS) -> str:
        """The histogram: the height of a character is the share of the values in it; a single value still shows."""
        width = self._edges.size - 1
        if not histogram.total_count:
            return " " * width
        place = np.clip(np.searchsorted(self._edges, histogram.midpoints_ns(), side="right") - 1, 0, width - 1)
        counts = np.bincount(place, weights=histogram.count, minlength=width)
        heights = np.ceil((len(blocks) - 1) * counts / counts.max()).astype(int)
        return "".join(blocks[height] for height in heights)
