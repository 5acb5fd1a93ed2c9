"""A viewer with a scene, and pages of it."""

from __future__ import annotations

import pytest

from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions
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
