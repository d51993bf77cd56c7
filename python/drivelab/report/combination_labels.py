"""What tells the combinations of a table apart, in as few words as it takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from drivelab.model.finding import trials_of
from drivelab.model.judged_metric import told_metric
from drivelab.model.level_words import level_phrase, level_size, level_text
from drivelab.model.operations_apart import OPERATION, plural
from drivelab.model.run_answer import CombinationResult, RunAnswer
from drivelab.model.setting import AS_FOUND, SETTING_NAMES

# wider labels stand in one column, where they can be broken
_LABELS_WIDTH_MAX = 40
_FEW_MIN = 3
FILE_SIZE, BLOCK_SIZE = "file_size", "block_size"
# the cell of a factor that a combination does not have, like mount options on the bare drive
NOT_APPLICABLE = "-"
# heads of a table whose rows differ from the first in one level each
CHANGED_TO = ["changed", "to"]
# the row that they differ from
BASELINE = "baseline"


@dataclass(frozen=True, slots=True)
class CombinationLabels:
    """The labels of a table's rows.

    Attributes
    ----------
    names : tuple of str
        Heads of the columns; none when there is one combination only.
    rows : tuple of tuple of str
        One cell per name, in the order of the combinations.
    constant : str
        What all of them have in common, in words; may be empty.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    constant: str


def combination_labels(
    combinations: Sequence[CombinationResult], *, is_one_at_a_time: bool = False, is_narrow: bool = False
) -> CombinationLabels:
    """Labels that tell some combinations of one target and workload apart.

    Parameters
    ----------
    combinations : sequence of CombinationResult
        In the order of the table; of one workload on one target.
    is_one_at_a_time : bool
        Whether each differs in one level from the first.
    is_narrow : bool
        Whether many factors are to stand in one column, where it can be broken.
    """
    if not combinations:
        return CombinationLabels((), (), "")
    cells = [_of_operation(one) | {name: level_words(one, name) for name in one.levels} for one in combinations]
    names = list(dict.fromkeys(name for row in cells for name in row))
    varying = [name for name in names if len({row.get(name, "") for row in cells}) > 1]
    if is_one_at_a_time and len(combinations) >= _FEW_MIN:
        return _one_at_a_time(cells, names)
    common = ", ".join(f"{name} {cells[0][name]}" for name in names if name not in varying)
    rows = [tuple(row.get(name, NOT_APPLICABLE) for name in varying) for row in cells]
    widths = [max(len(name), *(len(row[place]) for row in rows)) for place, name in enumerate(varying)]
    fits = sum(widths) + 2 * len(widths) <= _LABELS_WIDTH_MAX or len(varying) < _FEW_MIN
    if fits or not is_narrow:
        return CombinationLabels(tuple(varying), tuple(rows), common)
    joined = tuple((", ".join(cell for cell in row if cell != NOT_APPLICABLE),) for row in rows)
    return CombinationLabels((", ".join(varying),), joined, common)


def invalid_words(combinations: Sequence[CombinationResult]) -> str:
    """The mark of a row whose numbers do not describe the drive, or not all of them: `` (1 of 3 trials invalid)``."""
    count = sum(one.invalid_trials for one in combinations)
    return f" ({trials_of(count, sum(one.trial_count for one in combinations))} invalid)" if count else ""


def shown_metric(group: Sequence[CombinationResult]) -> str:
    """What is shown of a workload: small I/Os of no phase are counted, everything else is what it is judged by."""
    judged = group[0].judged_metric
    if any(one.is_phase for one in group):
        return judged
    told = told_metric(judged, (one.block_size_bytes for one in group))
    return told if all(told in one.metrics for one in group) else judged


def tables_of_answer(answer: RunAnswer) -> list[list[CombinationResult]]:
    """The rows of each table of a run; of a surface those of its largest files.

    None where a mean over a burst, what follows and rests is none of the rates.
    """
    return [] if answer.buckets else [of_largest_files(group) for group in combinations_by_table(answer.rows)]


def of_largest_files(group: Sequence[CombinationResult]) -> list[CombinationResult]:
    """Where sizes of files and of records were varied, what was measured of the largest files; else all."""
    if not all({FILE_SIZE, BLOCK_SIZE} <= one.levels.keys() for one in group):
        return list(group)
    largest = max((one.levels[FILE_SIZE] for one in group), key=level_size)
    return [one for one in group if one.levels[FILE_SIZE] == largest]


