"""Chromium, driven over its debugging pipe: no driver and no further package. Tests skip where there is none."""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = """
--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking
--disable-component-update --disable-sync --hide-scrollbars --disable-dev-shm-usage --remote-debugging-pipe
"""
_PATIENCE = 120  # seconds for one answer, on a machine that does other things too
_MM = 25.4


class Tab:
    """One page in a browser."""

    def __init__(self, into: int, out: int) -> None:
        """`into` and `out`: the ends of the debugging pipe."""
        self._into, self._out = into, out
        self._number, self._rest, self._session = 0, b"", None
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.send("Page.enable")

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """One command, and its answer."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._into, json.dumps(message).encode() + b"\0")
        answer = self._wait(lambda each: each.get("id") == self._number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def _wait(self, wanted: Any) -> dict[str, Any]:
        while True:
            while b"\0" in self._rest:
                text, self._rest = self._rest.split(b"\0", 1)
                message: dict[str, Any] = json.loads(text)
                if wanted(message):
                    return message
            if not select.select([self._out], [], [], _PATIENCE)[0]:
                raise TimeoutError("The browser does not answer.")
            part = os.read(self._out, 1 << 20)
            if not part:
                raise RuntimeError("The browser has ended.")
            self._rest += part

    def open(self, page: Path, width: int = 1280, height: int = 900, *, dark: bool = False) -> None:
        """Show a file on a screen of this size."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", media="", features=features)
        self.send("Page.navigate", url=page.as_uri())
        self._wait(lambda each: each.get("method") == "Page.loadEventFired")

    def on_paper(self) -> None:
        """Lay out the open page as it is printed on A4, without printing it."""
        width, height = round((210 - 30) / _MM * 96), round((297 - 34) / _MM * 96)
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", media="print")

    def run(self, script: str) -> Any:
        """The value of a script, also of one that has to be waited for; what the page forbids itself is no bar."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(json.dumps(found["exceptionDetails"])[:2000])
        return found["result"].get("value")

    def press(self, key: str) -> None:
        """Press a key that has a name, such as Tab or Enter."""
        codes = {"Tab": 9, "Enter": 13}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], **text)

    def picture(self, to: Path) -> None:
        """The whole page as PNG."""
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        to.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, to: Path) -> None:
        """The page on A4."""
        made = self.send("Page.printToPDF", preferCSSPageSize=True, printBackground=True)
        to.write_bytes(base64.b64decode(made["data"]))


@contextmanager
def browser() -> Iterator[Tab]:
    """A browser with one page, ended afterwards."""
    assert CHROMIUM is not None
    theirs_in, ours_in = os.pipe()
    ours_out, theirs_out = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        # Chromium reads commands from descriptor 3 and answers on 4.
        wrapped = f'exec "$0" "$@" 3<&{theirs_in} 4>&{theirs_out}'
        command = ["bash", "-c", wrapped, CHROMIUM, *FLAGS.split(), f"--user-data-dir={profile}"]
        process = subprocess.Popen(
            command, pass_fds=(theirs_in, theirs_out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(theirs_in)
        os.close(theirs_out)
        try:
            yield Tab(ours_in, ours_out)
        finally:
            os.close(ours_in)
            os.close(ours_out)
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
