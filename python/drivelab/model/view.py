"""A table as data: which numbers it has, what its rows and columns are, and how they are called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

from pydantic import Field

from drivelab.model.factor import Name
from drivelab.model.frozen import FrozenModel

# small_write_latency: of durable writes below 1 MiB, and of larger ones where their size is a factor; the mean beside
# published pages, else the median
MetricName = Literal[
    "small_write_latency",
    "total_latency_ns_p50",
    "total_latency_ns_mean",
    "total_latency_ns_p99",
    "response_latency_ns_p50",
    "iops",
    "throughput_bytes_per_s",
    "device_writes_per_operation",
    "device_flushes_per_operation",
    "fua_writes_per_operation",
    "device_reads_per_operation",
]
METRIC_NAMES: tuple[str, ...] = get_args(MetricName)
SMALL_WRITE_LATENCY = METRIC_NAMES[0]
# what rows and columns can be beside the factors of an experiment
DRIVE, WORKLOAD = "drive", "workload"
PLACES = (DRIVE, "firmware", "machine", WORKLOAD)
Level = bool | int | float | str


class View(FrozenModel):
    """A table of an experiment's file; its rows are told apart by every factor that it names nowhere."""

    key: Name
    title: str = Field(min_length=1)
    caption: str = ""
    metrics: tuple[MetricName, ...] = Field(min_length=1)
    workloads: tuple[Name, ...] = ()
    keep: Mapping[str, tuple[Level, ...]] = Field(default_factory=dict)
    rows: tuple[str, ...] = (DRIVE,)
    columns: tuple[str, ...] = ()
    split: tuple[str, ...] = ()
    mean_over: tuple[str, ...] = ()

    @property
    def named(self) -> tuple[tuple[str, str], ...]:
        """The key and the name of everything that it names."""
        lists = (("rows", self.rows), ("columns", self.columns), ("split", self.split), ("mean_over", self.mean_over))
        return tuple((key, name) for key, names in (*lists, ("keep", tuple(self.keep))) for name in names)


class BuiltInView(View):
    """A table of ours: also how levels and heads are written, and how a published page prints it.

    Attributes
    ----------
    heads : mapping of str to str
        What columns of texts are called, by what they hold.
    words : mapping of str to mapping of str to str
        How levels are written, by factor; their order is that of the columns.
    head : str
        Head of a column of numbers: ``{filesystem} {write-cache}``.
    needs : mapping of str to int
        Levels that some drive must have been measured with.
    has_others_apart : bool
        Whether every combination of factors that it names nowhere has a table of its own.
    mean_caption : str
        Behind the caption where there is a mean over levels of `mean_over`.
    page_caption : str
        In place of the caption where a published page stands alone.
    page_rows : tuple of str
        What a page's name of a row is made of.
    page_heads : mapping of str to str
        What stands below a page's head, where that is none of ours; empty for the number.
    page_words : mapping of str to mapping of str to str
        How a page writes levels, where that is not as we do.
    """

    heads: Mapping[str, str] = Field(default_factory=dict)
    words: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
    head: str = ""
    needs: Mapping[str, int] = Field(default_factory=dict)
    has_others_apart: bool = False
    mean_caption: str = ""
    page_caption: str = ""
    page_rows: tuple[str, ...] = (DRIVE,)
    page_heads: Mapping[str, str] = Field(default_factory=dict)
    page_words: Mapping[str, Mapping[str, str]] = Field(default_factory=dict)
