"""Finds Chromium and starts it headless, with WebGL rendered in software."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hydro_sim_core.errors import InputError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Playwright

#: Program names of Chromium and its derivatives; all take the same flags.
_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "microsoft-edge",
    "brave-browser",
)
_VARIABLE = "HYDRO_SIM_BROWSER"
_FLAGS = (
    "--disable-gpu",  # the same picture on every machine
    "--enable-unsafe-swiftshader",  # needed for WebGL without a GPU; unsafe only for untrusted pages
    "--force-color-profile=srgb",  # otherwise colours depend on the screen
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@contextmanager
def open_browser() -> Iterator[Browser]:
    """Start headless Chromium, as a context manager that ends it.

    The browser object is Playwright's and works only in the thread that started it.

    Raises:
        InputError: Playwright or the browser is missing, or the browser does not start.
    """
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        raise InputError(
            "pictures", "", "need Playwright, which is missing", "pip install 'hydro-sim-core[pictures]'"
        ) from None
    with sync_playwright() as playwright:
        program = find_browser(playwright)
        try:
            browser = playwright.chromium.launch(
                executable_path=program, args=_FLAGS, handle_sigint=False, handle_sigterm=False
            )
        except Error as error:
            problem = f"does not start: {error.message.splitlines()[0]}"
            raise InputError(program, "", problem, f"name another browser in {_VARIABLE}") from None
        try:
            yield browser
        finally:
            browser.close()


def find_browser(playwright: Playwright | None = None) -> Path:
    """The program named in HYDRO_SIM_BROWSER, else the first on PATH, else the one that Playwright has downloaded.

    Args:
        playwright: Playwright, for the path of its own browser.

    Raises:
        InputError: There is none.
    """
    if named := os.environ.get(_VARIABLE):
        program = shutil.which(named)
        if program is None:
            raise InputError(_VARIABLE, "", f"'{named}' is no program", "name Chromium, or unset it")
        return Path(program)
    for name in _NAMES:
        if program := shutil.which(name):
            return Path(program)
    own = Path(playwright.chromium.executable_path) if playwright is not None else None
    if own is None or not own.exists():
        mend = f"apt install chromium, or name one in {_VARIABLE}"
        raise InputError("pictures", "", "need Chromium, which is not on PATH", mend)
    return own
