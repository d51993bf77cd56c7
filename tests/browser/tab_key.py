"""Which elements of a page the Tab key reaches."""

from __future__ import annotations

from playwright.sync_api import Page


def missed_by_tab(page: Page, selector: str) -> list[int]:
    """Numbers of the visible elements of a selector at which the Tab key never arrives."""
    wanted = page.evaluate(
        """(selector) => [...document.querySelectorAll(selector)]
          .filter((element) => element.checkVisibility() && !element.closest("details:not([open]) > :not(summary)"))
          .filter((element) => !element.closest(".modebar"))
          .map((element, number) => { element.dataset.wanted = number; return number; })""",
        selector,
    )
    assert wanted
    reached = set()
    for _ in range(3 * len(wanted)):
        page.keyboard.press("Tab")
        number = page.evaluate("document.activeElement?.dataset?.wanted ?? null")
        if number is not None:
            reached.add(int(number))
        if len(reached) == len(wanted):
            break
    return sorted(set(wanted) - reached)
