"""Which operations a job issues, in which sizes and in which order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from drivelab.interop.fio.job_options import JobOptions
from drivelab.interop.fio.sizes import ValueMistake, parse_amount
from drivelab.interop.fio.values import Choice, PerDirection, SizeRange

Direction = str
_SIZES_MAX = 64
_BLOCK_BYTES_MAX = 2**30
_ZIPF_DEFAULT, _PARETO_DEFAULT, _NORMAL_DEFAULT = 1.2, 0.2, 0.0


@dataclass(frozen=True, slots=True)
class SizeWeight:
    """A block size in bytes, and its share of the I/Os."""

    size: int
    weight: float


@dataclass(frozen=True, slots=True)
class Issued:
    """What a job issues.

    Attributes
    ----------
    weights : dict of str to float
        The operations (read, write, trim) with their shares.
    sizes : dict of str to tuple of SizeWeight
        The block sizes of each operation.
    orders : dict of str to dict
        Order of addresses of each operation, as `drivelab.model.workload.Access` has it.
    is_random : bool
        Whether fio would call it random.
    """

    weights: dict[Direction, float]
    sizes: dict[Direction, tuple[SizeWeight, ...]]
    orders: dict[Direction, dict[str, Any]]
    is_random: bool

    @property
    def access(self) -> dict[str, Any]:
        """Order of addresses of the first operation."""
        return next(iter(self.orders.values()))

    @property
    def has_own_places(self) -> bool:
        """Whether each operation goes on from its own last place, which plain random places have nothing of."""
        goes_on = {"sequential", "reverse", "strided", "random_fraction", "run_blocks"}
        return len(self.orders) > 1 and any(goes_on & {*order, order["kind"]} for order in self.orders.values())

    @property
    def has_zones(self) -> bool:
        """Whether parts of the range have their turn, and others are left out."""
        return any(order.get("zone_bytes") for order in self.orders.values())

    @property
    def writes(self) -> bool:
        """Whether it changes its target."""
        return set(self.weights) != {"read"}

    @property
    def reads(self) -> bool:
        """Whether reads are among its operations."""
        return "read" in self.weights

    @property
    def all_sizes(self) -> set[int]:
        """Every block size."""
        return {each.size for sizes in self.sizes.values() for each in sizes}

    def mean_bytes(self, direction: Direction) -> float:
        """Mean block size of an operation."""
        sizes = self.sizes[direction]
        return sum(each.size * each.weight for each in sizes) / sum(each.weight for each in sizes)

    def keys(self) -> dict[str, Any]:
        """The keys of a workload pattern."""
        found: dict[str, Any] = {"access": self.access}
        directions = list(self.weights)
        first = self.sizes[directions[0]]
        same = all(self.sizes[direction] == first for direction in directions)
        if len(first) == 1:
            found["block_size"] = first[0].size
        else:
            found["block_sizes"] = _shares(first)
        if len(directions) == 1:
            found["operation"] = directions[0]
        elif same and directions == ["read", "write"] and not self.has_own_places:
            found["read_fraction"] = self.weights["read"]
        else:
            found["operations"] = [
                {"operation": each, "weight": self.weights[each]}
                | ({} if same else {"block_sizes": _shares(self.sizes[each])})
                | ({"access": self.orders[each]} if self.has_own_places else {})
                for each in directions
            ]
        return found


def _shares(sizes: Sequence[SizeWeight]) -> list[dict[str, float]]:
    return [{"bytes": each.size, "weight": each.weight} for each in sizes]


def issued(options: JobOptions, *, only_reads: bool = False) -> Issued:
    """What a job issues.

    Raises
    ------
    DrivelabError
        U032, U035: an option that cannot be had.
    """
    word = options.choice("rw").word
    is_random = word.startswith("rand")
    weights = {"read": 1.0} if only_reads else _weights(options, word.removeprefix("rand"))
    sizes = {direction: _sizes(options, direction) for direction in weights}
    if is_random:
        orders = {each: _random(options, each, same_sizes=len(set(sizes.values())) == 1) for each in weights}
    else:
        orders = {each: _sequential(options, sizes[each][0].size) for each in weights}
    zones = _zones(options, sizes)
    orders = {each: order | zones for each, order in orders.items()}
    found = Issued(weights, sizes, orders, is_random)
    _tell_of_passes(options, found)
    return found


def _zones(options: JobOptions, sizes: dict[Direction, tuple[SizeWeight, ...]]) -> dict[str, int]:
    """The parts of the range that have their turn one after the other, as ``zonemode=strided`` has them."""
    moved = options.number("zonesize")
    is_strided = options.choice("zonemode").word == "strided" or bool(moved and not options.has("zonemode"))
    if not is_strided:
        return {}
    zone = options.number("zonerange") or moved
    least = max(each.size for of_one in sizes.values() for each in of_one)
    if zone < least or not moved:
        what = f"zones of {zone} B, and blocks of {least} B" if moved else "zonemode=strided needs zonesize"
        raise options.refuse("zonemode", what, code="U033", do="write zonesize, of a block at least")
    if len(sizes) > 1:
        options.tell(
            "zonemode", "approximated", "each operation moves zonesize in a zone, and not all of them together"
        )
    return {"zone_bytes": zone, "zone_io_bytes": moved, "zone_skip_bytes": options.number("zoneskip")}


def _tell_of_passes(options: JobOptions, io: Issued) -> None:
    """Say where another pass over the range is not fio's."""
    name = "loops" if options.number("loops") > 1 else "io_size"
    if io.has_own_places and (name == "loops" or options.has(name)):
        what = "reads and writes go on from their last places, where fio begins every pass at the beginning"
        options.tell(name, "approximated", what)


