"""How often a program would commit here: its own time added to that of the calls that it issues for a commit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from drivelab.model.apart import ABOUT_THE_SAME
from drivelab.model.commit_scale import MARKS, ScaleMark, rate_on
from drivelab.model.estimate import Estimate
from drivelab.model.judged_metric import MEAN_LATENCY
from drivelab.model.metric import ROUND_TRIP
from drivelab.model.program import Program, RateBand
from drivelab.model.programs import CLIENT_COUNTS, PROGRAMS
from drivelab.model.trial_summary import TrialSummary
from drivelab.model.units import format_quantity
from drivelab.model.verdict import Forecast

# of the 95 % of the log writes' latency and of what the program itself was found to take
FORECAST_RANGE = "range"
_NS = 1e9
# each of its writes makes a log longer by a block
_NEW_BLOCKS = "sync-write-4096"
_BLOCK_BYTES = 4096
# processor time of a commit as a share of its time in memory: as much where clients sleep in each sync (1.5 to 5.4
# were found), and as little where the processors share the work (0.54 to 0.77)
_PROCESSOR_SHARES = (6.0, 0.5)
# a commit waits for the sync under way and for its own; those of many commits take a twentieth longer
_SYNCS_AT_WORST = 2.1
# of a range whose ends are so many times apart the middle is not told first; a program's own time makes 4.5 of it
_WIDE = 8
# a wider band of several clients tells a reader nothing: it stays in the stored verdict
_TOLD_BAND_MAX = 4.0


def forecast(
    need: str,
    summaries: Mapping[str, TrialSummary],
    lasting_per_s: float | None = None,
    title: str = "",
    *,
    is_perhaps_burst: bool = False,
) -> Forecast | None:
    """How often the program of a need would commit; None when it was not traced, or its writes were not measured.

    Parameters
    ----------
    lasting_per_s : float or None
        I/Os a second that a volume is left with; each commit is one at least.
    title : str
        What it is called in words; without it, what the program is called.
    is_perhaps_burst : bool
        Whether the volume may have been on burst credit.
    """
    program = PROGRAMS.get(need)
    latency = log_latency(program, summaries) if program else None
    if program is None or latency is None or latency.value is None:
        return None
    program = program.on_computer(_round_trip_ns(program, summaries))
    rate = commit_rate(program, latency)
    block = summaries.get(_NEW_BLOCKS)
    bands = rate_bands(program, latency, block.estimates.get(MEAN_LATENCY) if block else None)
    lasting = None
    if lasting_per_s is not None:
        # what a write takes is then the time between two tokens
        left = lasting_commits_per_s(program, lasting_per_s)
        if left < (rate.value or 0.0):
            lasting, bands = left, rate_bands(program, replace(latency, value=_NS / lasting_per_s, low=None, high=None))
    text = _forecast_text(title or program.title, program, rate, bands, lasting, is_at_first=is_perhaps_burst)
    own = program.own
    return Forecast(rate, bands, latency, own.one_ns, (own.low_ns, own.high_ns), lasting, text)


def lasting_commits_per_s(program: Program, lasting_per_s: float) -> float:
    """Commits a second on a volume that is left with so many I/Os a second, each of which takes its turn."""
    return lasting_per_s * program.left_to_commits(_NS / lasting_per_s)


def _round_trip_ns(program: Program, summaries: Mapping[str, TrialSummary]) -> float | None:
    """What a client and a server take beside a log write on this computer; None where that was not measured."""
    found = summaries[program.write.trial].estimates.get(ROUND_TRIP)
    return found.value if found else None


def log_latency(program: Program, summaries: Mapping[str, TrialSummary]) -> Estimate | None:
    """Time that the log writes of one commit take, in ns; None when their trial was not measured."""
    summary = summaries.get(program.write.trial)
    return summary.estimates.get(MEAN_LATENCY) if summary else None


def commit_rate(program: Program, latency: Estimate) -> Estimate:
    """Commits a second of one client.

    Parameters
    ----------
    latency : Estimate
        `log_latency`, with a value.
    """
    own = program.own
    value, low, high = latency.value or 0.0, latency.low, latency.high
    return Estimate(
        program.left_to_commits(value) * _NS / (value + own.one_ns),
        None if high is None else program.left_to_commits(high) * _NS / (high + own.high_ns),
        None if low is None else program.left_to_commits(low) * _NS / (low + own.low_ns),
        "1/s",
        latency.sample_count,
        latency.effective_sample_count,
        "1 / (latency of the log writes + the program's own time)",
    )


def rate_bands(program: Program, latency: Estimate, new_block: Estimate | None = None) -> tuple[RateBand, ...]:
    """Commits a second of 8 and of 32 clients; empty where clients share no sync.

    Parameters
    ----------
    latency : Estimate
        `log_latency`, with a value.
    new_block : Estimate, optional
        Latency of a durable write into a new block of a log, where it is known.

    Notes
    -----
    A commit waits for the sync under way and then for its own, so at least half of n
    clients share each sync: at worst a commit takes 2/n of the latency, and a little more, and where the log
    grows one of a sync that the more often begins a new block. Its processor
    time comes on top, and more of it than in memory, because clients that slept wake on cold
    processors. At best every sync serves all of them, and the processors
    work meanwhile, for all of them at once: whichever of the two takes longer.
    """
    if not program.shares_syncs or latency.value is None:
        return ()
    bands: list[RateBand] = []
    most, least = _PROCESSOR_SHARES
    # both ends of what one client does: more clients never committed fewer
    short_ns, long_ns = (latency.value if end is None else end for end in (latency.low, latency.high))
    low = program.left_to_commits(long_ns) * _NS / (long_ns + program.own.high_ns)
    high = program.left_to_commits(short_ns) * _NS / (short_ns + program.own.low_ns)
    for count in CLIENT_COUNTS:
        busy = program.own.memory_ns[count]
        slow = _with_new_blocks(program, long_ns, new_block, count)
        low = max(low, program.left_to_commits(long_ns) * _NS / (_SYNCS_AT_WORST * slow / count + most * busy))
        high = max(high, program.left_to_commits(short_ns) * _NS / max(short_ns / count, least * busy))
        bands.append(RateBand(count, low, high))
    return tuple(bands)


def _with_new_blocks(program: Program, latency_ns: float, new_block: Estimate | None, client_count: int) -> float:
    """Latency of a sync of all clients together: with so many bytes it begins a new block of the log more often."""
    write = program.write
    if write.file_state == "overwrite" or new_block is None or new_block.value is None:
        return latency_ns
    share = min(1.0, client_count * write.size_bytes / _BLOCK_BYTES)
    return latency_ns + share * max(0.0, new_block.value - latency_ns)


def _forecast_text(
    title: str,
    program: Program,
    rate: Estimate,
    bands: tuple[RateBand, ...],
    lasting_per_s: float | None = None,
    *,
    is_at_first: bool = False,
) -> str:
    """The forecast in words, without a full stop; a rate that may be a burst's is one at first."""
    if rate.low is not None and rate.high is not None and rate.high > _WIDE * rate.low:
        # the number in its middle says nothing that would come again
        spread, about = f" ({rate} on average)", ""
        often = " to ".join(format_quantity(end, "1/s") for end in (rate.low, rate.high))
    else:
        interval = rate.interval_text()
        spread, about = f" ({FORECAST_RANGE}: {interval})" if interval else "", " about"
        often = str(rate)
    if lasting_per_s is not None:
        left = replace(rate, value=lasting_per_s, low=None, high=None)
        told = f"{title} would commit about {left} times a second here with one client, {often}{spread} on burst credit"
        told += f"; without it {place_on_scale(left, program)}"
    else:
        verb = " at first commit" if is_at_first else f" commit{about}"
        told = f"{title} would{verb} {often} times a second here with one client{spread}"
        told += f", {place_on_scale(rate, program)}"
    narrow = [band for band in bands if band.high <= _TOLD_BAND_MAX * band.low]
    for band in narrow:
        low, high = format_quantity(band.low, "1/s"), format_quantity(band.high, "1/s")
        verb = " it would be" if band is narrow[0] else ""
        told += f"{';' if verb else ','} with {band.client_count} clients{verb}"
        told += f" {low} to {high}"
    return told


