"""The longest step in which friction under smooth contact is steady, in closed form."""

from __future__ import annotations

import math

import numpy as np

from hydro_sim_core.contact.soft_distance.pressing import MU, STICTION_VELOCITY
from hydro_sim_core.simulation.stepping.machine import Machine

#: Where explicit steps cease to be steady, on the real axis: of Euler's method, and of Runge and Kutta's.
_EDGE = {1: 2.0, 4: 2.785}
#: Velocities of a body that moves freely.
_FREE = 6


def longest_friction_step(machine: Machine) -> float:
    """The longest step in which friction brakes bodies that slide slowly, at the present contacts, s; inf without any.

    Friction grows by ``c = mu N / v_s`` with a sliding speed, so that speeds decay at the rates of ``M^-1 C``.
    These are at most, by Gershgorin's circles, the largest of all bodies' ``(sum of c + sum of those to
    bodies that move too) / m``. Bodies of an arm weigh more than their mass there, and are left out.

    Args:
        machine: The machine after a step under smooth contact.
    """
    soft, model, patches = machine.soft, machine.model, machine.scratch.patches
    assert soft is not None
    tree = model.tree
    # A body without a mass is led, and goes its way whatever brakes it.
    is_free = (tree.parent < 0) & (tree.num_v == _FREE) & (tree.mass > 0.0)
    is_free &= ~np.isin(np.arange(len(tree.parent)), tree.parent)
    slopes = np.zeros(len(is_free))
    for p in range(int(patches.num[0])):
        pair = int(patches.pair[p])
        parameters = soft.parameters[pair]
        normal = float(np.sqrt(np.square(patches.normal_force[p]).sum()))
        slope = float(parameters[MU]) * normal / float(parameters[STICTION_VELOCITY])
        bodies = [int(model.geometry_body[g]) for g in model.pairs[pair]]
        moving = [body for body in bodies if body >= 0 and tree.mass[body] > 0.0]
        for body in moving:
            slopes[body] += len(moving) * slope
    rates = slopes[is_free] / tree.mass[is_free]
    fastest = float(rates.max(initial=0.0))
    return _EDGE[soft.stages] / fastest if fastest > 0.0 else math.inf
