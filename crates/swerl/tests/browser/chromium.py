"""A small driver of headless Chromium, over the pipe of its DevTools protocol. Standard library alone."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find():
    """Path of the browser: SWERL_CHROMIUM, else the first of NAMES on the PATH; None without one."""
    named = os.environ.get("SWERL_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    """One browser with one page."""

    def __init__(self, path, timeout=120):
        self.timeout = timeout
        self.folder = tempfile.TemporaryDirectory()
        reads, self.to = os.pipe()
        self.back, writes = os.pipe()
        # The browser wants the descriptors 3 and 4: ours must be out of their way.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (reads, writes)]

        def place():
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            [
                path,
                "--headless=new",
                "--remote-debugging-pipe",
                "--no-sandbox",  # Containers run as root; the pages are our own files.
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
                "--hide-scrollbars",
                f"--user-data-dir={self.folder.name}",
                "about:blank",
            ],
            preexec_fn=place,
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for fd in (reads, writes, *high):
            os.close(fd)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.folder.cleanup()

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + self.timeout
        while True:
            answer = self._next(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def _next(self, deadline):
        while b"\0" not in self.buffer:
            wait = deadline - time.monotonic()
            if wait <= 0 or not select.select([self.back], [], [], wait)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.back, 1 << 16)
            if not part:
                raise RuntimeError("the browser ended; is it whole? try it by hand")
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def wait(self, event):
        deadline = time.monotonic() + self.timeout
        while True:
            if any(e.get("method") == event for e in self.events):
                return
            self.events.append(self._next(deadline))

    def open(self, url):
        # By way of an empty page: another fragment alone would load nothing.
        for address in ("about:blank", url):
            self.events.clear()
            self.call("Page.navigate", url=address)
            self.wait("Page.loadEventFired")

    def run(self, script):
        """The value of an expression in the page."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def complaints(self):
        """Errors and warnings of the console, and exceptions, since the page was opened."""
        self.run("0")
        found = []
        for event in self.events:
            params = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                found.append(str(params["exceptionDetails"]))
            elif event.get("method") == "Log.entryAdded":
                found.append(params["entry"]["text"])
            elif event.get("method") == "Runtime.consoleAPICalled":
                found.append(str(params["args"]))
        return found

    def requests(self):
        sent = (e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent")
        return list(sent)

    def look(self, width, height, dark):
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )
        scheme = "dark" if dark else "light"
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def screenshot(self, path, whole=False):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def middle(self, selector):
        """The middle of the first element that matches, scrolled into view."""
        at = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " if (!e) return null; e.scrollIntoView({block: 'center', behavior: 'instant'});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        if at is None:
            raise AssertionError(f"no {selector} to point at")
        return {"x": at[0], "y": at[1]}

    def hover(self, selector):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", **self.middle(selector))

    def click(self, selector):
        """A real click in the middle of the first element that matches."""
        at = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **at)

    def key(self, key):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38}.get(key, 0)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, selector, text):
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(text)};"
            " e.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
