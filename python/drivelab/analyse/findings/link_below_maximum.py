"""A link that runs slower or narrower than drive and port can."""

from __future__ import annotations

from drivelab.model.drive import LinkFacts
from drivelab.model.finding import Finding
from drivelab.model.host import HostFacts
from drivelab.model.target import TargetFacts
from drivelab.model.units import format_rate_bytes_per_s

CODE = "link-below-maximum"


def find_in_target(target: TargetFacts, _host: HostFacts | None = None) -> list[Finding]:
    """One finding for each drive whose link was trained down."""
    found = []
    for drive in target.drives:
        link = drive.link
        if link is None or not link.is_below_maximum:
            continue
        text = (
            f"the link of {drive.name} runs at {_link_text(link.rate_bits_per_s, link.lanes, link)} of "
            f"{_link_text(link.rate_bits_per_s_max or link.rate_bits_per_s, link.lanes_max or link.lanes, link)}: "
            f"throughput ends at {format_rate_bytes_per_s(link.ceiling_bytes_per_s)} at best"
        )
        facts = {"drive": drive.name, "link": link.to_json()}
        advice = "try another cable, slot or port; look at the slot's width and at power management of the link"
        found.append(Finding(CODE, "warning", text, "", facts, advice))
    return found


def _link_text(rate_bits_per_s: int, lanes: int, link: LinkFacts) -> str:
    if link.kind == "pcie":
        return f"{rate_bits_per_s / 1e9:g} GT/s x{lanes}"
    return f"{rate_bits_per_s / 1e9:g} Gbit/s"
