"""A recording has the colours of its run, in however many files it lies."""

from __future__ import annotations

import pytest

from hydro_sim_core import World
from hydro_sim_core.cli.output import make_console
from hydro_sim_core.cli.plot_series import RecordedMotion
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.experiments.published_scenes import published_scene
from hydro_sim_core.messages.view import View
from hydro_sim_core.recording import FileLimits, Recorder, recording_files
from hydro_sim_core.replay import Recording, TimeLine
from hydro_sim_core.simulation.world.snapshot import take_snapshot


@pytest.fixture(scope="module", params=[None, View(scale=PressureScale(300.0))], ids=["not told", "told"])
def recorded(request, tmp_path_factory):
    """A box that lands hard and comes to rest: how it is shown, its recording in one file, and in several."""
    world = World(published_scene("drop_box"))
    options = {"view": request.param} if request.param else {}
    folder = tmp_path_factory.mktemp("parts")
    recorders = [
        Recorder(folder / "whole.mcap", **options, complete=True),
        Recorder(folder / "part.mcap", **options, complete=True, limits=FileLimits(duration=0.1)),
    ]
    snapshot = take_snapshot(world, epoch=0)
    for recorder in recorders:
        recorder.start(snapshot, world)
    while world.time < 0.6:
        world.step()
        snapshot = take_snapshot(world, epoch=0)
        for recorder in recorders:
            recorder.record(snapshot, world)
    for recorder in recorders:
        assert recorder.stop().error is None
    return request.param, folder / "whole.mcap", recording_files(folder / "part.mcap")


@pytest.mark.heavy(2)
def test_parts_have_the_colours_of_one_file(recorded):
    view, whole, parts = recorded
    assert len(parts) > 3
    with TimeLine([Recording(whole)]) as one, TimeLine([Recording(part) for part in parts]) as several:
        assert several.scale.maximum == one.scale.maximum
        if view is not None:
            assert one.scale.maximum == view.scale.maximum
        assert {several.scene(place).scale.maximum for place in several.places} == {one.scale.maximum}
    with RecordedMotion(whole, make_console()) as one, RecordedMotion(parts[0], make_console()) as several:
        assert several.scale.maximum == one.scale.maximum


def test_a_given_scale_holds_for_all_parts(recorded):
    _, _, parts = recorded
    with TimeLine([Recording(part, PressureScale(5e3)) for part in parts]) as line:
        assert line.scale.maximum == 5e3


def test_recordings_of_two_scenes_share_the_wider_scale(recorded, run):
    """The file of a fixture that tells none, and one that may tell its own."""
    _, whole, _ = recorded
    with Recording(whole) as one, Recording(run[1]) as other, TimeLine([one, other]) as line:
        assert line.scale.maximum == max(one.scale.maximum, other.scale.maximum)


@pytest.mark.parametrize("told", ["", "nan", "-1", "1e300", "wide"])
def test_a_told_scale_that_is_none_is_not_used(recorded, told, monkeypatch):
    _, whole, _ = recorded
    with Recording(whole) as plain:
        plain._index.about.pop("full_scale", None)
        chosen = plain.scale.maximum
    with Recording(whole) as strange:
        strange._index.about["full_scale"] = told
        assert strange.scale.maximum == chosen