def combinations_by_table(rows: Sequence[CombinationResult]) -> list[list[CombinationResult]]:
    """The rows of each table: of a workload on a target, or on several where they have combinations in common.

    A setting of which each target can do another level is none that tells combinations apart.
    """
    by_workload: dict[str, dict[str, list[CombinationResult]]] = {}
    for one in rows:
        by_workload.setdefault(one.workload, {}).setdefault(one.target, []).append(one)
    tables: list[list[CombinationResult]] = []
    for targets in by_workload.values():
        every = [one for members in targets.values() for one in members]
        own = own_factors(every).intersection(SETTING_NAMES)
        measured = [{levels_without(one, own) for one in members} for members in targets.values()]
        if set.intersection(*measured):
            tables.append(every)
        else:
            tables += targets.values()
    return tables


def own_factors(rows: Sequence[CombinationResult]) -> set[str]:
    """Factors of which each target has one level, and not all the same one: it belongs to the target."""
    levels: dict[str, dict[str, set[str]]] = {}
    for one in rows:
        for name, level in one.levels.items():
            levels.setdefault(name, {}).setdefault(one.target, set()).add(level)
    return {
        name
        for name, of_targets in levels.items()
        if all(len(found) == 1 for found in of_targets.values()) and len(set.union(*of_targets.values())) > 1
    }


def levels_without(one: CombinationResult, names: Collection[str]) -> tuple[tuple[str, str], ...]:
    """The levels of a combination but those of some factors."""
    return tuple((name, level) for name, level in one.levels.items() if name not in names)


def table_title(group: Sequence[CombinationResult], rows: Sequence[CombinationResult]) -> str:
    """What a table of some of the rows of a run is of, with the target where it has one of several."""
    targets = {one.target for one in group}
    is_one_of_several = len(targets) == 1 and len({one.target for one in rows}) > 1
    over = f", {over_words(group)}" if any(one.is_of_rounds for one in group) else ""
    files = {one.levels.get(FILE_SIZE, "") for one in group}
    is_part = len(files) == 1 < len({one.levels.get(FILE_SIZE) for one in rows if one.workload == group[0].workload})
    of_files = f", files of {level_text(FILE_SIZE, files.pop())}" if is_part else ""
    return f"{group[0].label}{f' on {group[0].target}' if is_one_of_several else ''}{of_files}{over}"


def over_words(group: Sequence[CombinationResult]) -> str:
    """What the numbers of a table are of several trials: ``median of 3 repeats``, ``mean of 5 rounds``."""
    counts = [one.trial_count for one in group]
    if max(counts) < 2:
        return "one repeat"
    # a trial that failed is missed in one row and not in the others
    count = f"{min(counts)} to {max(counts)}" if min(counts) < max(counts) else f"{max(counts)}"
    return f"mean of {count} rounds" if any(one.is_of_rounds for one in group) else f"median of {count} repeats"


def _of_operation(one: CombinationResult) -> dict[str, str]:
    """Which of its operations a row is of, where it mixes some."""
    return {OPERATION: plural(one.operation)} if one.operation else {}


def _one_at_a_time(cells: Sequence[Mapping[str, str]], names: Sequence[str]) -> CombinationLabels:
    """The baseline, and of each other combination the one level that is different."""
    first = cells[0]
    rows = []
    for row in cells:
        changed = [name for name in names if _bare(row.get(name, "")) != _bare(first.get(name, ""))]
        told = [_beside(row.get(name, NOT_APPLICABLE), first.get(name, "")) for name in changed]
        told = told or [one for one in first.values() if _bare(one) != AS_FOUND]
        rows.append((", ".join(changed) or BASELINE, ", ".join(told)))
    # a setting that nobody could read tells nothing
    baseline = ", ".join(f"{name} {level}" for name, level in first.items() if level != AS_FOUND)
    return CombinationLabels(tuple(CHANGED_TO), tuple(rows), f"baseline: {baseline}")


def _beside(words: str, first: str) -> str:
    """A level, and that it is what was found, where it is: such a row shows how far the same scatters."""
    return f"{words}, as found" if first == f"{AS_FOUND} ({words})" else words


def _bare(words: str) -> str:
    """A level without what was read back."""
    return words.split(" (")[0]


def row_words(names: Sequence[str], cells: Sequence[str]) -> str:
    """The label of one row as text; factors that do not apply are left out: ``raw``, not ``raw, mount -``."""
    return ", ".join(
        level_phrase(name, cell) for name, cell in zip(names, cells, strict=True) if cell != NOT_APPLICABLE
    )


def level_words(combination: CombinationResult, name: str) -> str:
    """The level of one factor: as asked, and what was read back where that differs.

    ``off``; ``as-found (mq-deadline)``; ``off -> on`` where the setting did not take it.
    """
    asked = combination.levels[name]
    achieved = combination.achieved.get(name, ())
    found = " or ".join(level_text(name, level) for level in achieved)
    if not found:
        return level_text(name, asked)
    return f"{AS_FOUND} ({found})" if asked == AS_FOUND else f"{level_text(name, asked)} -> {found}"
