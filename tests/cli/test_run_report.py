"""What a run tells at its end where a page has loaded another scene meanwhile."""

from __future__ import annotations

import time
from contextlib import contextmanager

from rich.console import Console

from hydro_sim_core import load_scene
from hydro_sim_core.assets import folder
from hydro_sim_core.cli import run


def test_a_report_is_of_the_scene_that_a_page_has_loaded_last(monkeypatch):
    """Steps of the new scene were divided by the wall time of both."""
    scene = folder("config") / "scenes" / "drop_box.yaml"
    first, second = load_scene(scene), load_scene(scene)
    loaded_after: list[float] = []

    @contextmanager
    def shown(runner, page, begin):
        runner.start()
        runner.wait_for_step(runner.snapshot(), 60.0)
        time.sleep(0.3)
        loaded_after.append(runner.report().wall_time)
        runner.exchange(second, lambda old, new: begin(new))
        yield

    monkeypatch.setattr(run, "_shown", shown)
    began = time.monotonic()
    told = run.run_world(first, 0.5, 1.0, Console(quiet=True), live=False)
    wall = time.monotonic() - began
    assert loaded_after[0] > 0.3
    assert told.simulated_time == 0.5
    assert told.steps == told.pace.step_time.count
    assert told.pace.wall_time <= wall - loaded_after[0]
    assert told.real_time_factor == 0.5 / told.pace.wall_time
