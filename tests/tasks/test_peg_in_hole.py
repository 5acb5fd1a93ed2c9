"""The peg goes in, gently, and what goes wrong is told."""

import math
import re
import runpy
from dataclasses import replace

import numpy as np
import pytest

from hydro_sim_core.assets import folder
from hydro_sim_core.description.poses import pose
from hydro_sim_core.geometry import load_surface
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.tasks import TASKS, attempt, run_trial
from hydro_sim_core.tasks.attempt import attempt as carry_out
from hydro_sim_core.tasks.peg_in_hole import (
    BELIEVED,
    BLOCK,
    CHAMFER,
    EDGE,
    HARDEST,
    HOLE_RADIUS,
    OFF,
    PEG,
    PEG_RADIUS,
    TILTED,
    overlap,
)
from hydro_sim_core.tasks.robot import TaskFailed
from hydro_sim_core.tasks.task import Story
from hydro_sim_core.tasks.trial import measure, scene_of

TASK = TASKS["peg_in_hole"]
GAP = HOLE_RADIUS - PEG_RADIUS


@pytest.mark.heavy(6)
@pytest.mark.parametrize("seed", [None, 0, 1, 2, 3, 4])
def test_the_peg_goes_in(seed):
    trial = run_trial(TASK, seed)
    assert trial.succeeded, trial
    assert 20.0 <= trial.measures["depth, mm"] < 21.0
    assert 5.0 < trial.measures["peak force, N"] < 12.0  # 10 N push it in
    assert 0.0 < trial.measures["overlap, um"] < 8.0  # the judge allows 10
    assert trial.phase == "let go of the push"


@pytest.mark.long
def test_forces_of_shorter_steps_are_bounded_too():
    trial = run_trial(replace(TASK, period=0.001), values={"time_step": 0.001})
    assert trial.succeeded, trial


@pytest.fixture(scope="module")
def model():
    return World(find_scene("peg_in_hole"))


# --- what goes wrong


def run_short(monkeypatch, task, **how):
    monkeypatch.setattr(attempt, "AFTERWARDS", 0.02)
    return run_trial(task, **how)


def test_a_block_that_is_not_there_is_told(monkeypatch):
    trial = run_short(monkeypatch, TASK, values={"models.block.pose.xyz": [0.45, 0.0, 0.045]})
    assert not trial.succeeded
    assert trial.phase == "touch the face"
    assert trial.reason == "nothing is there: 6.0 mm were free"


@pytest.mark.parametrize("height", [0.0598, 0.0600, 0.0603])
@pytest.mark.parametrize(("modulus", "most", "phase"), [(1e8, 1.1, "face"), (2e12, 1.7, "edge")])
def test_a_block_in_the_way_ends_it_in_the_period_in_which_it_presses_too_hard(
    monkeypatch, height, modulus, most, phase
):
    """On the way through the air; a peg of steel stops within a period there, and with all of its momentum."""
    values = {"models.block.pose.xyz": [0.45, 0.0, height], "models.arm.xacro_args": {"modulus": modulus}}
    trial = run_short(monkeypatch, TASK, values=values)
    pressed = next(point for point in trial.course if point["force, N"] > HARDEST)
    assert pressed["force, N"] < most * HARDEST
    assert trial.reason == f"pressed with {pressed['force, N']:.0f} N ({phase})"
    assert trial.time == pressed["time, s"]


def test_a_table_in_the_way_ends_it_in_the_period_in_which_it_presses_too_hard(monkeypatch):
    """What the peg is pressed on beside its block counts as well."""
    trial = run_short(monkeypatch, TASK, values={"models.table.pose.xyz": [0.28, 0.0, 0.062]})
    pressed = [point["time, s"] for point in trial.course if point["beside the block, N"] > HARDEST]
    assert re.match(r"the peg is pressed on table with \d+ N$", trial.reason)
    assert trial.time == pressed[0]


def test_a_wall_of_the_environment_in_the_way_is_felt_as_well(monkeypatch):
    """It has no frame of its own: the wrench is in the axes of the world, as on its topic."""
    wall = {"name": "wall", "shape": {"box": {"size": [0.1, 0.1, 0.02]}}, "pose": {"xyz": [0.45, 0.0, 0.052]}}
    values = {"environment": [wall], "report.wrenches": [[BLOCK, PEG], [PEG, "wall"]]}
    trial = run_short(monkeypatch, TASK, values=values)
    assert re.match(r"the peg is pressed on wall with \d+ N$", trial.reason)


