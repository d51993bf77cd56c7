"""The system's Chromium without a window, driven over a pair of pipes: it draws what needs a browser, and asks nobody.

Messages are those of the Chrome DevTools Protocol, JSON texts that end with a
zero byte (``--remote-debugging-pipe``): no port is opened, and no library is needed.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from drivelab.model.errors import DrivelabError

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT_S = 60.0
_READ_BYTES = 1 << 16
_CLOSING_S = 5.0
_END = b"\0"
_ARGUMENTS = (
    "--headless",
    "--remote-debugging-pipe",
    # it shows nothing but what drivelab hands to it, and its sandbox starts neither as root nor in most containers
    "--no-sandbox",
    "--disable-gpu",
    # /dev/shm of a container is often too small
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-breakpad",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-quic",
    "--no-first-run",
    "--no-default-browser-check",
    "--mute-audio",
    "--hide-scrollbars",
    # the same letters at the same places on every machine that has the same fonts
    "--font-render-hinting=none",
    "--force-color-profile=srgb",
    "--force-device-scale-factor=1",
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def find_chromium() -> Path:
    """Where Chromium is installed.

    Raises
    ------
    DrivelabError
        O803: it is not.
    """
    for name in PROGRAMS:
        found = shutil.which(name)
        if found:
            return Path(found)
    raise DrivelabError("O803", f"no {', '.join(PROGRAMS[:-1])} or {PROGRAMS[-1]} is installed")


class Chromium:
    """A running browser with one empty page; a context manager that leaves no process and no file behind.

    Parameters
    ----------
    timeout_s : float
        How long one answer may take.

    Raises
    ------
    DrivelabError
        O803: it is not installed. O804: it does not start, ended, or did not answer in time.
    """

    def __init__(self, timeout_s: float = TIMEOUT_S) -> None:
        self._program = find_chromium()
        self._timeout_s = timeout_s
        self._number = 0
        self._session = ""
        self._received = bytearray()
        self._process_id = 0
        self._to_browser = self._from_browser = -1

    def __enter__(self) -> Self:
        self._profile = tempfile.TemporaryDirectory(prefix="drivelab-chromium-", ignore_cleanup_errors=True)
        self._log = Path(self._profile.name) / "said"
        try:
            self._start()
            page = self._call("Target.createTarget", {"url": "about:blank"})["targetId"]
            attached = self._call("Target.attachToTarget", {"targetId": page, "flatten": True})
            self._session = attached["sessionId"]
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def evaluate(self, script: str) -> Any:
        """What a script in the page comes to, as plain data; promises are waited for.

        Raises
        ------
        DrivelabError
            O804: the script failed, or the browser did.
        """
        answer = self._call(
            "Runtime.evaluate",
            {"expression": script, "awaitPromise": True, "returnByValue": True},
            session=self._session,
        )
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            text = str(details.get("exception", {}).get("description") or details.get("text"))
            raise self._failed(text.splitlines()[0])
        return answer["result"].get("value")

    def _start(self) -> None:
        for_browser, self._to_browser = os.pipe()
        self._from_browser, of_browser = os.pipe()
        # out of the way of the numbers 3 and 4, at which the browser reads what we write and answers
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (for_browser, of_browser)]
        log = os.open(self._log, os.O_WRONLY | os.O_CREAT, 0o600)
        arguments = [*_ARGUMENTS, f"--user-data-dir={self._profile.name}", "about:blank"]
        try:
            self._process_id = os.posix_spawn(
                self._program,
                [str(self._program), *arguments],
                os.environ,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    *((os.POSIX_SPAWN_DUP2, log, number) for number in (1, 2)),
                    *((os.POSIX_SPAWN_DUP2, end, number) for number, end in enumerate(ends, start=3)),
                ],
                setsid=True,
            )
        except OSError as error:
            raise DrivelabError("O804", f"Chromium does not start: {error}", where=str(self._program)) from error
        finally:
            for end in (for_browser, of_browser, *ends, log):
                os.close(end)
        os.set_blocking(self._to_browser, False)

    def _call(self, method: str, parameters: Mapping[str, Any], session: str = "") -> dict[str, Any]:
        """The result of a command; events that arrive meanwhile are of no interest."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        until = time.monotonic() + self._timeout_s
        self._send(json.dumps(message).encode() + _END, until)
        while True:
            answer = json.loads(self._receive(until))
            if answer.get("id") == self._number:
                break
        if "error" in answer:
            raise self._failed(str(answer["error"].get("message")))
        found: dict[str, Any] = answer["result"]
        return found

    def _send(self, data: bytes, until: float) -> None:
        rest = memoryview(data)
        while rest:
            self._wait([], [self._to_browser], until)
            try:
                rest = rest[os.write(self._to_browser, rest) :]
            except BlockingIOError:
                continue
            except BrokenPipeError as error:
                raise self._failed("it ended") from error

    def _receive(self, until: float) -> bytes:
        while _END not in self._received:
            self._wait([self._from_browser], [], until)
            piece = os.read(self._from_browser, _READ_BYTES)
            if not piece:
                raise self._failed("it ended")
            self._received += piece
        message, _, rest = self._received.partition(_END)
        self._received = bytearray(rest)
        return bytes(message)

    def _wait(self, readable: list[int], writable: list[int], until: float) -> None:
        ready = select.select(readable, writable, [], max(0.0, until - time.monotonic()))
        if not ready[0] and not ready[1]:
            raise self._failed(f"it did not answer within {self._timeout_s:g} s")

    def _failed(self, what: str) -> DrivelabError:
        """The error, with the last that the browser said."""
        said = [line for line in self._log.read_text(errors="replace").splitlines() if line.strip()]
        last = f"; it said: {said[-1][:200]}" if said else ""
        return DrivelabError("O804", f"Chromium did not draw: {what}{last}", where=str(self._program))

    def _stop(self) -> None:
        """End the browser and everything that it started, and remove its files."""
        # it ends when nobody is left to tell it anything, and has then ended what it started
        for end in (self._to_browser, self._from_browser):
            if end >= 0:
                os.close(end)
        self._to_browser = self._from_browser = -1
        until = time.monotonic() + _CLOSING_S
        while self._process_id:
            if time.monotonic() > until:
                os.killpg(self._process_id, signal.SIGKILL)
            if os.waitpid(self._process_id, os.WNOHANG)[0]:
                self._process_id = 0
            else:
                time.sleep(0.01)
        self._profile.cleanup()