def place_on_scale(rate: Estimate, program: Program) -> str:
    """Like which published drives a rate is, or between which two; what is published of them is of files on ext4."""
    value = rate.value or 0.0
    low, high = (value if end is None else end for end in (rate.low, rate.high))
    slower = [mark for mark in MARKS if rate_on(mark, program) < low]
    faster = [mark for mark in MARKS if rate_on(mark, program) > high]
    alike = MARKS[len(slower) : len(MARKS) - len(faster)]
    if len(alike) == 1:
        mark = rate_on(alike[0], program)
        # an interval may reach much further than its number
        how = "about as often as"
        if mark * ABOUT_THE_SAME < value:
            how = "perhaps no more often than"
        elif mark > ABOUT_THE_SAME * value:
            how = "perhaps as often as"
        return f"{how} with {_told(alike[0], program)} under ext4"
    if alike and not slower and not faster:
        return "and which published drive that is like cannot be told"
    if alike and not slower:
        return f"less often than with {_told(faster[0], program)} under ext4"
    if alike and not faster:
        return f"more often than with {_told(slower[-1], program)} under ext4"
    if alike:
        return f"anywhere between {_told(slower[-1], program)} and {_told(faster[0], program)} under ext4"
    if not slower:
        return f"less often than with {_told(MARKS[0], program)} under ext4"
    if not faster:
        return f"more often than with {_told(MARKS[-1], program)} under ext4"
    return f"between {_told(slower[-1], program)} and {_told(faster[0], program)} under ext4"


def _told(mark: ScaleMark, program: Program) -> str:
    # what is published is how long its writes take; the program's own time is that of this computer
    return f"{mark.title} ({format_quantity(rate_on(mark, program), '1/s')} here)"
