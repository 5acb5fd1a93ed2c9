"""Which geometries of a scene touch, and how two materials make one contact."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description.model_builder import ModelBuilder
from support.simulation.made_scenes import GROUND, Robot, add_solid, box, free, make_world

SIZE = (0.1, 0.1, 0.1)
NAMES = ("a", "b", "c")


def cube(name: str, x: float = 0.0, **contact: Any) -> dict[str, Any]:
    """A free cube of 1 kg above the ground."""
    return free(box(name, SIZE, 1.0, **contact), (x, 0.0, 1.0))


def pairs_of(world: hs.World) -> set[frozenset[str]]:
    """Links that may touch."""
    colliders = world.built.colliders
    return {frozenset(colliders[g].link for g in pair) for pair in world.built.model.pairs}


def pair(world: hs.World, name: str) -> float:
    """A property of the only pair of a scene."""
    (value,) = getattr(world.built.model, f"pair_{name}")
    return float(value)


# --- what touches


@pytest.mark.parametrize("excluded", [[], [["a", "b"]], [["b", "a"]], [["ground", "c"], ["a", "c"]]])
def test_excluded_pairs_are_left_out_and_no_others(excluded: list[list[str]]) -> None:
    """Either order names a pair; everything else still meets."""
    cubes = [cube(name, 0.5 * i) for i, name in enumerate(NAMES)]
    world = make_world(*cubes, environment=[GROUND], exclude=excluded)
    links = [*NAMES, "ground"]
    every = {frozenset((a, b)) for i, a in enumerate(links) for b in links[i + 1 :]}
    assert pairs_of(world) == every - {frozenset(pair) for pair in excluded}


def test_excluded_bodies_fall_through_each_other() -> None:
    """No force acts between them, while another body lands."""
    bodies = [free(box(name, SIZE, 1.0), (x, 0.0, 0.06)) for name, x in (("a", 0.0), ("b", 0.5))]
    world = make_world(*bodies, environment=[GROUND], exclude=[("a", "ground")])
    world.step(500)
    assert {(patch.name_a, patch.name_b) for patch in world.contacts} == {("b", "ground")}
    # Semi-implicit steps fall by g dt^2 n (n + 1) / 2, less where the other's landing is taken in pieces.
    assert world.frame_pose("a")[2, 3] == pytest.approx(0.06 - 9.81e-6 * 500 * 501 / 2, abs=9.81e-6)
    assert world.frame_pose("b")[2, 3] == pytest.approx(0.05, abs=1e-3)


def test_every_geometry_of_an_excluded_link_is_left_out() -> None:
    """An excluded link takes all its shapes along."""

    def describe(model: ModelBuilder) -> None:
        add_solid(model, "twin", "box", 1.0, size=SIZE).add_shape("box", size=SIZE)

    models = [free(Robot("twin", describe), (0, 0, 1)), cube("b", 0.5)]
    both = make_world(*models)
    assert len(both.built.model.pairs) == 2
    none = make_world(*models, exclude=[("b", "twin")])
    assert len(none.built.model.pairs) == 0


# --- friction


@pytest.mark.parametrize(
    ("mu_a", "mu_b", "mu"),
    [(0.5, 0.5, 0.5), (1.0, 0.25, 0.4), (0.25, 1.0, 0.4), (0.9, 0.0, 0.0), (0.0, 0.0, 0.0)],
)
def test_friction_is_the_harmonic_mean(mu_a: float, mu_b: float, mu: float) -> None:
    """2 mu_a mu_b / (mu_a + mu_b): the slipperier side decides."""
    world = make_world(cube("a", mu=mu_a), cube("b", 0.5, mu=mu_b))
    assert pair(world, "friction") == pytest.approx(mu, rel=1e-15)


def test_a_sliding_cube_slows_by_the_mixed_friction() -> None:
    """1.0 on 0.25 slows by 0.4 g."""
    ground = {**GROUND, "friction": 0.25}
    model = free(box("a", (0.2, 0.2, 0.02), 1.0, mu=1.0), (0, 0, 0.01))
    world = make_world(model, environment=[ground])
    world.step(300)
    world.set_state(world.q, [0, 0, 0, 1.0, 0, 0])
    world.step(50)
    before = world.v[3]
    world.step(100)
    assert (world.v[3] - before) / 0.1 == pytest.approx(-0.4 * 9.81, rel=1e-3)


# --- dissipation


@pytest.mark.parametrize(
    ("modulus_a", "d_a", "modulus_b", "d_b", "expected"),
    [
        (1e6, 10.0, 1e6, 30.0, 20.0),
        (3e6, 10.0, 1e6, 50.0, 40.0),
        (1e6, 50.0, 3e6, 10.0, 40.0),
        (1e4, 7.0, 1e10, 500.0, 7.000493),
        (None, 500.0, 1e6, 12.0, 12.0),
        (1e6, 12.0, None, 500.0, 12.0),
    ],
)
def test_dissipation_follows_the_softer_side(
    modulus_a: float | None,
    d_a: float,
    modulus_b: float | None,
    d_b: float,
    expected: float,
) -> None:
    """(E_b d_a + E_a d_b) / (E_a + E_b): each side's weight is its share of the deformation, none if rigid."""
    world = make_world(
        cube("a", modulus=modulus_a, dissipation=d_a),
        cube("b", 0.5, modulus=modulus_b, dissipation=d_b),
    )
    assert pair(world, "dissipation") == pytest.approx(expected, rel=1e-9)
    assert pair(world, "relaxation") == 0.0


def test_linear_damping_adds_the_relaxation_times() -> None:
    """tau = tau_a + tau_b, with the scene's default where a body gives none; Hunt-Crossley is off."""
    ground = {**GROUND, "relaxation_time": 0.02}
    contact = {"relaxation_time": 0.03}
    world = make_world(cube("a"), environment=[ground], contact=contact, damping="linear")
    assert pair(world, "relaxation") == pytest.approx(0.05, rel=1e-15)
    assert pair(world, "dissipation") == 0.0


# --- a compliant half space


def test_slab_of_a_scene_is_that_of_the_geometry() -> None:
    """The same half space, whether a scene or a script makes it."""
    ground = {"name": "ground", "kind": "half_space", "modulus": 1e6}
    world = make_world(cube("a"), environment=[ground])
    (collider,) = (c for c in world.built.colliders if c.link == "ground")
    np.testing.assert_array_equal(collider.geometry.fields, hs.geometry.half_space(1e6).fields)
