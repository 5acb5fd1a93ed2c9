"""Where a player stands after what time and which commands, by a clock that the test sets."""

from __future__ import annotations

import threading
from itertools import count

import pytest

from hydro_sim_core.errors import InputError
from hydro_sim_core.replay import Player, Recording, TimeLine
from hydro_sim_core.viewer.commands import Pause, Reset, Seek, SetJoint, SetSpeed, Step


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def line(run):
    with TimeLine([Recording(run[1])]) as opened:
        yield opened


@pytest.fixture
def clock():
    return Clock()


def test_time_passes_at_the_speed_asked_for(line, clock):
    player = Player(line, speed=0.5, start=0.1, clock=clock)
    clock.now += 0.2
    assert player.place == pytest.approx(0.2)
    player.obey(SetSpeed(factor=2.0))
    clock.now += 0.025
    assert player.place == pytest.approx(0.25)
    assert not player.ended


def test_it_stands_while_paused_and_goes_on_from_there(line, clock):
    player = Player(line, clock=clock)
    clock.now += 0.1
    player.obey(Pause(paused=True))
    clock.now += 5.0
    assert player.place == pytest.approx(0.1)
    player.obey(Pause(paused=False))
    clock.now += 0.1
    assert player.place == pytest.approx(0.2)


def test_seeking_keeps_playing_or_standing(line, clock):
    player = Player(line, clock=clock)
    player.obey(Seek(time=0.2))
    clock.now += 0.05
    assert player.place == pytest.approx(0.25)
    player.obey(Pause(paused=True))
    player.obey(Seek(time=0.05))
    clock.now += 1.0
    assert player.place == pytest.approx(0.05)
    player.obey(Reset())
    assert player.place == 0.0


def test_the_end_stops_and_playing_again_begins_anew(line, clock):
    player = Player(line, clock=clock)
    clock.now += 9.0
    assert player.place == line.end
    assert player.ended
    player.obey(Pause(paused=False))
    clock.now += 0.1
    assert player.place == pytest.approx(0.1)


def test_what_stands_at_the_end_stands_until_it_is_told_to_play(line, clock):
    """As the page shows it: paused, also elsewhere."""
    player = Player(line, clock=clock)
    clock.now += 9.0
    player.obey(Seek(time=0.1))
    clock.now += 0.1
    assert player.place == 0.1
    player.obey(Pause(paused=False))
    clock.now += 0.05
    assert player.place == pytest.approx(0.15)


def test_a_loop_begins_anew_by_itself(line, clock):
    player = Player(line, loop=True, clock=clock)
    clock.now += 3 * 0.3 + 0.1
    assert player.place == pytest.approx(0.1)
    assert not player.ended


@pytest.mark.parametrize(
    "command",
    [Seek(time=0.4), Seek(time=-1.0), SetJoint(name="a", position=0.0), Step(steps=1), SetSpeed(factor=None)],
)
def test_what_a_recording_cannot_do_is_refused(line, clock, command):
    player = Player(line, clock=clock)
    clock.now += 0.1
    with pytest.raises(InputError):
        player.obey(command)
    assert player.place == pytest.approx(0.1)


def test_a_beginning_beyond_the_end_is_refused(line):
    with pytest.raises(InputError, match=r"time 1 s is outside of the recording; give 0 to 0.3"):
        Player(line, start=1.0)


def test_frames_are_shown_while_they_change_and_somebody_watches(line):
    """One at the start for whoever comes, the scene once; then nothing until somebody watches; no frame twice."""
    ticks, looks, stop = count(), count(), threading.Event()
    player = Player(line, clock=lambda: 0.02 * next(ticks))
    scenes, frames = [], []

    def show(frame):
        frames.append(frame)
        if frame.paused:
            stop.set()

    player.run(scenes.append, show, stop, watched=lambda: next(looks) >= 20)
    assert len(scenes) == 1
    times = [frame.time for frame in frames]
    assert times[1] < 0.1  # it stood while nobody watched
    assert len(times) > 5
    assert times == sorted(set(times))
    assert times[-1] == line.end
    assert [frame.paused for frame in frames] == [False] * (len(frames) - 1) + [True]
