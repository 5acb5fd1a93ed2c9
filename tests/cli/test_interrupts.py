"""Ctrl-C ends what goes on until then, wherever it meets the program."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from types import SimpleNamespace

import pytest
from rich.console import Console

from hydro_sim_core.cli import interrupts
from hydro_sim_core.cli.interrupts import CtrlC, interruptible
from hydro_sim_core.cli.replay import view_line


def press_ctrl_c_while_something_is_tried():
    """As libraries try imports that they can do without."""
    with suppress(BaseException):
        os.kill(os.getpid(), signal.SIGINT)


def test_the_first_is_an_event_and_the_second_kills():
    before = signal.getsignal(signal.SIGINT)
    with interruptible() as stop:
        assert not stop.is_set()
        press_ctrl_c_while_something_is_tried()
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture
def handler():
    """That of before, also where a command has left its own for the end of the program."""
    before = signal.getsignal(signal.SIGINT)
    yield before
    signal.signal(signal.SIGINT, before)


def press():
    os.kill(os.getpid(), signal.SIGINT)


def test_only_the_first_of_many_raises(handler):
    with CtrlC() as ctrl_c:
        with pytest.raises(KeyboardInterrupt):
            press()
        for _ in range(5):
            press()
    press()  # as while the program ends
    assert ctrl_c.pressed


def test_where_it_is_looked_at_none_raises_until_looking_has_not_helped(handler, monkeypatch):
    now = SimpleNamespace(s=50.0)
    monkeypatch.setattr(interrupts, "time", SimpleNamespace(monotonic=lambda: now.s))
    with CtrlC() as ctrl_c:
        ctrl_c.is_looked_at = True
        press()
        press()
        assert ctrl_c.pressed
        now.s += 3.0
        with pytest.raises(KeyboardInterrupt):
            press()
        press()


def test_what_was_not_pressed_leaves_the_handler_of_before(handler):
    with CtrlC() as ctrl_c:
        assert not ctrl_c.pressed
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_replay_hears_it_while_packages_are_imported():
    """Pages are served, and the first frame is made: trimesh comes with that."""
    closed = []

    def run(show_scene, show, stop, watched):
        press_ctrl_c_while_something_is_tried()
        assert stop.wait(5.0)

    viewer = SimpleNamespace(
        start=lambda: "http://nowhere/", close=lambda: closed.append(True), show=None, show_scene=None
    )
    view_line(SimpleNamespace(run=run, obey=None), viewer, Console(quiet=True))
    assert closed
