"""The system's Chromium, offline and without any of its chatter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from system_packages import find_program

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# how long anything in a page is waited for, on however busy a machine
WAIT_MS = 240_000
CHROMIUM_ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # else each window loads some 400 scripts of an address bar that nobody sees
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """A running browser; tests that use it are marked ``needs_tool("chromium")``."""
    # imported here: collecting the tests must not need it
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_program("chromium"), args=CHROMIUM_ARGUMENTS)
        browser.on("context", lambda context: context.set_default_timeout(WAIT_MS))
        yield browser
        browser.close()
