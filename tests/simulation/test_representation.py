"""Steps on triangles: the forces of steps on polygons, and worlds like any others."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments.published_scenes import published_scene
from hydro_sim_core.recording import Recorder
from hydro_sim_core.replay import Recording
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.loading import find_scene
from hydro_sim_core.simulation.stepping import machine
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from support.command_line import call
from support.simulation.made_scenes import URDF, G

KEY = "contact.representation"
#: Soft on soft, soft on rigid with upright sides, rigid on rigid with a skin.
SOLIDS: dict[str, dict[str, Any]] = {
    "ball": {"kind": "sphere", "radius": 0.05, "modulus": 1e5, "resolution_hint": 0.02},
    "box": {"kind": "box", "size": (0.08, 0.1, 0.06), "modulus": 1e6},
    "rigid box": {"kind": "box", "size": (0.08, 0.1, 0.06), "compliance": "rigid"},
}
GROUNDS: dict[str, dict[str, Any]] = {
    "ball": {"modulus": 1e6, "dissipation": 5.0},
    "box": {"compliance": "rigid", "dissipation": 5.0},
    "rigid box": {"compliance": "rigid"},
}


def resting(name: str, representation: Any) -> World:
    """A body that has come to rest on the ground."""
    scene = hs.SceneBuilder("rest", representation=representation)
    scene.add_static("ground", "half_space", **GROUNDS[name])
    body = scene.add_body("body", 0.5, xyz=(0.1, 0.2, 0.0499 if name == "ball" else 0.02999))
    body.add_shape(dissipation=5.0, friction=0.5, **SOLIDS[name])
    world = World(scene.build())
    world.step(2000)
    return world


@pytest.mark.parametrize("name", SOLIDS)
def test_bodies_at_rest_press_alike(name: str) -> None:
    """With their weight, in the same place."""
    polygons, triangles = (resting(name, representation) for representation in ("polygon", "triangle"))
    for world in (polygons, triangles):
        assert np.abs(world.v).max() < 1e-7
        (patch,) = world.contacts
        assert np.linalg.norm(patch.force_on_b) == pytest.approx(0.5 * G, rel=1e-6)
    assert triangles.q == pytest.approx(polygons.q, abs=1e-11)
    (ours,), (theirs,) = triangles.contacts, polygons.contacts
    assert ours.face_forces.sum() == pytest.approx(theirs.face_forces.sum(), rel=1e-7)
    assert ours.num_faces > 2 * theirs.num_faces


def first_step(scene: LoadedScene, representation: str) -> World:
    world = World(scene.with_({KEY: representation}))
    world.step()
    return world


@pytest.mark.parametrize("name", ["spatula_slip_welded", "mug_on_plate"])
def test_from_the_same_state_every_patch_presses_alike(name: str) -> None:
    """As many triangles as polygons have edges, but for faces that stay whole; pressures add up to the same forces."""
    scene = find_scene(name)
    polygons, triangles = (
        first_step(scene, representation).contacts for representation in ("polygon", "triangle")
    )
    assert len(triangles) == len(polygons) > 0
    for ours, theirs in zip(triangles, polygons, strict=True):
        assert (ours.name_a, ours.name_b) == (theirs.name_a, theirs.name_b)
        whole = ours.faces.num_vertices > 3
        edges = int(theirs.faces.num_vertices.sum()) - int(ours.faces.num_vertices[whole].sum())
        assert ours.num_faces == edges + np.count_nonzero(whole)
        loads = [one.areas * np.maximum(one.pressures, 0.0) for one in (ours, theirs)]
        load = loads[1].sum()
        push = [forces @ one.normals for forces, one in zip(loads, (ours, theirs), strict=True)]
        assert np.abs(push[0] - push[1]).max() <= 1e-12 * load
        assert ours.area == pytest.approx(theirs.area, rel=1e-12)


@pytest.fixture(scope="module")
def scene() -> LoadedScene:
    return published_scene("spatula_slip_welded").with_({KEY: "triangle"})


def bits(world: World) -> tuple[bytes, ...]:
    patches = (patch.centroids.tobytes() + patch.force_on_b.tobytes() for patch in world.contacts)
    return (world.q.tobytes(), world.v.tobytes(), *patches)


def saved(world: World, path: Path) -> World:
    world.save_state().write(path)
    other = World(world.scene)
    other.load_state(path)
    return other


WAYS: dict[str, Callable[[World, Path], World]] = {
    "copy": lambda world, _: world.copy(),
    "pickle": lambda world, _: pickle.loads(pickle.dumps(world)),
    "saved state": saved,
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_copies_go_on_with_triangles(scene: LoadedScene, tmp_path: Path, way: Callable[..., World]) -> None:
    world = World(scene)
    world.step(20)
    other = way(world, tmp_path / "state.json")
    for one in (world, other):
        one.step(20)
    assert bits(other) == bits(world)
    assert all(patch.faces.num_vertices.max() == 3 for patch in other.contacts)


def test_memory_grows_to_what_triangles_need(scene: LoadedScene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Polygons alone would fit: the step is taken again, to the same bits."""
    roomy = World(scene)
    roomy.step(20)
    faces = roomy.diagnostics()["faces"]
    assert faces > 100
    monkeypatch.setattr(machine, "INITIAL_FACES", faces // 8)
    narrow = World(scene)
    assert len(narrow._scratch.faces.num_vertices) == faces // 8 * 4
    narrow.step(20)
    assert bits(narrow) == bits(roomy)
    assert len(narrow._scratch.faces.num_vertices) >= faces


def test_recordings_hold_the_triangles(scene: LoadedScene, tmp_path: Path) -> None:
    world = World(scene)
    path = tmp_path / "run.mcap"
    recorder = Recorder(path, complete=True)
    recorder.start(take_snapshot(world, epoch=0), world)
    for _ in range(40):
        world.step()
        recorder.record(take_snapshot(world, epoch=0), world)
    assert recorder.stop().error is None
    with Recording(path) as recording:
        frames = [recording.frame(row) for row in range(len(recording.instants))]
    patches = [patch for frame in frames for patch in frame.patches]
    assert patches
    assert {3} == {int(count) for patch in patches for count in patch.faces.counts}


@pytest.mark.parametrize("bad", ["hexagon", "Triangle", "", None, 3, True, ["triangle"]])
def test_other_representations_are_refused(tmp_path: Path, bad: Any) -> None:
    """In one line with the element and what there is, in a file, by a path and in a program."""
    path = tmp_path / "scene.yaml"
    path.write_text(f"name: s\ncontact: {{representation: {json.dumps(bad)}}}\n")
    ways = [
        lambda: hs.load_scene(path),
        lambda: published_scene("spatula_slip_welded").with_({KEY: bad}),
        lambda: hs.SceneBuilder("s", representation=bad),
    ]
    for way in ways:
        with pytest.raises(InputError) as refused:
            way()
        (line,) = str(refused.value).splitlines()
        assert "representation" in line
        assert "polygon" in line
        assert "triangle" in line


def test_an_integrator_with_triangles_of_its_own_refuses_others() -> None:
    with pytest.raises(InputError, match=r"contact.representation.*does nothing with integrator continuous"):
        hs.SceneBuilder("s", solver="continuous", representation="triangle")


@pytest.mark.parametrize("given", ["polygon", "triangle"])
def test_check_tells_of_it(tmp_path: Path, given: str) -> None:
    """Of a scene, and of a lone URDF, which has no settings of its own."""
    for name in ("drop_box", str(URDF / "box.urdf.xacro")):
        report = tmp_path / f"{Path(name).stem}.json"
        done = call("check", name, "--set", f"{KEY}={given}", "--json", report)
        assert f"contact on {given}s" in done.stdout
        assert json.loads(report.read_text())["representation"] == given
