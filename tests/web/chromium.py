"""A real Chromium, driven by its own protocol (CDP) over a websocket, for tests of the page."""

import base64
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets.sync.client import connect

PATIENCE = 300.0  # seconds until something that should have happened counts as a failure: kernels may have to compile


def find_chromium() -> str | None:
    """The path of a Chromium or Chrome, if there is one."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


class Chromium:
    """A headless browser with one page."""

    def __init__(self, program: str, profile: Path) -> None:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--no-first-run"]
        options += ["--disable-dev-shm-usage", "--disable-extensions", "--mute-audio", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            [program, *options, "about:blank"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        port_file = profile / "DevToolsActivePort"
        wait_until(lambda: port_file.exists() and bool(port_file.read_text().strip()), "Chromium did not start")
        port = port_file.read_text().split()[0]
        with urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            page = next(one for one in json.load(answer) if one["type"] == "page")
        self._open = ExitStack()
        self._socket = self._open.enter_context(connect(page["webSocketDebuggerUrl"], max_size=None, proxy=None))
        self._count = 0
        self.complaints: list[str] = []
        """What the page reported as an error."""
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")
        self.send("Browser.setDownloadBehavior", behavior="deny")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol."""
        self._count += 1
        self._socket.send(json.dumps({"id": self._count, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=PATIENCE))
            if message.get("method") == "Runtime.exceptionThrown":
                self.complaints.append(str(message["params"]["exceptionDetails"]))
            if message.get("method") == "Log.entryAdded" and message["params"]["entry"]["level"] == "error":
                self.complaints.append(str(message["params"]["entry"]))
            if message.get("id") == self._count:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result

    def open(self, address: str, width: int = 1440, height: int = 900, scheme: str = "light", zoom: float = 1) -> None:
        """Go to an address, in a window of this size."""
        self.resize(width, height, scheme, zoom)
        self.send("Page.navigate", url=address)

    def resize(self, width: int, height: int, scheme: str = "light", zoom: float = 1) -> None:
        """Change the window (in pixels of CSS), its zoom, and whether the system is light or dark."""
        size = {"width": width, "height": height, "deviceScaleFactor": zoom, "mobile": width < 600}
        self.send("Emulation.setDeviceMetricsOverride", **size)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression in the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"].get("exception", answer["exceptionDetails"])))
        return answer["result"].get("value")

    def wait(self, script: str, why: str = "") -> Any:
        """Wait until a JavaScript expression is true; returns its value."""
        found: list[Any] = []

        def is_true() -> bool:
            try:
                found[:] = [self.run(script)]
            except RuntimeError:  # the page is being loaded
                return False
            return bool(found[0])

        wait_until(is_true, lambda: f"never: {why or script}\n{self.text()}\n{self.complaints}")
        return found[0]

    def wait_for_text(self, text: str) -> None:
        """Wait until the page shows a text."""
        self.wait(f"document.body.innerText.includes({json.dumps(text)})")

    def text(self) -> str:
        """What the page shows."""
        return str(self.run("document.body.innerText"))

    def click(self, selector: str, text: str = "", at: tuple[float, float] = (0.5, 0.5)) -> None:
        """Click the first element that fits, and has this text: its middle, or `at` this share of width and height.

        A page that is just changing may move it away from under the mouse: then the click is repeated.
        """
        find = (
            f"[...document.querySelectorAll({json.dumps(selector)})]"
            f".find((one) => one.textContent.trim().startsWith({json.dumps(text)}) && !one.disabled)"
        )
        where = (
            f"(() => {{ const one = {find}; if (!one) return null; one.scrollIntoView({{block: 'nearest'}});"
            f" const b = one.getBoundingClientRect(), x = b.x + b.width * {at[0]}, y = b.y + b.height * {at[1]};"
            " if (!one.contains(document.elementFromPoint(x, y))) return null;"
            " window.hit = false;"
            " one.addEventListener('click', () => { window.hit = true; }, {once: true, capture: true});"
            " return [x, y]; })()"
        )

        def hits() -> bool:
            self.click_at(*self.wait(where, f"no {selector} {text} that can be clicked"))
            for _ in range(20):
                if self.run("window.hit !== false"):  # undefined: the click has led to another page
                    return True
                time.sleep(0.05)
            return False

        wait_until(hits, f"no click reached {selector} {text}")

    def click_at(self, x: float, y: float) -> None:
        """Click a place of the window, as a mouse does."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def hover_at(self, x: float, y: float) -> None:
        """Move the mouse."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def wheel(self, x: float, y: float, turn: float) -> None:
        """Turn the wheel over a place, down if `turn` is above 0."""
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=turn)

    def press(self, key: str) -> None:
        """Press a key that has no text of its own, or a letter."""
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = {"Enter": 13, "Tab": 9}.get(key, 0)
        extra = {"text": text} if text else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **extra)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def picture(self, path: Path, whole: bool = False) -> None:
        """Save what the window shows, or the whole page."""
        data = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(data))

    def close(self) -> None:
        """End the browser with all its processes."""
        self._open.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def wait_until(is_true: Callable[[], bool], why: str | Callable[[], str]) -> None:
    """Wait for something that happens elsewhere; AssertionError if it does not."""
    end = time.monotonic() + PATIENCE
    while not is_true():
        if time.monotonic() > end:
            raise AssertionError(why if isinstance(why, str) else why())
        time.sleep(0.02)
