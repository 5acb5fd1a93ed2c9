"""Steps that do not converge at an equivalent point: what did not repeat itself is told, with the names of the bodies.

And steps that did not, and do.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs

#: A block that slides on its landing, in steps that may be solved twice only: friction cannot repeat itself in these. A
#: compiled step would keep the number it was compiled with.
_SCRIPT = """
import json
import hydro_sim_core as hs
from hydro_sim_core.cli.run_report import Pace, RunRecorder
from hydro_sim_core.simulation import Distribution
from hydro_sim_core.simulation.integrators import steppers
from hydro_sim_core.simulation.stepping import point_contacts
from hydro_sim_core.simulation.world.snapshot import take_snapshot

point_contacts.MOST_SOLVES = 1
steppers.MOST_CUTS = 1
scene = hs.SceneBuilder("s", contact={"compliance": "rigid", "friction": 0.5}, time_step=0.01).add_ground()
for name, z in (("block", 0.05), ("bird", 5.0)):
    scene.add_body(name, 1.0, xyz=(0, 0, z)).add_shape("box", size=3 * (0.1,))
    scene.set_contact_law(name, "ground", "equivalent_point")
world = hs.World(scene.build())
world.place("block", V_WB=[0, 0, 0, 1.0, 0, 0])
recorder = RunRecorder(world)
told = []
for _ in range(2):
    world.step()
    recorder.observe(world)
    told.append([str(warning) for warning in world.contact_summary().warnings])
report = recorder.report(world, Pace(1.0, Distribution()), interrupted=False)
print(json.dumps({
    "diagnostics": world.diagnostics(),
    "told": told,
    "snapshot": [str(warning) for warning in take_snapshot(world, 0).contact_summary.warnings],
    "run": report.as_dict()["unrepeated"],
    "rows": report._rows(),
}))
"""


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    found = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        cwd=Path(__file__).parents[2],
    )
    assert found.returncode == 0, found.stderr
    made: dict[str, Any] = json.loads(found.stdout)
    return made


def test_what_did_not_repeat_is_told_with_the_names_of_the_bodies(told: dict[str, Any]) -> None:
    """And not of the bird, which touches nothing."""
    (line,) = told["told"][1]
    assert line.startswith("block on ground: the step did not converge at their equivalent point: ")
    assert line.endswith("make the time step shorter")
    assert told["snapshot"] == [line]


def test_diagnostics_count_all_solves_of_the_step(told: dict[str, Any]) -> None:
    """It was told as one, though the step had been solved again and again."""
    done = told["diagnostics"]
    assert done["converged"] is False
    assert done["unconverged_steps"] == 2
    assert done["solves"] == 2
    assert done["iterations"] >= 2


def test_a_run_counts_what_did_not_repeat(told: dict[str, Any]) -> None:
    ((what, count),) = told["run"].items()
    assert what.startswith("block on ground: ")
    assert count == 2
    assert ["of which 2", what] in told["rows"]


@pytest.mark.parametrize("links", [("box", "table"), ("table", "box")])
def test_a_corner_that_friction_draws_over_an_edge_stays_a_point(links: tuple[str, str]) -> None:
    """It came to lie 8 nm beyond the edge in one solve and within in the next, and the step was cut.

    Only of the body whose face did not give the axis were corners kept that press.
    """
    scene = hs.SceneBuilder("rim", contact={"compliance": "rigid", "friction": 1.0}, time_step=0.01)
    scene.add_static("table", "box", size=(0.6, 0.6, 0.1), xyz=(-0.3, 0, -0.05))
    body = scene.add_body("box", 1.0, inertia=3 * (0.002,), xyz=(-0.07072967811865476, 0, 0.05))
    body.add_shape("box", size=3 * (0.1,))
    scene.set_contact_law(*links, "equivalent_point", friction_ellipsoid=(1.0, 1.0, 0.03))
    world = hs.World(scene.build())
    X = world.frame_pose("box")
    X[:2, :2] = np.array([[1.0, -1.0], [1.0, 1.0]]) * 0.5**0.5
    world.place("box", X, [0, 0, 0, 0.1, 0, 0])
    world.step()
    done = world.diagnostics()
    assert done["unconverged_steps"] == done["cut_steps"] == 0


#: Two capsules of a random series, of which the upper one falls on the end of the lower one: shape; mass and inertia;
#: and place, roll, pitch and yaw, and twist before the step whose only solution is that in which all sticks.
JAM = {
    "low": (
        {"radius": 0.09434441931174369, "length": 0.07551616340943416},
        (8.995028362148851, 0.0009434441931174369),
        [0.00015349971987817, -0.00029554562841351, 0.0944582630510007],
        [1.5738114180516893, 0.00162481782632717, 4.91950400017e-06],
        (
            [-0.22533081675298, 0.05992055372379, -7.114421038054e-05],
            [0.00567998246714527, 0.02014208096968854, -0.0085080174187467],
        ),
    ),
    "top": (
        {"radius": 0.06437163321976937, "length": 0.2302351317590724},
        (3.5471218348665063, 0.02154817699864424),
        [-3.066387256606e-05, 0.0087529545129524, 0.25328247516662145],
        [1.5697283968761635, 0.00369941888557146, 0.11195568075644712],
        (
            [-1.4849252398624877, -0.16989425073395145, -0.027272091772948],
            [-0.00037721185643207, 0.13698248888582418, 0.02588667814982698],
        ),
    ),
}
PUSH = (
    *(-0.00015744479710183, 0.00039007417983338, 4.59617087262e-06),
    *(-8.924305609179e-05, 0.0011876694657948, -0.0002956035041538),
)


def test_a_capsule_that_jams_sticks() -> None:
    """No start of Newton's method led to where friction holds it; all six cuts of the step failed."""
    contact = {"compliance": "rigid", "friction": 0.5}
    scene = hs.SceneBuilder("jam", contact=contact, time_step=0.001).add_ground()
    for name, (lengths, (mass, inertia), *_) in JAM.items():
        body = scene.add_body(name, mass, inertia=3 * (inertia,), xyz=(0, 0, 100 * lengths["radius"]))
        body.add_shape("capsule", **lengths)
    for pair in (("low", "ground"), ("top", "low"), ("top", "ground")):
        scene.set_contact_law(*pair, "equivalent_point", friction_ellipsoid=(1.0, 1.0, 0.05356555213750043))
    world = hs.World(scene.build())
    for name, (_, _, place, rpy, twist) in JAM.items():
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = Rotation.from_euler("xyz", rpy).as_matrix(), place
        world.place(name, X, np.concatenate(twist))
    world.apply_wrench("top", PUSH)
    world.step()
    done = world.diagnostics()
    assert done["unconverged_steps"] == done["cut_steps"] == 0
