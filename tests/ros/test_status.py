"""The status line: what it says of pace."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from hydro_sim import status


@pytest.fixture
def shown(monkeypatch):
    """Feeds the line (wall time, simulated time, epoch) and returns what is printed, line by line."""

    def show(*states):
        output = io.StringIO()
        line = status.StatusLine(Console(file=output, width=200))
        for wall, simulated, epoch in states:
            monkeypatch.setattr(status, "time", SimpleNamespace(monotonic=lambda wall=wall: wall))
            snapshot = SimpleNamespace(time=simulated, epoch=epoch, contacts=(), grip_forces={})
            line.update(snapshot, paused=False)
        return output.getvalue().splitlines()

    return show


def test_pace_is_simulated_over_wall_time(shown):
    """Since the line before."""
    lines = shown((0.0, 0.0, 0), (2.0, 1.0, 0), (4.0, 4.0, 0))
    assert ["0.500" in lines[0], "1.500" in lines[1]] == [True, True]


def test_reset_starts_the_pace_afresh(shown):
    """Time that went back is no pace."""
    lines = shown((0.0, 0.0, 0), (2.0, 2.0, 0), (3.0, 0.25, 1), (4.0, 1.25, 1))
    assert len(lines) == 2
    assert "real-time factor  1.000" in lines[1]
