"""Headless Chromium, driven over its debugging pipe: enough to open a page, look for faults and measure it.

The protocol is JSON messages that end with a null byte, on the file descriptors 3 (to) and 4 (from).
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

_START = """
import fcntl, os, sys
reads, writes = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(reads, 3)
os.dup2(writes, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """The browser of this machine, if it has one."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Browser:
    """One browser with one page; what the page logs, or fails with, is in `faults`."""

    def __init__(self, program: str) -> None:
        to_child, ours = os.pipe()
        theirs, from_child = os.pipe()
        self.profile = tempfile.mkdtemp(prefix="chromium-")
        command = [
            program, "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
            "--disable-dev-shm-usage", f"--user-data-dir={self.profile}", "--remote-debugging-pipe",
            "about:blank",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, str(to_child), str(from_child), *command],
            pass_fds=(to_child, from_child), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_child)
        os.close(from_child)
        self.writer, self.reader = os.fdopen(ours, "wb"), os.fdopen(theirs, "rb")
        self.number, self.pending = 0, b""
        self.faults: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.loaded: set[str] = set()  # the loaders whose page is there
        self.session: str | None = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call("Page.setLifecycleEventsEnabled", enabled=True)

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        self.process.wait(timeout=20)
        self.writer.close()
        self.reader.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events are noted meanwhile."""
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": params}
        if self.session is not None:
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        self.writer.flush()
        while True:
            answer = self._receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer["error"])
                result: dict[str, Any] = answer["result"]
                return result

    def open(self, page: Path, width: int, height: int = 900, dark: bool = False, query: str = "") -> None:
        """Load a file in a window of this size and wait until it is there."""
        self._go("about:blank")  # what the last page still does is no concern of the next
        self.faults.clear()
        self.requests.clear()
        phone = width < 600
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=phone,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self._go(page.resolve().as_uri() + query)

    def _go(self, address: str) -> None:
        loader = self.call("Page.navigate", url=address)["loaderId"]
        while loader not in self.loaded:  # a script sent before would meet a page that is being replaced
            self._receive()

    def wait_for(self, script: str) -> None:
        """Wait, up to half a minute, until an expression is true in the page."""
        see = f"const see = n => ({script}) || !n ? done(n) : setTimeout(see, 50, n - 1)"
        test = f"new Promise(done => {{ {see}; see(600) }})"
        answer = self.call("Runtime.evaluate", expression=test, returnByValue=True, awaitPromise=True)
        assert answer["result"].get("value"), (script, answer)

    def evaluate(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, place: Path, whole: bool = False) -> None:
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        place.write_bytes(base64.b64decode(data))

    def overflow(self) -> int:
        """By how many pixels the page is wider than its window."""
        width: int = self.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        return width

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self.pending:
            data = os.read(self.reader.fileno(), 1 << 16)
            assert data, "the browser has ended"
            self.pending += data
        text, self.pending = self.pending.split(b"\0", 1)
        message: dict[str, Any] = json.loads(text)
        match message:
            case {"method": "Runtime.exceptionThrown" | "Log.entryAdded" | "Runtime.consoleAPICalled"}:
                self.faults.append(message["params"])
            case {"method": "Network.requestWillBeSent", "params": {"request": {"url": str(url)}}}:
                self.requests.append(url)
            case {"method": "Page.lifecycleEvent", "params": {"name": "load", "loaderId": str(loader)}}:
                self.loaded.add(loader)
        return message
