"""What a page of ours complains about and asks for while a browser shows it."""

from __future__ import annotations

from playwright.sync_api import Page

# Chromium's advice to whoever wrote the charts' script
HINTS = ("Canvas2D: Multiple readback operations",)


class PageLog:
    """The messages, errors and dialogs of a page, hints left out, and the addresses it asked for."""

    def __init__(self, page: Page) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self._complain(message.text))
        page.on("pageerror", lambda error: self._complain(str(error)))
        page.on("dialog", lambda dialog: (self._complain(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: self.requests.append(request.url))

    def _complain(self, text: str) -> None:
        if not any(hint in text for hint in HINTS):
            self.complaints.append(text)