@pytest.mark.long
@pytest.mark.parametrize("place", [[0.455, 0.0], [0.446, 0.004], [0.45, -0.006]])
def test_a_hole_too_far_away_is_told(monkeypatch, place):
    trial = run_short(monkeypatch, TASK, values={"models.block.pose.xyz": [*place, 0.055]})
    assert trial.phase == "find the hole"
    assert trial.reason == "no hole within 2.0 mm of where it should be (face)"


def send_all(script, measurements):
    for measured in measurements:
        script.send(measured)


def felt(model, wrench, depth, later=0.0):
    """A measurement with a wrench on the peg and its tip below the face."""
    measured = measure(model)
    X_WP = BELIEVED @ pose([0.0, 0.0, -depth], [math.pi, 0.0, 0.0])
    return replace(
        measured,
        time=measured.time + later,
        wrenches={(BLOCK, PEG): np.array(wrench, dtype=float)},
        poses={**measured.poses, PEG: X_WP, BLOCK: BELIEVED},
    )


def test_a_peg_that_is_pressed_too_hard_is_told(model):
    controller = TASK.controller(model, TASK.period)
    controller.robot.measured = felt(model, [0, 31, -1, 0, 0, 0], 0.01)
    with pytest.raises(TaskFailed, match=r"pressed with 31 N \(wall\)"):
        controller._feel()


def test_a_face_without_a_hole_is_told(model):
    """The tip stays on the face, wherever the spiral leads it."""
    controller = TASK.controller(model, TASK.period)
    on_face = felt(model, [0, 0, -3, 0, 0, 0], 0.0)
    controller.robot.start(on_face)
    controller.robot.hold_tool(PEG)
    script = controller._find_the_hole()
    next(script)
    with pytest.raises(TaskFailed, match=r"no hole within 2.0 mm of where it should be \(face\)"):
        send_all(script, 2000 * [on_face])


def test_a_stuck_peg_is_told(model):
    """Held on both sides, it does not get any deeper."""
    controller = TASK.controller(model, TASK.period)
    wrench = [0.5, 0, -1e-3, 0, 0.1, 0]
    controller.robot.start(felt(model, wrench, 0.004))
    controller.robot.hold_tool(PEG)
    script = controller._insert()
    next(script)
    with pytest.raises(TaskFailed, match=r"the peg is stuck 4.0 mm deep \(wedged\)"):
        send_all(script, (felt(model, wrench, 0.004, 0.004 * k) for k in range(1, 1000)))


def test_a_task_that_takes_too_long_is_told(model):
    measured = felt(model, np.zeros(6), -0.01)
    attempted = carry_out(replace(TASK, duration=0.02), TASK.controller(model, TASK.period), measured)
    next(attempted)
    with pytest.raises(StopIteration) as end:
        send_all(attempted, (replace(measured, time=measured.time + 0.004 * k) for k in range(1, 1000)))
    assert end.value.value.outcome.reason == "not done within 0.02 s"


def test_a_trial_repeats_to_the_last_bit(monkeypatch):
    task = replace(TASK, duration=1.3)  # beyond the first touch
    trial = run_short(monkeypatch, task, seed=2)
    assert max(point["force, N"] for point in trial.course) > 2.0
    assert run_short(monkeypatch, task, seed=2) == trial


# --- draws


def test_seeds_draw_a_hole_as_far_off_as_it_may_be():
    around = []
    for seed in range(4):
        X_WB = next(one.pose for one in scene_of(TASK, seed).spec.models if one.name == "block")
        X = np.linalg.inv(BELIEVED) @ pose(X_WB.xyz, X_WB.rpy)
        assert np.hypot(*X[:2, 3]) == pytest.approx(OFF)
        assert math.acos(X[2, 2]) == pytest.approx(TILTED)
        around.append([math.atan2(X[1, 3], X[0, 3]), math.atan2(X[1, 2], X[0, 2])])
    assert np.all(np.ptp(around, axis=0) > math.pi)


# --- what is a success


def peg_at(xyz=(0.0, 0.0, -0.02), rpy=(0.0, 0.0, 0.0)):
    return pose(xyz) @ pose(rpy=[math.pi, 0.0, 0.0]) @ pose(rpy=rpy)


