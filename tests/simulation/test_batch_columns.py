"""Columns of a batch's parameters are of what their names say: changing one changes the motion of that and no other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.batches.columns import columns_of
from hydro_sim_core.simulation.batches.stepping import VARIED
from hydro_sim_core.simulation.batches.written import Parameters
from support.simulation.side_by_side import host, made_side_by_side

#: Of every link, another one each, kg.
MASSES = {"plate": 1.0, "brick": 1.1, "cap": 1.2, "skates": 1.3, "x_cart": 1.4, "y_cart": 1.5, "load": 0.1}
MASSES |= {"front": 1.7, "back": 1.8}
FREE = ("plate", "brick", "cap", "skates")
#: Velocities that a change of a body's mass, centre of mass or inertia has to change: those of its joints.
MOVED_BY = {name: {f"{name}_base"} for name in FREE} | {
    "x_cart": {"slide_x"},
    "y_cart": {"slide_x", "slide_y"},
    "front": {"back_wheel"},
    "back": {"back_wheel"},
}


def _scene() -> Any:
    """Free bodies of the same height, one of two shapes, and carts and wheels; names are in no common order."""
    scene = hs.SceneBuilder("columns", contact={"modulus": 1e6, "friction": 0.3})
    for name, length in zip(FREE, (0.3, 0.1, 0.1, 0.2), strict=True):
        body = scene.add_body(name, mass=MASSES[name], xyz=(0, 0, 3.0 * FREE.index(name) + 1.0))
        body.add_shape("box", size=(length, 0.1, 0.1), xyz=(0, 0.05 if name == "skates" else 0, 0))
    body.add_shape("box", size=(0.2, 0.1, 0.1), xyz=(0, -0.05, 0))
    scene.add_ground()
    scene.exclude_contact("brick", "cap")
    table = scene.add_model("table", xyz=(0, 3, 2))
    table.add_link("rail")
    for name in ("y_cart", "load", "x_cart"):
        table.add_link(name, mass=MASSES[name], inertia=(1.0, 1.0, 1.0))
    table.add_joint("slide_y", "prismatic", "x_cart", "y_cart", axis=(0, 1, 0), lower=-9, upper=9)
    table.add_joint("slide_x", "prismatic", "rail", "x_cart", axis=(1, 0, 0), lower=-9, upper=9)
    table.add_joint("bolts", "fixed", "y_cart", "load")
    wheels = scene.add_model("wheels", xyz=(0, 6, 2))
    wheels.add_link("axle")
    for name in ("front", "back"):
        wheels.add_link(name, mass=MASSES[name], inertia=(1.0, 1.0, 1.0), center_of_mass=(0, 0.1, 0))
    wheels.add_joint("front_wheel", "continuous", "axle", "front", axis=(1, 0, 0), mimic="back_wheel")
    wheels.add_joint("back_wheel", "continuous", "axle", "back", axis=(1, 0, 0))
    return scene.build()


SCENE = _scene()
WORLD = hs.World(SCENE)


def _one_changed(name: str, factor: float, more: float) -> hs.BatchWorld:
    """A batch in whose world i column i of a parameter is another one; the last world has them as they are."""
    count = len(columns_of(name, WORLD.built))
    batch = hs.BatchWorld(WORLD, count + 1, "cpu")
    rows = batch.parameters[name]
    assert rows.shape[:2] == (count + 1, count)
    for i in range(count):
        rows[i, i] = factor * rows[i, i] + more
    return batch


def _thrown(name: str, factor: float, more: float) -> Iterator[tuple[str, dict[str, float]]]:
    """Every column of a parameter, and by how much it changes each velocity of bodies that are thrown and pushed."""
    batch = _one_changed(name, factor, more)
    speeds = np.linspace(0.5, 1.5, batch.v.shape[1])
    batch.set_state(np.array(batch.q), np.tile(speeds, (batch.n, 1)))
    for link in MASSES:
        batch.apply_wrench(link, np.tile([0.1, 0.2, 0.3, 2.0, 3.0, 1.0], (batch.n, 1)))
    batch.step(5)
    assert not batch.failures
    for i, column in enumerate(batch.parameters.columns(name)):
        changes = np.abs(batch.v[i] - batch.v[-1]).tolist()
        yield column, dict(zip(batch.world.velocity_names, changes, strict=True))


def _joints(changes: dict[str, float]) -> set[str]:
    return {name.partition("/")[0] for name, change in changes.items() if change > 1e-7}


@pytest.mark.parametrize(
    ("name", "factor", "more"), [("mass", 2, 0), ("centre_of_mass", 1, 0.05), ("inertia", 2, 0)]
)
def test_a_column_of_a_body_moves_its_body_and_no_other(name, factor, more):
    seen = {}
    for body, changes in _thrown(name, factor, more):
        # Where a cart has its mass, and how it would turn, does not matter.
        is_idle = body.endswith("cart") and name != "mass"
        assert _joints(changes) == (set() if is_idle else MOVED_BY[body]), body
        seen[body] = changes
    assert set(seen) == set(MOVED_BY)


@pytest.mark.parametrize("name", ["joint_damping", "joint_friction"])
def test_a_column_of_a_joint_brakes_its_velocity_and_no_other(name):
    for velocity, changes in _thrown(name, 1, 0.2):
        assert max(changes, key=changes.__getitem__) == velocity
        assert _joints(changes) == {velocity.partition("/")[0]}


@pytest.mark.parametrize("name", ["friction", "dissipation"])
def test_a_column_of_a_pair_acts_between_its_two_and_nowhere_else(name):
    """Each two bodies in turn touch each other, and nothing else does: one slides on and into the other."""
    batch = _one_changed(name, 2, 0)
    columns = batch.parameters.columns(name)
    bodies = (*FREE, "ground")
    assert set(columns) == {(a, b) for i, a in enumerate(bodies) for b in bodies[i + 1 :]} - {
        ("brick", "cap")
    }
    start = WORLD.q.copy()
    for a, b in dict.fromkeys(columns):
        q, v = start.copy(), np.zeros(batch.v.shape[1])
        height = 0.1 + (0.0 if b == "ground" else q[7 * FREE.index(b) + 6] + 0.05) - 0.05
        q[7 * FREE.index(a) + 6] = height - 1e-4
        v[6 * FREE.index(a) + 3 : 6 * FREE.index(a) + 6] = 0.5, 0.0, -0.1
        batch.set_state(np.tile(q, (batch.n, 1)), np.tile(v, (batch.n, 1)))
        batch.step(3)
        moved = np.flatnonzero(np.any(batch.v[:-1] != batch.v[-1], axis=1)).tolist()
        assert moved == [i for i, column in enumerate(columns) if column == (a, b)]
        assert moved == batch.parameters.index(name, a, b) == batch.parameters.index(name, b, a)
        patches = batch.copy_of(0).contacts
        assert {(patch.name_a, patch.name_b) for patch in patches} == {(a, b)}
        assert len(patches) == len(moved)


def test_masses_are_in_the_columns_of_their_links():
    """Bodies that one joint moves, as front and back, differ in what they weigh."""
    for batch in (hs.BatchWorld(WORLD, 2, "cpu"), made_side_by_side(SCENE, 2)):
        mass = dict(zip(batch.parameters.columns("mass"), host(batch.parameters["mass"])[1], strict=True))
        expected = {name: MASSES[name] for name in MOVED_BY}
        assert mass == pytest.approx(expected | {"y_cart": MASSES["y_cart"] + MASSES["load"]})


def test_columns_are_found_by_names():
    parameters = hs.BatchWorld(WORLD, 2, "cpu").parameters
    assert parameters.index("mass", "cap") == [2]
    assert [parameters.columns("friction")[i] for i in parameters.index("friction", "ground")] == [
        *((name, "ground") for name in FREE),
        ("skates", "ground"),
    ]
    assert len(parameters.index("joint_damping", "cap_base")) == 6
    assert parameters.index("joint_damping", "cap_base/1") == [13]
    assert parameters.index("inertia") == list(range(8))
    for name in parameters:
        assert len(parameters.columns(name)) == parameters[name].shape[1]


@pytest.mark.parametrize(
    ("name", "of", "told"),
    [
        ("fricton", (), "parameter 'fricton': is none; give one of mass, "),
        ("mass", ("capp",), "parameter 'mass': has no column of 'capp'; did you mean 'cap'?"),
        ("mass", ("load",), "has no column of 'load'; it is fixed to 'y_cart'; give that"),
        ("mass", ("rail",), "it is fixed to the world; give a link that moves"),
        ("mass", ("cap", "plate"), "has no column of 'cap' and 'plate'; give one"),
        ("joint_damping", ("slide_z",), "did you mean 'slide_y'?"),
        ("friction", ("cap", "grund"), "has no column of 'cap' and 'grund'; did you mean 'ground'?"),
        ("friction", ("ground", "ground", "load"), "use one of 'brick', 'cap', 'ground', 'plate', 'skates'"),
        (
            "friction",
            ("brick", "cap"),
            "has no column of 'brick' and 'cap'; 'brick' may touch ground, plate, skates",
        ),
        ("friction", (("cap", "ground"),), "('cap', 'ground') is no name; give names one by one, as text"),
    ],
)
def test_names_without_a_column_are_told(name, of, told):
    parameters = Parameters(VARIED, lambda _: None, WORLD)
    with pytest.raises(InputError) as caught:
        parameters.index(name, *of)
    assert told in str(caught.value)
