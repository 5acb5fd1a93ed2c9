"""Shipped scenes pass the project's own gate: nothing in them warns of its forces for longer than a touch begins."""

from __future__ import annotations

import pytest

from hydro_sim_core.simulation.scenes import open_world, shipped_scenes

#: Simulated time of a full run, of a quick one (a grip and the begin of a release), and between two looks, s.
FULL, QUICK, INTERVAL = 20.0, 1.8, 0.02
#: A contact that begins or ends has few faces, whose forces are of no account as soon as others act; s.
BRIEFLY = 0.05


@pytest.mark.parametrize("name", sorted(shipped_scenes()))
def test_no_shipped_scene_warns(name, full_run):
    world = open_world(name)
    every = round(INTERVAL / world.time_step)
    spells: dict[str, float] = {}
    longest: dict[str, float] = {}
    for _ in range(round((FULL if full_run else QUICK) / INTERVAL)):
        world.step(every)
        warnings = {warning.bodies: str(warning) for warning in world.contact_summary().warnings}
        spells = {bodies: spells.get(bodies, 0.0) + INTERVAL for bodies in warnings}
        for bodies, spell in spells.items():
            if spell > BRIEFLY:
                longest[warnings[bodies]] = spell
    assert longest == {}
