"""What a limit with burst credit is like: a bucket of tokens that I/Os, or bytes, are taken from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from drivelab.model.plain import Plain
from drivelab.model.units import format_duration_ns, format_rate_bytes_per_s, format_rate_per_s

Token = Literal["I/Os", "bytes"]
# bucket: it emptied and refilled; empty: it refilled, and held nothing at first; fell: it became slower, and an idle
# time gave back something else than a bucket would; no end: nothing fell while it was watched
BucketVerdict = Literal["bucket", "empty", "fell", "no end"]


@dataclass(frozen=True, slots=True)
class TokenBucket(Plain):
    """What was seen of a limit with burst credit.

    Attributes
    ----------
    verdict : str
        What it is, of `BucketVerdict`.
    token : str
        What the numbers count: I/Os or bytes.
    watched_s : float
        From the first I/O until the first fall was certain, or until the time was up.
    moved : float
        I/Os or bytes in that time.
    burst_per_s, base_per_s : float or None
        Rate while there is credit, and without; None where none was seen.
    size : float or None
        Credit that was there at first: what was moved until the fall, beyond what the base rate gave meanwhile.
    lasts_s : float or None
        How long that lasts at the burst rate.
    refills_per_s : tuple of float
        What each idle time gave back, for each of its seconds.
    base_range_per_s : tuple of float
        The lowest and the highest base rate of all times without credit; empty where there is none.
    is_flat : bool
        Whether the rate before the fall was as constant as a limit, and not as a drive.
    at_once : float
        What a limit let pass at first beyond the rate that stayed, too soon over to be a burst.
    """

    TOLD = ("refill_per_s", "full_after_s")

    verdict: BucketVerdict
    token: Token
    watched_s: float
    moved: float
    burst_per_s: float | None = None
    base_per_s: float | None = None
    size: float | None = None
    lasts_s: float | None = None
    refills_per_s: tuple[float, ...] = ()
    base_range_per_s: tuple[float, ...] = ()
    is_flat: bool = False
    at_once: float = 0.0

    @property
    def is_bucket(self) -> bool:
        """Whether it gives burst credit."""
        return self.verdict in ("bucket", "empty")

    @property
    def refill_per_s(self) -> float | None:
        """What a second of idle time gives back."""
        return sum(self.refills_per_s) / len(self.refills_per_s) if self.refills_per_s else None

    @property
    def burst_for_each_idle_s(self) -> float | None:
        """How long a second of idle time lets it run at the burst rate."""
        if not self.refill_per_s or self.burst_per_s is None or self.base_per_s is None:
            return None
        return self.refill_per_s / (self.burst_per_s - self.base_per_s)

    @property
    def full_after_s(self) -> float | None:
        """Idle time that gives back all the credit that was seen."""
        return self.size / self.refill_per_s if self.size and self.refill_per_s else None

    def rate_text(self, per_s: float | None) -> str:
        """A rate of what it counts: ``3 000 IOPS``, ``134 MB/s``."""
        rate = per_s or 0.0
        return f"{format_rate_per_s(rate)} IOPS" if self.token == "I/Os" else format_rate_bytes_per_s(rate)

    def fast_then_slow(self) -> str:
        """The two rates and how long the first one lasts: ``3 000 IOPS for 2000 s, then 300 IOPS``."""
        base, burst = self.rate_text(self.base_per_s), self.rate_text(self.burst_per_s)
        if self.lasts_s is None:
            return f"it is used up, and {base} are left of {burst}"
        return f"{burst} for {format_duration_ns(round(self.lasts_s * 1e9))}, then {base}"