def test_overlaps_are_those_of_the_closed_form():
    assert overlap(peg_at()) == 0.0
    assert overlap(peg_at([GAP - 1e-7, 0, -0.02])) == 0.0
    assert overlap(peg_at([GAP + 5e-6, 0, -0.02])) == pytest.approx(5e-6, abs=1e-9)
    assert overlap(peg_at([0, -(GAP + 5e-6), -0.02])) == pytest.approx(5e-6, abs=1e-9)
    assert overlap(peg_at([0.02, 0, -3e-6])) == pytest.approx(3e-6, abs=1e-9)
    assert overlap(peg_at([0.02, 0, 1e-6])) == 0.0


@pytest.mark.parametrize("towards", [0.0, 1.234])
@pytest.mark.parametrize("angle", [0.0, 7.5, 22.5, 37.5, 45.0, 52.5, 67.5, 82.5, 90.0])
def test_an_edge_of_the_block_goes_as_deep_into_the_round_edge_of_an_upright_peg_as_it_is_nearer(
    towards, angle
):
    """By the radius of the peg's edge less the distance from its middle, wherever on the arc."""
    up = math.radians(angle)
    radius, height = (HOLE_RADIUS, -CHAMFER) if angle <= 45.0 else (HOLE_RADIUS + CHAMFER, 0.0)

    def touching(deep):
        off = radius - (EDGE - deep) * math.cos(up) - (PEG_RADIUS - EDGE)
        tip = height + (EDGE - deep) * math.sin(up) - EDGE
        return peg_at([off * math.cos(towards), off * math.sin(towards), tip])

    assert overlap(touching(5e-6)) == pytest.approx(5e-6, abs=2e-9)
    assert overlap(touching(-1e-7)) == 0.0


@pytest.mark.parametrize("angle", [0.004, 0.0055, 0.006])
def test_a_tilted_peg_is_in_the_wall_on_one_side_and_in_the_edge_of_the_mouth_on_the_other(angle):
    """In the plane in which it tilts, about the middle between both: lengths of two triangles."""
    half = 0.5 * (0.02 - CHAMFER)
    at = pose([0, 0, -CHAMFER - half]) @ pose(rpy=[0, math.pi + angle, 0]) @ pose([0, 0, half])
    tip = (PEG_RADIUS - EDGE) * math.cos(angle) + (half - EDGE) * math.sin(angle) + EDGE - HOLE_RADIUS
    mouth = PEG_RADIUS - HOLE_RADIUS * math.cos(angle) + half * math.sin(angle)
    assert overlap(at) == pytest.approx(max(0.0, tip, mouth), abs=3e-8)
    assert (max(tip, mouth) > 0.0) == (angle > 0.005)


def on_rings(profile):
    """Points (N, 3) on circles of many turned points (radius and height, m), m."""
    angles = 2.0 * math.pi * np.arange(1440) / 1440
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    return np.vstack([np.column_stack([radius * circle, np.full(1440, z)]) for radius, z in profile])


def in_block(points):
    rho, z = np.hypot(points[:, 0], points[:, 1]), points[:, 2]
    return np.minimum.reduce([-z, rho - HOLE_RADIUS, (rho - HOLE_RADIUS - z - CHAMFER) / math.sqrt(2.0)])


def in_peg(points):
    rho, z = np.hypot(points[:, 0], points[:, 1]), points[:, 2]
    round_it = (rho > PEG_RADIUS - EDGE) & (z > -EDGE)
    return np.where(
        round_it, EDGE - np.hypot(rho - PEG_RADIUS + EDGE, z + EDGE), np.minimum(-z, PEG_RADIUS - rho)
    )


