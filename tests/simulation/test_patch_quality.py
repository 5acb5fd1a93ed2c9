"""What a running world tells of the quality of its contacts, and that stepping does not pay for it."""

from __future__ import annotations

import threading
from dataclasses import replace

import numpy as np
import pytest
import trimesh

import hydro_sim_core as hs
from hydro_sim_core.contact import patch as patch_module
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.simulation.world.contact_summary import SIGNIFICANT_SHARE, ContactSummary
from support.simulation.made_scenes import GROUND, box, free, make_world, sphere

COARSE, FINE = 0.1, 0.01


def resting_ball(hint: float) -> hs.World:
    """A ball of 0.1 m that has come to rest on the ground, about 12 mm deep."""
    ball = free(sphere("ball", 0.1, 1.0, modulus=2e4, hint=hint), (0, 0, 0.09))
    world = make_world(ball, environment=[GROUND])
    world.step(500)
    return world


def ball_patch(height: float, hint: float = 0.02, **fields: object) -> hs.contact.ContactPatch:
    """A compliant ball of 0.1 m, its centre at ``height`` above rigid ground, with other fields as given."""
    X_WA = np.eye(4)
    X_WA[2, 3] = height
    ball = hs.geometry.sphere(0.1, resolution=hint, modulus=1e5)
    patch = hs.contact.compute_patch(ball, X_WA, hs.geometry.half_space(), np.eye(4))
    return replace(patch, **{"name_a": "ball", "name_b": "ground", **fields})


def test_coarse_contact_is_told_from_a_fine_one() -> None:
    coarse, fine = (resting_ball(hint).contact_summary() for hint in (COARSE, FINE))
    assert coarse.worst is coarse.patches[0]
    assert coarse.under_resolved == coarse.patches
    error = f"{100.0 * coarse.worst.quality.force_error:.0f} %"
    assert [str(warning) for warning in coarse.warnings] == [
        f"ball on ground: {coarse.worst.quality.num_faces} faces, force at this depth off by about {error}; "
        "mesh them finer (mesh_resolution_hint)"
    ]
    assert fine.worst.quality.force_error < 0.1
    assert fine.under_resolved == ()
    assert fine.warnings == ()


def test_estimate_is_the_depth_error_of_a_resting_ball() -> None:
    """At rest the force is the weight in any mesh; what is off is the depth that a smooth ball would have for it."""
    world = resting_ball(0.04)
    patch = world.contact_summary().worst
    height = float(world.q[6])
    smooth = 2.0 * np.pi * 2e4 * ((0.1**2 - height**2) / 2.0 - (0.1**3 - height**3) / 0.3)
    true = abs(np.linalg.norm(patch.normal_force_on_b) / smooth - 1.0)
    assert true > 0.15
    assert true / 3.0 < patch.quality.force_error < 3.0 * true


def test_box_on_the_ground_is_resolved() -> None:
    world = make_world(free(box("box", (0.2, 0.2, 0.2), 1.0), (0, 0, 0.099)), environment=[GROUND])
    world.step(200)
    summary = world.contact_summary()
    assert summary.worst.quality.force_error <= 1e-9
    assert summary.warnings == ()


def test_no_contact_has_no_worst_patch() -> None:
    world = make_world(free(sphere("ball", 0.1, 1.0), (0, 0, 1.0)), environment=[GROUND])
    world.step()
    summary = world.contact_summary()
    assert summary.patches == ()
    assert summary.worst is None
    assert summary.warnings == ()


def test_slight_touches_do_not_count() -> None:
    """A touch of a few faces beside a contact with a hundred times its force raises no alarm."""
    firm, touch = ball_patch(0.09, 0.01), ball_patch(0.099, 0.02)
    share = np.linalg.norm(touch.force_on_b) / np.linalg.norm(firm.force_on_b)
    assert share < SIGNIFICANT_SHARE
    assert not touch.quality.is_resolved
    summary = ContactSummary((touch, firm))
    assert summary.worst is firm
    assert summary.warnings == ()
    assert ContactSummary((touch,)).worst is touch


def test_worst_patch_has_the_largest_error() -> None:
    coarse, coarser, fine = ball_patch(0.09, 0.04), ball_patch(0.09, 0.08), ball_patch(0.09, 0.01)
    summary = ContactSummary((coarse, fine, coarser))
    assert summary.worst is coarser
    assert summary.under_resolved == (coarser, coarse)


def test_gravest_warnings_come_first() -> None:
    """Nothing holding bodies apart, then lost force, then coarse faces."""
    deep = ball_patch(0.09, 0.01, dropped_force=100.0, name_a="sheet", name_b="finger")
    summary = ContactSummary((ball_patch(0.09, 0.08), deep), faceless_overlaps=(("peg", "hole"),))
    assert summary.deep == (deep,)
    assert [warning.bodies for warning in summary.warnings] == [
        "peg on hole",
        "sheet on finger",
        "ball on ground",
    ]
    lost = 100.0 / (100.0 + float(np.linalg.norm(deep.force_on_b)))
    assert f"{100 * lost:.0f} % of the force lost" in str(summary.warnings[1])
    assert "no contact holds them apart" in str(summary.warnings[0])


