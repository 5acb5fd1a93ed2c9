"""A viewer with a scene, and pages of it."""

from __future__ import annotations

import pytest

from hydro_sim_core.pictures.browser import open_browser
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions
from support.viewer.browser import Simulation, opened
from support.viewer.pages import make_scene


@pytest.fixture(scope="module")
def viewer():
    """A viewer with a scene; ``viewer.commands`` are those that pages have given."""
    commands = []
    viewer = Viewer(ViewerOptions(port=0), on_command=commands.append)
    viewer.commands = commands
    viewer.start()
    viewer.show_scene(make_scene())
    yield viewer
    viewer.close()


@pytest.fixture(scope="module")
def browser():
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def running():
    simulation = Simulation()
    yield simulation
    simulation.close()


@pytest.fixture
def simulation(running):
    running.restart()
    return running


@pytest.fixture(scope="class")
def desktop(browser, running):
    """A page of the simulation; several tests use it in turn, as people do."""
    running.restart()
    with opened(browser, running.viewer.url) as page:
        yield page


@pytest.fixture
def scripted():
    """A viewer without a simulation behind it."""
    viewer = Viewer(ViewerOptions(port=0))
    viewer.start()
    yield viewer
    viewer.close()