def test_overlaps_of_tilted_pegs_are_those_of_many_points_on_both():
    """Of the arc of the peg and its wall in the block, and of the chamfer of the block and its face in the peg."""
    arc = np.linspace(0.0, 0.5 * math.pi, 37)
    peg = [*zip(PEG_RADIUS - EDGE + EDGE * np.cos(arc), EDGE * np.sin(arc) - EDGE, strict=True)]
    on_peg = on_rings([*peg, *((PEG_RADIUS, -z) for z in np.linspace(1e-3, 0.022, 8))])
    share = np.linspace(0.0, 1.0, 17)
    chamfer = [*zip(HOLE_RADIUS + CHAMFER * share, CHAMFER * (share - 1.0), strict=True)]
    on_block = on_rings([*chamfer, *((HOLE_RADIUS + x, 0.0) for x in (1e-3, 2e-3, 3e-3))])
    draws = np.random.default_rng(5)
    compared = 0
    while compared < 8:
        off, towards, about = draws.uniform(0.0, 2e-3), *draws.uniform(-math.pi, math.pi, 2)
        place = [off * math.cos(towards), off * math.sin(towards), draws.uniform(-4e-4, 2e-4)]
        at = pose(place) @ pose(rpy=[0, 0, about]) @ pose(rpy=[math.pi + draws.uniform(0, TILTED), 0, 0])
        told = overlap(at)
        if not 1e-6 < told < 4e-5:
            continue
        in_each = (
            in_block(on_peg @ at[:3, :3].T + at[:3, 3]).max(),
            in_peg((on_block - at[:3, 3]) @ at[:3, :3]).max(),
        )
        assert max(in_each) - 3e-8 < told < max(in_each) + 1e-7
        compared += 1


@pytest.fixture
def story(model):
    """One in which the peg got in."""
    before = felt(model, np.zeros(6), -0.01)
    end = felt(model, [0, 0, -0.1, 0, 0, 0], 0.0203, 5.0)
    later = replace(end, time=end.time + 1.0)
    return Story(before, end, later, [TASK.follow(one) for one in (before, end, later)])


def test_a_peg_deep_inside_is_a_success(story):
    outcome = TASK.judge(story)
    assert outcome.succeeded, outcome
    assert outcome.measures["depth, mm"] == pytest.approx(20.3)


def test_other_ends_are_failures(story):
    judge = TASK.judge
    hard = [*story.course, {**story.course[0], "force, N": 31.0}]
    assert judge(replace(story, course=hard)).reason == "it was pressed with 31.0 N"
    deep = [*story.course, {**story.course[0], "overlap, um": 12.0}]
    assert judge(replace(story, course=deep)).reason == "it went 12.0 µm into the block"
    X_WP = story.later.poses[PEG] @ pose([0.0, 0.0, -0.001])
    out = replace(story.later, poses={**story.later.poses, PEG: X_WP})
    assert judge(replace(story, later=out)).reason == "it is 19.3 mm deep"
    aside = replace(out, poses={**out.poses, PEG: pose([0.01, 0, 0]) @ X_WP})
    outcome = judge(replace(story, later=aside))
    assert outcome.reason == "it is beside the hole"
    assert math.isnan(outcome.measures["depth, mm"])


# --- parts


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(folder("urdf") / "meshes" / "turned_parts.py"))


def test_files_are_those_of_the_script(script):
    for name, surface in script["surfaces"]().items():
        path = folder("urdf") / "meshes" / f"{name}.obj"
        vertices, triangles = load_surface(path, 1.0)
        np.testing.assert_allclose(vertices, surface.vertices, atol=1e-9)
        np.testing.assert_array_equal(triangles, surface.triangles)
        assert path.stat().st_size < 156_000


def test_the_judge_knows_the_parts(script):
    """Vertices of the peg lie on what the judge takes for it, and chords of the hole touch what it takes for that."""
    assert (script["PEG_RADIUS"], script["HOLE_RADIUS"], script["CHAMFER"]) == (
        PEG_RADIUS,
        HOLE_RADIUS,
        CHAMFER,
    )
    assert script["PEG_EDGE"] == EDGE
    peg = script["surfaces"]()["peg"].vertices
    tip = peg[(peg[:, 2] > -0.02) & (np.hypot(peg[:, 0], peg[:, 1]) > 1e-3)]
    around = script["segments_for"](PEG_RADIUS, script["SAGITTA"])
    assert len(tip) == around * (script["PEG_CHORDS"] + 1)
    np.testing.assert_allclose(in_peg(tip), 0.0, atol=1e-12)
    # Chords of its edge leave little of what the judge allows.
    assert EDGE * (1.0 - math.cos(0.25 * math.pi / script["PEG_CHORDS"])) < 1.1e-6
    hole = script["surfaces"]()["hole_block"]
    middles = hole.vertices[hole.triangles].mean(axis=1)
    wall = middles[np.hypot(middles[:, 0], middles[:, 1]) < HOLE_RADIUS + 0.2 * CHAMFER]
    assert np.hypot(*wall[:, :2].T).min() == pytest.approx(HOLE_RADIUS, abs=2e-6)