def _weights(options: JobOptions, word: str) -> dict[Direction, float]:
    if word in ("read", "write", "trim"):
        return {word: 1.0}
    if word == "trimwrite":
        what = "half trims and half writes, each at a place of its own; fio writes each block right after its trim"
        options.tell("rw", "approximated", what)
        return {"trim": 0.5, "write": 0.5}
    setting = options.last_of("rwmixread", "rwmixwrite")
    share = 50
    if setting is not None:
        share = options.number(setting.option)
        share = share if setting.option == "rwmixread" else 100 - share
    if share in (0, 100):
        return {"read" if share else "write": 1.0}
    return {"read": share / 100, "write": (100 - share) / 100}


def _sizes(options: JobOptions, direction: Direction) -> tuple[SizeWeight, ...]:
    split = options.value("bssplit")
    parts = split.of(direction) if isinstance(split, PerDirection) else None
    extent = options.value("bsrange")
    of_range = extent.of(direction) if isinstance(extent, PerDirection) else None
    if isinstance(parts, tuple) and parts:
        found = _split_sizes([(part.size, part.percent) for part in parts])
    elif isinstance(of_range, SizeRange):
        found = _range_sizes(options, of_range)
    else:
        amount = options.amounts("bs").of(direction)
        found = (SizeWeight(amount.value if amount else 4096, 1.0),)
    if (parts or of_range) and options.has("bs"):
        options.tell("bs", "noted", "bssplit or bsrange takes its place, as in fio")
    largest = max(each.size for each in found)
    if largest > _BLOCK_BYTES_MAX and direction == "trim":
        options.tell("bs", "approximated", "trims of 1 GiB, the largest block")
        return tuple(replace(each, size=min(each.size, _BLOCK_BYTES_MAX)) for each in found)
    if largest > _BLOCK_BYTES_MAX:
        raise options.refuse("bs", f"blocks of {largest} B are too large: at most 1 GiB")
    return found


def _split_sizes(parts: list[tuple[int, int | None]]) -> tuple[SizeWeight, ...]:
    """Sizes with shares; those without one have equal parts of the rest, and the largest share takes what is left."""
    given = sum(percent or 0 for _size, percent in parts)
    missing = sum(percent is None for _size, percent in parts)
    rest = (100 - given) // missing if missing else 0
    shares: dict[int, float] = {}
    ordered = sorted(((rest if percent is None else percent), size) for size, percent in parts)
    for percent, size in ordered:
        shares[size] = shares.get(size, 0) + percent
    shares[ordered[-1][1]] += max(0, 100 - sum(shares.values()))
    return tuple(SizeWeight(size, share) for size, share in sorted(shares.items()) if share > 0)


def _range_sizes(options: JobOptions, extent: SizeRange) -> tuple[SizeWeight, ...]:
    """Multiples of the smallest size in equal shares; fio's largest size takes what lies above the last of them."""
    least, most = extent.least, extent.most
    if least < 1:
        raise options.refuse("bsrange", "a block has at least 1 byte", code="U032")
    count, above = divmod(most, least)
    if count > _SIZES_MAX:
        options.tell("bsrange", "approximated", f"{_SIZES_MAX} of its {count} sizes, at equal distances")
        steps = {round(1 + place * (count - 1) / (_SIZES_MAX - 1)) for place in range(_SIZES_MAX)}
        return tuple(SizeWeight(step * least, 1.0) for step in sorted(steps))
    found = [SizeWeight(number * least, 1.0) for number in range(1, count + 1)]
    return tuple(found + ([SizeWeight(most, above / least)] if above else []))


def _sequential(options: JobOptions, size: int) -> dict[str, Any]:
    rest = options.choice("rw").rest
    skipped = _signed(options, rest) if rest else 0
    if skipped == 0:
        return {"kind": "sequential"}
    if skipped == -2 * size:
        options.tell("rw", "approximated", "from the last block down; fio has the first one before it begins so")
        return {"kind": "reverse"}
    if skipped == -size:
        return {"kind": "same"}
    if skipped < -size:
        options.tell("rw", "approximated", f"goes down block by block, and not by {-skipped - size} B")
        return {"kind": "reverse"}
    return {"kind": "strided", "stride_bytes": size + skipped}


