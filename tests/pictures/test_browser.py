"""The browser that draws pictures: found, started, drawing WebGL; what is missing is said in one line."""

import stat
import sys

import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.pictures.browser import find_browser, open_browser

_GREEN_BY_WEBGL = """
() => {
  const gl = Object.assign(document.createElement("canvas"), {width: 2, height: 2}).getContext("webgl2");
  gl.clearColor(0, 1, 0, 1);
  gl.clear(gl.COLOR_BUFFER_BIT);
  const pixel = new Uint8Array(4);
  gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel);
  return Array.from(pixel);
}
"""


def _program(path, text="#!/bin/sh\nexit 3\n"):
    path.write_text(text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def test_webgl_is_drawn_without_a_screen(monkeypatch):
    monkeypatch.delenv("DISPLAY", raising=False)
    with open_browser() as browser:
        assert browser.new_page().evaluate(_GREEN_BY_WEBGL) == [0, 255, 0, 255]
    assert not browser.is_connected()


def test_the_named_browser_comes_before_those_on_the_path(monkeypatch, tmp_path):
    on_path, named = _program(tmp_path / "chromium"), _program(tmp_path / "mine")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HYDRO_SIM_BROWSER", raising=False)
    assert find_browser() == on_path
    monkeypatch.setenv("HYDRO_SIM_BROWSER", str(named))
    assert find_browser() == named


def test_a_missing_browser_is_told_with_its_mend(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("HYDRO_SIM_BROWSER", raising=False)
    with pytest.raises(InputError, match=r"need Chromium.*apt install chromium.*HYDRO_SIM_BROWSER"):
        find_browser()
    monkeypatch.setenv("HYDRO_SIM_BROWSER", str(tmp_path / "gone"))
    with pytest.raises(InputError, match=r"HYDRO_SIM_BROWSER: '.*gone' is no program"):
        find_browser()


def test_a_browser_that_does_not_start_is_named(monkeypatch, tmp_path):
    program = _program(tmp_path / "broken")
    monkeypatch.setenv("HYDRO_SIM_BROWSER", str(program))
    with (
        pytest.raises(InputError, match=f"{program}: does not start: .*; name another") as error,
        open_browser(),
    ):
        pytest.fail("started")
    assert "\n" not in str(error.value)


def test_missing_playwright_is_told_with_its_mend(monkeypatch):
    monkeypatch.setitem(sys.modules, "playwright.sync_api", None)
    with (
        pytest.raises(InputError, match=r"Playwright.*pip install 'hydro-sim-core\[pictures\]'"),
        open_browser(),
    ):
        pytest.fail("started")
