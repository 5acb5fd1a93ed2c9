"""The page in a real browser, of a simulation that runs."""

from __future__ import annotations

import io
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from PIL import Image

import hydro_sim_core as hs
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.viewer.live import LiveView, RunnerControls
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions
from support.viewer.pages import PATIENCE, wait_until

SCENE = Path(__file__).parents[3] / "config/scenes/spatula_slip.yaml"
SCALE = PressureScale(20e3)
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
#: Middle of the desktop's stage, where nothing floats above the scene.
MIDDLE = {"x": 290, "y": 110, "width": 600, "height": 540}


class Simulation:
    """A gripper that holds a spatula, on a page."""

    def __init__(self):
        self.world = hs.load_scene(SCENE)
        self.runner = FixedRateRunner(self.world)
        self.viewer = Viewer(ViewerOptions(port=0))
        self.viewer.start()
        self.view = LiveView(self.runner, self.viewer, SCALE, RunnerControls(self.runner))
        self.view.start()
        self.commands = []
        obey = self.viewer.on_command

        def note_and_obey(command):
            self.commands.append((time.monotonic(), command))
            obey(command)

        self.viewer.on_command = note_and_obey
        self.runner.start()

    def restart(self):
        """From the start, held with 5 N, at half the pace: the machine may be busy."""
        self.runner.reset()
        self.runner.submit(lambda world: world.set_gripper(force=5.0))
        self.runner.set_pace(0.5)
        self.runner.resume()
        self.commands.clear()

    def close(self):
        self.runner.stop()
        self.view.stop()
        self.viewer.close()

    @property
    def grip_force(self):
        return self.runner.snapshot().grip_forces["gripper"]


@contextmanager
def opened(browser, url, viewport=DESKTOP, loses_server=False, **options):
    """A page that shows its first frame. It asks nobody but its server, and has nothing to complain of."""
    context = browser.new_context(viewport=viewport, color_scheme="light", **options)
    try:
        page = context.new_page()
        page.set_default_timeout(1e3 * PATIENCE)
        page.asked, page.answers, page.errors = [], [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("websocket", lambda socket: page.asked.append(socket.url))
        page.on("response", lambda answer: page.answers.append(answer))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("console", lambda words: page.errors.append(words.text) if words.type == "error" else None)
        # A second page beside one that draws without a graphics card may wait long for a processor.
        page.goto(url, timeout=4e3 * PATIENCE)
        wait_until(lambda: look(page, "seq") is not None)
        yield page
    finally:
        context.close()
    assert {urlsplit(asked).hostname for asked in page.asked} == {"127.0.0.1"}
    if loses_server:
        # Refused, or lost in the middle of an answer or a handshake.
        expected = ("ERR_CONNECTION_", "ERR_EMPTY_RESPONSE", "Connection closed before", "403")
        page.errors = [error for error in page.errors if not any(code in error for code in expected)]
    assert page.errors == []


def look(page, what):
    """Something the page tells of itself."""
    return page.evaluate(f"window.hydroSim ? hydroSim.{what} : null")


def text(page, selector):
    return page.locator(selector).inner_text()


def is_visible(page, selector):
    return page.locator(selector).is_visible()


def box(page, selector):
    """Place of an element on the page, px."""
    return page.locator(selector).bounding_box()


def picture(page, clip=MIDDLE):
    """Pixels (H, W, 3) of a part of the page."""
    return np.asarray(Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB"))


def places_on_scale(pixels):
    """Place of each pixel's colour in the table of the scale; -1 where it is none of its colours."""
    codes = pixels.astype(np.int64) @ [65536, 256, 1]
    table = SCALE.table().astype(np.int64) @ [65536, 256, 1]
    order = np.argsort(table)
    found = order[np.clip(np.searchsorted(table[order], codes), 0, len(table) - 1)]
    return np.where(table[found] == codes, found, -1)


def show_patches_alone(page):
    """Nothing covers the faces."""
    for name in ("show-edges", "show-wrenches"):
        page.locator(f"#{name}").uncheck()


def set_grip(page, force):
    page.locator("#grip-section input[type=range]").fill(str(force))


def pause(page, simulation):
    """Stand still, once the page shows the last step."""
    page.locator("#pause").click()
    wait_until(lambda: simulation.runner.paused)
    wait_until(lambda: text(page, "#clock") == f"{simulation.runner.snapshot().time:.3f} s")


def drawn_peak(page):
    """The highest place on the scale that several pixels show."""
    counts = np.bincount(1 + places_on_scale(picture(page)).ravel(), minlength=257)[1:]
    return np.flatnonzero(counts >= 5).max()
