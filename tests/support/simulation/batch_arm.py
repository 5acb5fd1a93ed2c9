"""An arm above the ground with a brick beside it, for batches: worlds that differ in masses and move differently."""

from __future__ import annotations

from typing import Any

import numpy as np

import hydro_sim_core as hs
from hydro_sim_core.description.model_builder import ModelBuilder
from support.simulation.made_scenes import GROUND, Robot, add_solid, box, fixed, free, make_scene
from support.simulation.side_by_side import host

N = 4
#: Masses of a hand and of the tool on it, kg.
HAND, TOOL = 0.8, 0.3


def describe_arm(model: ModelBuilder) -> None:
    """An arm that turns and slides, of whose hand hangs a pendulum, and to whose hand a tool is fixed."""
    inertia = (0.002, 0.003, 0.004)
    for name, mass in (("stand", 2.0), ("lower", 1.0), ("hand", HAND), ("bob", 0.2)):
        model.add_link(name, mass, center_of_mass=(0.02, 0.01, -0.03), inertia=inertia)
    add_solid(model, "tool", "sphere", TOOL, radius=0.03)
    ends = {"lower": -2.0, "upper": 2.0}
    model.add_joint(
        "turn", "revolute", "stand", "lower", xyz=(0, 0, 0.3), rpy=(0.1, 0, 0), axis=(0, 1, 0), **ends
    )
    model.add_joint(
        "slide", "prismatic", "lower", "hand", xyz=(0.2, 0, 0), rpy=(0, 0.2, 0.1), axis=(0.6, 0, 0.8), **ends
    )
    model.add_joint("flange", "fixed", "hand", "tool", xyz=(0.05, 0.02, -0.1), rpy=(0.4, 0.1, 0))
    model.add_joint(
        "swing", "revolute", "hand", "bob", xyz=(0, 0.1, 0), rpy=(0, 0, 0.3), axis=(1, 0, 0), **ends
    )


def scene(x: float = 0.0, **more: Any) -> Any:
    """The arm above the ground, which its tool hits after a while, and a brick beside it."""
    return make_scene(
        fixed(Robot("arm", describe_arm), xyz=(x, 0.0, -0.1), rpy=(0.0, 0.1 * x, x), **more),
        free(box("brick", (0.1, 0.08, 0.06), 0.5), xyz=(1.0, 0.0, 0.0299)),
        environment=[GROUND],
        solver={"integrator": "fixed"},
    )


def moving(batch: hs.BatchWorld) -> hs.BatchWorld:
    """Worlds that move differently, in which something pushes, with masses of their own."""
    rng = np.random.default_rng(3)
    v = host(batch.v)
    batch.set_state(host(batch.q), v + rng.normal(size=v.shape))
    for link in ("hand", "brick"):
        batch.apply_wrench(link, rng.normal(size=(N, 6)))
    for name in ("mass", "inertia"):
        rows = batch.parameters[name]
        share = batch.numpy.asarray(np.linspace(0.8, 1.3, N))
        rows[...] = rows * share.reshape(N, *(1 for _ in rows.shape[1:]))
    batch.parameters["centre_of_mass"][...] += 0.002
    return batch
