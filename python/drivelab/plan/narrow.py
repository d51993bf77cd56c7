"""Narrows an experiment to what was asked for on the command line: fewer levels, another number of repeats."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import ValidationError

from drivelab.model.errors import DrivelabError
from drivelab.model.experiment import Experiment, Reference, Scale
from drivelab.model.factor import Factor
from drivelab.model.names import did_you_mean


def narrowed(
    experiment: Experiment, *, repeats: int | None = None, only: Sequence[str] = ()
) -> tuple[Experiment, tuple[str, ...]]:
    """The experiment with another number of repeats and with some levels only, and what was changed, in words.

    Parameters
    ----------
    repeats : int, optional
        How often every combination is measured, in full and with ``--quick``.
    only : sequence of str
        ``FACTOR=LEVEL``; several of one factor keep all of them, in the order of the file.

    Raises
    ------
    DrivelabError
        P712: no such factor or level, or nothing that could be measured is left.

    Notes
    -----
    A level that only the full or only the scaled-down form has can be kept in
    both. A reference whose level is not kept stands at the first one that is.
    """
    kept: dict[str, list[str]] = {}
    for text in only:
        factor, level = _asked(experiment, text)
        kept.setdefault(factor.name, []).append(level)
    changed: dict[str, object] = {}
    if repeats is not None and experiment.phases:
        what = f"{experiment.name} goes on in rounds until it is steady, and has no repeats"
        raise DrivelabError("P712", what, where="--repeats", do="leave it out")
    if repeats is not None:
        changed["repeats"] = Scale(full=repeats, quick=repeats)
    if kept:
        factors = tuple(_with_levels(each, kept.get(each.name)) for each in experiment.factors)
        changed |= {"factors": factors, "reference": _reference(experiment.reference, factors)}
    told = [f"only {name} {', '.join(dict.fromkeys(levels))}, as asked" for name, levels in kept.items()]
    told += [f"{repeats} {'repeats' if repeats != 1 else 'repeat'}, as asked"] if repeats is not None else []
    return _validated(experiment, changed), tuple(told)


def _asked(experiment: Experiment, text: str) -> tuple[Factor, str]:
    """The factor, and the name of its level, that ``FACTOR=LEVEL`` names."""
    name, separator, level = (part.strip() for part in text.partition("="))
    factors: dict[str, list[Factor]] = {}
    for factor in experiment.factors:
        factors.setdefault(factor.name, []).append(factor)
    if not separator or not level:
        raise DrivelabError("P712", f"'{text}' names no level", where="--only", do="write --only FACTOR=LEVEL")
    # a key of a workload has an underline, a setting a hyphen: nobody has to know which it is
    name = next((known for known in factors if known.replace("_", "-") == name.replace("_", "-")), name)
    if name not in factors:
        what = f"{experiment.name} has no factor {name}; it has {', '.join(factors) or 'none'}"
        raise DrivelabError("P712", what, where="--only", do=did_you_mean(name, list(factors)))
    for factor in factors[name]:
        for quick in (False, True):
            found = factor.level_of(level, quick=quick)
            if found is not None:
                return factor, factor.name_of(found)
    known = [(factor, each) for factor in factors[name] for each in (*factor.levels, *factor.quick_levels)]
    there = list(dict.fromkeys(factor.name_of(each) for factor, each in known))
    what = f"{name} of {experiment.name} has no level {level}; it has {', '.join(there)}"
    raise DrivelabError("P712", what, where="--only", do=did_you_mean(level, there))


def _with_levels(factor: Factor, names: list[str] | None) -> Factor:
    if names is None:
        return factor
    there = {factor.name_of(level): level for level in (*factor.levels, *factor.quick_levels)}
    levels = tuple(level for name, level in there.items() if name in names)
    if not levels:
        # those of other workloads were asked for
        return factor
    return factor.model_copy(update={"levels": levels, "quick_levels": ()})


def _reference(reference: Reference | None, factors: Sequence[Factor]) -> Reference | None:
    if reference is None:
        return None
    # a factor that was not narrowed has all the levels that the file's reference names
    by_name = {factor.name: factor for factor in factors}
    levels = {
        name: level
        for name, level in reference.levels.items()
        if by_name[name].level_of(level, quick=False) is not None or by_name[name].quick_levels
    }
    return reference.model_copy(update={"levels": levels})


def _validated(experiment: Experiment, changed: dict[str, object]) -> Experiment:
    if not changed:
        return experiment
    given = {name: getattr(experiment, name) for name in Experiment.model_fields}
    try:
        return Experiment.model_validate(given | changed)
    except ValidationError as error:
        what = f"{experiment.name} cannot be narrowed like that: {error.errors()[0]['msg']}"
        raise DrivelabError("P712", what, where="--only", do="keep other levels") from error