def _signed(options: JobOptions, text: str) -> int:
    negative = text.startswith("-")
    try:
        value = parse_amount(text.lstrip("+-")).value
    except ValueMistake as mistake:
        raise options.refuse("rw", f"rw: '{text}': {mistake}", code="U032") from None
    return -value if negative else value


def _random(options: JobOptions, direction: Direction, *, same_sizes: bool) -> dict[str, Any]:
    rest = options.choice("rw").rest
    run = _signed(options, rest) if rest else 1
    if not 1 <= run < 2**32:
        raise options.refuse("rw", f"rw: a run of {run} blocks", code="U032")
    access: dict[str, Any] = {"kind": "random"} | ({"run_blocks": run} if run > 1 else {})
    percent = options.amounts("percentage_random").of(direction)
    if percent is not None and percent.value < 100:
        if percent.value == 0:
            return {"kind": "sequential"}
        access["random_fraction"] = percent.value / 100
    distribution = options.choice("random_distribution")
    if distribution.word != "random":
        return access | _distribution(options, distribution)
    if options.truth("norandommap") or options.has("ba"):
        return access
    if same_sizes and run == 1 and "random_fraction" not in access:
        return access | {"covers_once": True}
    why = "where reads and writes have other block sizes" if not same_sizes else "with sequential parts"
    options.tell("norandommap", "approximated", f"{why} some blocks may come again before all had their turn")
    return access


def _distribution(options: JobOptions, distribution: Choice) -> dict[str, Any]:
    first = distribution.rest.split(",")[0]
    word = distribution.word
    if word in ("zoned", "zoned_abs"):
        return _zoned(options, first, absolute=word == "zoned_abs")
    if word == "sequence":
        options.tell("random_distribution", "not-honoured", "evenly distributed places")
        return {}
    number, _, center = first.partition(":")
    if center:
        options.tell("random_distribution", "approximated", "the middle of the distribution stays where it is")
    default = {"zipf": _ZIPF_DEFAULT, "pareto": _PARETO_DEFAULT, "normal": _NORMAL_DEFAULT}[word]
    try:
        value = float(number) if number else default
    except ValueError:
        what = f"random_distribution: '{number}' is no number"
        raise options.refuse("random_distribution", what, code="U032") from None
    key, low, high = {
        "zipf": ("zipf_theta", 0.0, 5.0),
        "pareto": ("pareto_h", 0.0, 1.0),
        "normal": ("normal_deviation", 0.0, 1.0),
    }[word]
    value = value / 100 if word == "normal" else value
    if not low < value < high:
        bounds = "above 0 and below " + ("100 %" if word == "normal" else f"{high:g}")
        what = f"random_distribution: {word} takes a number {bounds}"
        raise options.refuse("random_distribution", what, code="U032")
    return {"kind": word, key: value}


def _zoned(options: JobOptions, text: str, *, absolute: bool) -> dict[str, Any]:
    """Parts of the range with a share of the I/Os each; those that get none are passed over by fio as well."""
    pairs = [part.partition("/") for part in text.split(":") if part][:256]
    try:
        shares = _filled([share for share, _, _ in pairs], whole=100)
        sizes = _filled([size for _, _, size in pairs], whole=0 if absolute else 100)
    except ValueMistake as mistake:
        what = f"random_distribution: '{text[:60]}': {mistake}"
        raise options.refuse("random_distribution", what, code="U032") from None
    zones = list(zip(shares, sizes, strict=True))
    whole = sum(size for _share, size in zones) if absolute else 100
    if not zones or not whole:
        what = "random_distribution: zones are written as SHARE/SIZE:SHARE/SIZE"
        raise options.refuse("random_distribution", what, code="U032")
    if len(zones) == 1 or not all(share > 0 and size > 0 for share, size in zones):
        options.tell("random_distribution", "not-honoured", "evenly distributed places")
        return {}
    if absolute:
        options.tell("random_distribution", "approximated", "the zones are parts of the whole range")
    parts = [{"access_fraction": share / 100, "range_fraction": size / whole} for share, size in zones]
    return {"kind": "zoned", "zones": parts}


def _filled(texts: list[str], *, whole: int) -> list[float]:
    """Numbers of a list; those that are missing share equally what is left of the whole."""
    numbers = [float(parse_amount(text).value) if text else None for text in texts]
    rest = max(0.0, whole - sum(number or 0 for number in numbers))
    missing = sum(number is None for number in numbers)
    return [rest / missing if number is None else number for number in numbers]
