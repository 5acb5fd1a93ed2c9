"""The table of tasks of the node's page is that of the registry."""

import re
from pathlib import Path

from hydro_sim_core.tasks import TASKS

PAGE = Path(__file__).parents[2] / "docs" / "ros_node.md"
ROW = re.compile(r"^\| \[`(\w+)`\]\(tasks\.md#(\w+)\) \|[^|]*\| `(\w+)` \|([^|]*)\|$", re.MULTILINE)


def test_every_task_has_its_row_with_its_scene_and_settings():
    rows = {
        name: (link, scene, re.findall(r"`(\w+)`", settings))
        for name, link, scene, settings in ROW.findall(PAGE.read_text())
    }
    assert rows == {name: (name, task.scene, list(task.settings)) for name, task in TASKS.items()}