def test_single_face_is_named_as_one() -> None:
    patch = ball_patch(0.09, 0.08)
    one = replace(patch, face_source=replace(patch.faces, **{k: v[:1] for k, v in vars(patch.faces).items()}))
    assert ContactSummary((one,)).warnings[0].problem == "1 face, force at this depth off by about 100 %"


def test_estimates_are_made_by_who_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never by the stepping thread, and once a snapshot."""
    callers = []
    original = patch_module.patch_quality

    def watched(*arguments: object) -> object:
        callers.append(threading.current_thread())
        return original(*arguments)

    monkeypatch.setattr(patch_module, "patch_quality", watched)
    world = resting_ball(COARSE)
    runner = FixedRateRunner(world, float("inf"), start_paused=True)
    runner.start()
    try:
        snapshot = runner.step(20)
        assert callers == []
        assert snapshot.contact_summary.warnings
        assert snapshot.contact_summary.worst is snapshot.contacts[0]
        assert callers == [threading.current_thread()]
    finally:
        runner.stop()


def test_centroids_of_few_faces_are_told_where_they_resist_a_tilt_too_little() -> None:
    """A flat box has four faces: a step of ours gives each its moment, one of Drake's does not."""
    said = {}
    for parity in (None, "drake"):
        brick = free(box("brick", (0.2, 0.15, 0.08), 2.4, modulus=1e7), (0, 0, 0.03999))
        world = make_world(brick, environment=[GROUND], solver={"parity": parity} if parity else None)
        world.step(100)
        (patch,) = world.contacts
        said[parity] = patch.quality.moment_error, [str(w) for w in world.contact_summary().warnings]
    assert said[None] == (0.0, [])
    error, (warning,) = said["drake"]
    # A third of the second moment of a rectangle lies within the four triangles around its middle.
    assert error == pytest.approx(1.0 / 3.0, rel=0.01)
    assert "resists a tilt by 33 % too little" in warning
    assert "leave out solver.parity" in warning


def test_a_coarse_ball_resists_a_tilt_as_its_faces_do() -> None:
    """With points that have their moments, and with exact integrals; not with centroids, as Drake has them."""
    errors = {}
    for name, solver in (
        ("points", {}),
        ("integrals", {"integrator": "continuous"}),
        ("centroids", {"parity": "drake"}),
    ):
        ball = free(sphere("ball", 0.1, 1.0, modulus=2e4, hint=0.05), (0, 0, 0.09))
        world = make_world(ball, environment=[GROUND], solver=solver)
        world.step(5)
        errors[name] = world.contacts[0].quality.moment_error
    assert errors["centroids"] > 0.15
    assert errors["points"] == errors["integrals"] == 0.0


@pytest.mark.parametrize(("degrees", "faded"), [(20.0, 0.0), (3.0, 0.65)])
def test_what_the_sides_of_a_wedge_leave_out_is_told(tmp_path, degrees: float, faded: float) -> None:
    """It sank by half as much again as its energy says, and nothing was said."""
    width, height, length = 0.12 * np.tan(np.radians(degrees)), 0.12, 0.04
    corners = [[0.0, y, 0.0] for y in (-length, length)]
    corners += [[x, y, height] for x in (-width, width) for y in (-length, length)]
    hull = trimesh.convex.convex_hull(0.5 * np.array(corners) * [2.0, 1.0, 2.0])
    path = tmp_path / "wedge.obj"
    hull.export(path)
    scene = hs.SceneBuilder("wedge", time_step=1e-3, contact={"friction": 0.0, "margin": 0.0})
    scene.add_static("block", "box", size=(0.3, 0.3, 0.2), xyz=(0.0, 0.0, -0.1), modulus=2e5)
    body = scene.add_body(
        "chisel", 0.3, inertia=(50.0, 50.0, 50.0), center_of_mass=(0, 0, 0.08), xyz=(0, 0, -0.01)
    )
    body.add_shape("mesh", path=str(path), compliance="rigid")
    world = hs.World(scene.build())
    world.step(1500)
    (patch,) = world.contacts
    share = patch.faded_force / (patch.faded_force + np.linalg.norm(patch.normal_force_on_b))
    assert share == pytest.approx(faded, abs=0.03)
    said = [str(warning) for warning in world.contact_summary().warnings if "upright" in str(warning)]
    assert bool(said) == (faded > 0.1)
    if said:
        assert "chisel on block: sides within 6 degrees of upright leave out" in said[0]
