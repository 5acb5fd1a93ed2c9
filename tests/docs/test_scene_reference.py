"""The page of scene keys is that of the code, and every key says what it is."""

from __future__ import annotations

import re
import runpy
from inspect import getmembers, isclass

import pytest

from hydro_sim_core.description import scene
from hydro_sim_core.description.scene_sensors import SENSOR_SECTIONS, SensorSpec
from hydro_sim_core.description.scene_shapes import SHAPE_SECTIONS
from hydro_sim_core.description.scene_soft import SoftPairSettings, SoftSettings
from hydro_sim_core.description.yaml_source import Section
from support.docs.blocks import ROOT

PROGRAM = ROOT / "docs" / "scene_reference.py"
SECTIONS = [
    *(each for _, each in getmembers(scene, isclass) if issubclass(each, Section) and each is not Section),
    SoftSettings,
    SoftPairSettings,
    *SHAPE_SECTIONS.values(),
    SensorSpec,
    *SENSOR_SECTIONS.values(),
]


def test_the_page_is_that_of_the_code():
    written = PROGRAM.with_suffix(".md").read_text()
    assert written == runpy.run_path(str(PROGRAM))["page"](), "run: python docs/scene_reference.py"


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.__name__)
def test_every_key_is_described_and_listed(section):
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([^|]+) \|$", PROGRAM.with_suffix(".md").read_text(), re.MULTILINE)
    told = {(key, text) for key, text in rows}
    for key, field in section.model_fields.items():
        assert field.description, key
        assert field.description.endswith("."), key
        assert (key, " ".join(field.description.replace("``", "`").split())) in told


def test_every_section_is_met_where_the_file_has_it():
    page = PROGRAM.with_suffix(".md").read_text()
    assert page.count("\n## ") == len(SECTIONS)
    for path in (
        "`models.pose`, `environment.pose`, `sensors.pose`",
        "`commands.signal.square`",
        "`contact.defaults`",
        "`sensors`",
        "`sensors with type: imu`",
    ):
        assert f"\n## {path}\n" in page
    assert (
        "| `max_force` | number above 0 | N, or N m |  | Largest force a finger; of a linkage the largest"
        in page
    )
    assert "| `time_step` | number at least 1e-06, at most 0.1 | s | `0.001` |" in page
