"""A browser driven from a test: Chromium without a window, told what to do through its DevTools pipe.

  with browser.start() as chromium:
      page = chromium.open("file:///tmp/page.html")
      page.evaluate("document.title")

No packages: messages are JSON objects ended by a zero byte, read and written on two descriptors.
"""
import base64
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

# Where a browser may be; the first that exists is used.
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
         "--disable-features=Translate,MediaRouter,OptimizationHints", "--mute-audio", "--hide-scrollbars=false",
         "--force-device-scale-factor=1", "--font-render-hinting=none", "--remote-debugging-pipe")
SECONDS = 120  # for anything; the machine may be busy


class Failure(RuntimeError):
    pass


def program():
    """The browser's path, or None."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def start(width=1280, height=900):
    return Browser(program(), width, height)


class Browser:
    def __init__(self, path, width, height):
        self._profile = tempfile.mkdtemp(prefix="wavetap-browser-")
        self._number, self._size, self._events, self._rest = 0, (width, height), [], b""
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def place_descriptors():
            # The browser reads 3 and writes 4, whatever numbers the pipes have here.
            high = os.dup(to_browser), os.dup(from_browser)
            spare = [os.dup(fd) for fd in high]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        self._child = subprocess.Popen(
            [path, *FLAGS, f"--user-data-dir={self._profile}", f"--window-size={width},{height}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=place_descriptors,
            pass_fds=(3, 4), start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._child.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    def call(self, method, session=None, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") != self._number:
                self._events.append(answer)
            elif "error" in answer:
                raise Failure(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def _read(self):
        while b"\0" not in self._rest:
            part = os.read(self._in, 1 << 20)
            if not part:
                raise Failure("the browser has gone")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def open(self, url):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        page.call("Page.enable")
        page.call("Runtime.enable")
        # Seconds of the processor, not of a clock: they say the same on a busy machine.
        page.call("Performance.enable", timeDomain="threadTicks")
        page.call("Emulation.setDeviceMetricsOverride", width=self._size[0], height=self._size[1], deviceScaleFactor=1, mobile=False)
        page.call("Page.navigate", url=url)
        return page

    def errors(self):
        """What pages have complained about: uncaught exceptions and messages to the console."""
        out = []
        for event in self._events:
            if event.get("method") == "Runtime.exceptionThrown":
                details = event["params"]["exceptionDetails"]
                out.append(details.get("exception", {}).get("description") or details["text"])
            if event.get("method") == "Runtime.consoleAPICalled":
                out.append(" ".join(str(a.get("value")) for a in event["params"]["args"]))
        return out


class Page:
    def __init__(self, browser, session):
        self._browser, self._session = browser, session

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def evaluate(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise Failure(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def wait(self, expression):
        """Until the expression holds."""
        end = time.monotonic() + SECONDS
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise Failure(f"never: {expression}; {self._browser.errors()}")
            time.sleep(0.02)

    def frame(self):
        """Until the page has drawn what it wants to draw."""
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def processor_seconds(self):
        """What the page's main thread has used."""
        return next(m["value"] for m in self.call("Performance.getMetrics")["metrics"] if m["name"] == "TaskDuration")

    def key(self, key, shift=False):
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        code = {"Enter": 13, "Escape": 27}.get(key, ord(key.upper()) if len(key) == 1 else 0)
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "", windowsVirtualKeyCode=code,
                      modifiers=8 if shift else 0)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def wheel(self, x, y, delta, shift=False):
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta, modifiers=8 if shift else 0)

    def move(self, x, y, pressed=False):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left" if pressed else "none", buttons=1 if pressed else 0)

    def press(self, x, y, release=True, count=1):
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, button="left", buttons=1, clickCount=count)
        if release:
            self.release(x, y, count)

    def release(self, x, y, count=1):
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, button="left", clickCount=count)

    def dark(self, on):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if on else "light"}])

    def screenshot(self, path, whole=False):
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        pathlib.Path(path).write_bytes(base64.b64decode(picture["data"]))
