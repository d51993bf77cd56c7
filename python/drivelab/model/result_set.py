"""Results in the form in which they are compared, whoever measured them: a run, or a published page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from drivelab.model.estimate import Estimate
from drivelab.model.metric import Quantity, metric_of
from drivelab.model.price import Price


@dataclass(frozen=True, slots=True)
class Machine:
    """A computer on which drives were measured; a fact that is not known is empty.

    Attributes
    ----------
    name : str
        Host name, or how a page calls it.
    kind, model : str
        Server, laptop, virtual machine; maker and model.
    distribution, kernel : str
        Linux distribution with its version, and release of the kernel.
    cpu : str
        Model of the processor.
    links : mapping of str to str
        Speed of its ports by their kind: ``{"SATA": "3Gbps", "USB": "2.0"}``.
    printed : mapping of str to str
        Further cells of a page's table about it, by the name of the column, as the page prints them.
    """

    name: str
    kind: str = ""
    model: str = ""
    distribution: str = ""
    kernel: str = ""
    cpu: str = ""
    links: Mapping[str, str] = field(default_factory=dict)
    printed: Mapping[str, str] = field(default_factory=dict)


# the kind of a drive that is a model of one
SIMULATED = "simulated drive"


@dataclass(frozen=True, slots=True)
class MeasuredDrive:
    """A drive of which there are results; a fact that is not known is empty or None.

    Attributes
    ----------
    name : str
        What tables call it: unique within its result set.
    model, firmware, serial, controller : str
        As the drive, or a page, tells them.
    capacity_bytes : int or None
        Its size.
    machine : str
        Name of the `Machine` that it was installed on.
    link : str
        Its link as negotiated: ``SATA 6 Gbit/s``.
    kind : str
        SSD, hard disk, scratch drive on a file, directory on a file system.
    printed : mapping of str to str
        Cells of a page's table about it, by the name of the column, as the page prints them.
    price : Price or None
        What it costs; None where nobody said.
    label : str
        What its run calls it: the target as it was typed; empty on a page.
    """

    name: str
    model: str = ""
    firmware: str = ""
    serial: str = ""
    controller: str = ""
    capacity_bytes: int | None = None
    machine: str = ""
    link: str = ""
    kind: str = ""
    printed: Mapping[str, str] = field(default_factory=dict)
    price: Price | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Observation:
    """One number of one combination of factors on one drive.

    Attributes
    ----------
    drive, machine : str
        Names of the `MeasuredDrive` and the `Machine`.
    workload, title : str
        Name of the workload within its experiment or page, and what it is for people.
    operation : str
        What the number is about: ``durable_write``, ``write``, ``read``.
    estimate : Estimate
        The number. Over several repeats its ends are the lowest and the highest of them.
    levels : mapping of str to str
        Level of every factor, under the names that experiments use
        (``filesystem``, ``mount``, ``write-cache``, ``fill_level``).
    block_size_bytes : int or None
        Size of one I/O; None when sizes are mixed or unknown.
    queue_depth : int or None
        I/Os kept outstanding.
    is_durable : bool
        Whether an I/O ends when it is durable.
    commands : mapping of str to (float, float)
        Device commands per operation by metric, as bounds that are equal where the count is exact.
    trial_count, invalid_trials : int
        Trials behind it, and how many of them do not describe the drive.
    printed : str
        The number as a page prints it (``~8``); empty for a run.
    note : str
        What has to stand beside the number.
    is_judged : bool
        Whether it is the number that its workload is about, by the rule of the run.
    not_taken : str
        The levels that were asked for and not taken: ``scheduler none``.
    run : str
        Name and start of the run, of a model `SIMULATED` in every run; empty for a page. Numbers of two runs are
        not told apart by their repeats.
    """

    drive: str
    machine: str
    workload: str
    title: str
    operation: str
    metric: str
    estimate: Estimate
    levels: Mapping[str, str] = field(default_factory=dict)
    block_size_bytes: int | None = None
    queue_depth: int | None = None
    is_durable: bool = False
    commands: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    trial_count: int = 1
    invalid_trials: int = 0
    printed: str = ""
    note: str = ""
    is_judged: bool = False
    not_taken: str = ""
    run: str = ""

    @property
    def quantity(self) -> Quantity:
        """What kind of number it is."""
        return metric_of(self.metric).quantity

    @property
    def is_better_when_low(self) -> bool:
        """Whether the smaller of two such numbers is the better one."""
        return metric_of(self.metric).better == "low"


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """A table of a page that follows from no other number: its cells, as the page prints them.

    Attributes
    ----------
    key, title : str
        Name within the page, and what stands above it.
    columns : tuple of str
        Heads, units included.
    rows : tuple of tuple of str
        Cells.
    note : str
        What a reader has to know of it.
    """

    key: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class PublishedCell:
    """A cell that a page prints in a table that follows from its other numbers.

    Attributes
    ----------
    table, row, column : str
        Key of the table, name of the row (that of the `MeasuredDrive`) and head of the column. A row that shares
        its drive with another names its write cache too: ``NAME / Enabled``, ``NAME / Disabled``.
        What the page calls the row in this table is the cell below the first head, where that is not `row`.
    printed : str
        What the page prints, which need not be what its own numbers give.
    """

    table: str
    row: str
    column: str
    printed: str


@dataclass(frozen=True, slots=True)
class PageForm:
    """How a page prints a table that is made of its machines, drives or observations.

    A report of nothing but that page prints the table so; of a page that has
    forms it makes no other tables. A page without any is printed in our own forms.

    Attributes
    ----------
    table : str
        Key of the table: ``hardware``, ``drives``, ``results-by-setting``, ``pivot``,
        ``write-cache-effect``, ``write-cache-by-host``, ``disks``.
    title : str
        What stands above it.
    columns : tuple of str
        Heads in order, as the page prints them. The unit of a number is the one in parentheses in its head:
        ``512B Write Latency (ms)``. A cell is looked for in `ResultSet.cells`, then in
        `printed` of the machine or drive under the same head, then in `Observation.printed`.
    """

    table: str
    title: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ResultSet:
    """The results of one run, or of one published page.

    Attributes
    ----------
    key : str
        Name of the run, or ``reference:PAGE``.
    title, question : str
        What was measured, and what was asked.
    source : str
        Where the numbers come from: the run, or author, title and address of the page.
    measured : str
        When, as far as it is known: ``2026-11-21 22:42`` (UTC), ``2014-03``.
    is_reference : bool
        Whether somebody else published them.
    machines, drives, observations : tuples
        Who measured what.
    tables : tuple of PublishedTable
        What else the page prints.
    cells : tuple of PublishedCell
        What the page prints in tables that follow from `observations`.
    answer : tuple of str
        What a page answers to its question, the sentence that answers it first.
    notes : tuple of str
        What limits the numbers.
    forms : tuple of PageForm
        How the page prints its tables.
    read_off : tuple of Observation
        Numbers that a page has as a drawing only: a figure's points, in none of its tables.
    """

    key: str
    title: str
    question: str
    source: str
    measured: str = ""
    is_reference: bool = False
    machines: tuple[Machine, ...] = ()
    drives: tuple[MeasuredDrive, ...] = ()
    observations: tuple[Observation, ...] = ()
    tables: tuple[PublishedTable, ...] = ()
    cells: tuple[PublishedCell, ...] = ()
    answer: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    forms: tuple[PageForm, ...] = ()
    read_off: tuple[Observation, ...] = ()

    @property
    def all_observations(self) -> tuple[Observation, ...]:
        """The numbers that it tells, and those that were read off its drawings."""
        return (*self.observations, *self.read_off)
