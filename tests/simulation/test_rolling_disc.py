"""Euler's disc: what is lost by rolling on is the step's, at first order, and none of it is the inertial forces'.

A thin disc of radius R, tilted by a, whose centre rests and whose rim rolls, precesses at Omega^2 = 4 g / (R sin a) and
has the energy 3/2 m g R sin a. The point that touches runs round the rim at Omega. Pressure is that at the end of a
step, on the faces of its beginning, so the force m g acts ahead of where the rim touches, by an angle up to
b = Omega h. There the rim comes down at Omega R sin a cos a b, which takes m g times that: the tilt falls by up to
(8/3) g h / R a second.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.spatial.transform import Rotation

import hydro_sim_core as hs
from hydro_sim_core.contact import compute_patch
from support.simulation.made_scenes import GROUND, G, free, make_world, solid

RADIUS, THICKNESS, MASS = 0.05, 0.002, 0.1
TILT, TIME = np.radians(30.0), 0.1
TRANSVERSE = MASS * (3.0 * RADIUS**2 + THICKNESS**2) / 12.0
AXIAL = MASS * RADIUS**2 / 2.0


def steady_rate() -> float:
    """Precession of the disc with its thickness, rad/s: the balance of moments about the resting centre."""
    sine, cosine, half = np.sin(TILT), np.cos(TILT), THICKNESS / 2.0
    moment = MASS * G * (RADIUS * cosine - half * sine)
    return float(np.sqrt(moment / (sine * (TRANSVERSE * cosine - AXIAL * half / RADIUS * sine))))


def rolling_disc(time_step: float, mu: float) -> hs.World:
    """A rigid disc that rolls in place on stiff ground without dissipation."""
    inertia, lengths = (TRANSVERSE, TRANSVERSE, AXIAL), {"radius": RADIUS, "length": THICKNESS}
    contact = {"modulus": None, "mu": mu, "dissipation": 0.0, "hint": 1e-3}
    disc = solid("disc", "cylinder", MASS, inertia=inertia, **lengths, **contact)
    soil = {"compliance": "compliant", "modulus": 1e9, "slab_thickness": 0.01, "dissipation": 0.0}
    ground = {**GROUND, **soil, "friction": mu}
    world = make_world(free(disc), environment=[ground], time_step=time_step)
    X_WD = np.eye(4)
    X_WD[:3, :3] = Rotation.from_euler("y", TILT).as_matrix()
    arm = X_WD[:3, :3] @ [RADIUS, 0.0, -THICKNESS / 2.0]
    soft, hard = sorted((one.geometry for one in world.built.colliders), key=lambda one: one.is_rigid)

    def excess(depth: float) -> float:
        X_WD[2, 3] = -arm[2] - depth
        return float(compute_patch(soft, np.eye(4), hard, X_WD).force_on_b[2]) - MASS * G

    excess(brentq(excess, 1e-6, 1e-3, xtol=1e-12))
    spin = -steady_rate() * np.sin(TILT) / RADIUS * arm
    world.place("disc_0", X_WD, np.concatenate([spin, np.zeros(3)]))
    return world


def fall_of_tilt(world: hs.World) -> tuple[float, float]:
    """How fast the tilt falls over ``TIME``, rad/s, and the mean rate of precession, rad/s."""
    axes = []
    for _ in range(100):
        world.step(round(TIME / 100 / world.time_step))
        axes.append(world.frame_pose("disc")[:3, 2])
    x, y, z = np.array(axes).T
    times = np.arange(100) * TIME / 100
    fall = -np.polyfit(times, np.arccos(z), 1)[0]
    return float(fall), float(np.polyfit(times, np.unwrap(np.arctan2(y, x)), 1)[0])


def test_what_a_disc_loses_by_rolling_falls_with_the_step():
    """Beyond what friction takes, for the patch has a width to turn on, at any step."""
    steps = np.array([1e-4, 5e-5, 2.5e-5])
    falls, rates = np.transpose([fall_of_tilt(rolling_disc(float(step), mu=0.1)) for step in steps])
    slopes = np.diff(falls) / np.diff(steps) * RADIUS / G
    assert slopes[0] == pytest.approx(slopes[1], rel=0.05)
    assert 0.0 < slopes[1] < 8.0 / 3.0
    friction = falls[-1] - slopes[1] * steps[-1] * G / RADIUS
    assert 0.0 < friction < 0.1 * slopes[1] * 1e-3 * G / RADIUS
    assert rates[-1] == pytest.approx(steady_rate(), rel=0.005)
