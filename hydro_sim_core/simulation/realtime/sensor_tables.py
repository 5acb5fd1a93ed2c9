"""Sensors that the loop reads for clients: what it has to know of them, of links and of masses."""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import numpy as np

from hydro_sim_core.compilation import (
    ConstFloat2D,
    ConstFloat3D,
    ConstInt1D,
    ConstInt2D,
    Float1D,
    Float2D,
    Float3D,
)
from hydro_sim_core.dynamics.tree import TreeScratch, make_scratch
from hydro_sim_core.shared_memory.layout import SensorKind
from hydro_sim_core.simulation.world import World

#: Values of each kind, see ``SensorKind``.
NUM_VALUES = {SensorKind.FORCE_TORQUE: 6, SensorKind.IMU: 10}
_KINDS = {"force_torque": SensorKind.FORCE_TORQUE, "imu": SensorKind.IMU}


class SensorTables(NamedTuple):
    """Sensors of a world, n of them, and what they read.

    Attributes:
        kind: (n,) ``SensorKind``.
        first: (n,) first value of each.
        link: (n,) its link.
        R_LS: (n, 3, 3) its frame in the link.
        p_LS: (n, 3) the same, m.
        sign: (n, 1) of the wrench that is told.
        seed: (n, 2) seed of the noise, and number of the sensor.
        bias: (n, 6) of angular velocity and specific force.
        deviation: (n, 2) standard deviation of the noise of both.
        parent: (nl,) parent of every link, -1 for the world.
        mass: (nl, 4) mass, kg, and centre of it in the link, m.
        lifted: (nl, 4) mass whose weight is taken off, kg, and its first moment, kg m.
        I_LCo: (nl, 3, 3) inertia about that centre, kg m^2.
        links_of_pair: (P, 2) links of the shapes of a pair, -1 for none.
        follows_motion: 1 where steps follow the motion within them, see ``World.motion_of_step``; else 0.
        wrench: (nl, 6) scratch: moment about the world's origin and force that parents apply.
        pose: (nl, 12) scratch: orientation and origin of links.
        q_half: (nq,) scratch: posture in the middle of a step that follows the motion.
        v_half: (nv,) scratch: mean velocities in its first half.
        mean: (nv,) scratch: velocities in the middle of the step.
        change: (nv,) scratch: accelerations.
        tau: (nv,) scratch.
        R_WS: (3 n, 3, 3) scratch: orientation of each sensor at begin and end of the step, and in between.
        motion: (2 n, 9) scratch: angular velocity, velocity and place of each sensor at begin and end.
        turns: (3, 4) scratch: quaternions.
        noise: (6,) scratch.
        memory: Scratch of the dynamics.
    """

    kind: ConstInt1D
    first: ConstInt1D
    link: ConstInt1D
    R_LS: ConstFloat3D
    p_LS: ConstFloat2D
    sign: ConstFloat2D
    seed: ConstInt2D
    bias: ConstFloat2D
    deviation: ConstFloat2D
    parent: ConstInt1D
    mass: ConstFloat2D
    lifted: ConstFloat2D
    I_LCo: ConstFloat3D
    links_of_pair: ConstInt2D
    follows_motion: int
    wrench: Float2D
    pose: Float2D
    q_half: Float1D
    v_half: Float1D
    mean: Float1D
    change: Float1D
    tau: Float1D
    R_WS: Float3D
    motion: Float2D
    turns: Float2D
    noise: Float1D
    memory: TreeScratch


def sensors_told(world: World) -> list[Any]:
    """Descriptions of the sensors that clients see: those of whose kind the layout knows."""
    names = world.frame_names
    return [sensor for sensor in world.scene.sensors if sensor.type in _KINDS and sensor.link in names]


def kind_of(sensor: Any) -> SensorKind:
    """Kind of a sensor in the layout."""
    return _KINDS[sensor.type]


def make_sensor_tables(world: World) -> SensorTables:
    """Tables of the sensors of a world."""
    sensors, rows = sensors_told(world), {name: i for i, name in enumerate(world.frame_names)}
    num, nv, model = len(sensors), len(world.v), world.built.model
    counts = [NUM_VALUES[kind_of(sensor)] for sensor in sensors]
    masses = world.link_masses
    named = np.array([rows.get(collider.link, -1) for collider in world.built.colliders], dtype=np.int64)
    parent = np.full(len(rows), -1, dtype=np.int64)
    for above, link in world.link_tree:
        parent[rows[link]] = rows.get(above, -1)
    poses = np.array([sensor.X_LS for sensor in sensors]).reshape(num, 4, 4)
    return SensorTables(
        kind=np.array([kind_of(sensor) for sensor in sensors], dtype=np.int64),
        first=np.cumsum([0, *counts])[:-1].astype(np.int64),
        link=np.array([rows.get(sensor.link, -1) for sensor in sensors], dtype=np.int64),
        R_LS=poses[:, :3, :3].copy(),
        p_LS=poses[:, :3, 3].copy(),
        sign=np.array([[_sign(sensor)] for sensor in sensors]).reshape(num, 1),
        seed=np.array([_seed(sensor) for sensor in sensors], dtype=np.int64).reshape(num, 2),
        bias=np.array([_biases(sensor) for sensor in sensors]).reshape(num, 6),
        deviation=np.array([_deviations(sensor, world.time_step) for sensor in sensors]).reshape(num, 2),
        parent=parent,
        mass=np.column_stack([masses.mass, masses.p_LCo]),
        lifted=np.ascontiguousarray(masses.lifted),
        I_LCo=np.ascontiguousarray(masses.I_LCo),
        links_of_pair=named[model.pairs].reshape(-1, 2),
        follows_motion=int(world.follows_motion),
        wrench=np.zeros((len(rows), 6)),
        pose=np.zeros((len(rows), 12)),
        q_half=np.zeros(len(world.q)),
        v_half=np.zeros(nv),
        mean=np.zeros(nv),
        change=np.zeros(nv),
        tau=np.zeros(nv),
        R_WS=np.zeros((3 * num, 3, 3)),
        motion=np.zeros((2 * num, 9)),
        turns=np.zeros((3, 4)),
        noise=np.zeros(6),
        memory=make_scratch(model.tree),
    )


def _sign(sensor: Any) -> float:
    return -1.0 if getattr(sensor, "measure_direction", "") == "parent_to_child" else 1.0


def _seed(sensor: Any) -> tuple[int, int]:
    return getattr(sensor, "seed", 0), zlib.crc32(sensor.name.encode())


def _biases(sensor: Any) -> tuple[float, ...]:
    none = (0.0, 0.0, 0.0)
    return (*getattr(sensor, "gyroscope_bias", none), *getattr(sensor, "accelerometer_bias", none))


def _deviations(sensor: Any, time_step: float) -> tuple[float, float]:
    """Standard deviations of white noise: its density (per square root of Hz) times the root of the sample rate."""
    root = float(np.sqrt(sensor.rate or 1.0 / time_step))
    densities = (getattr(sensor, f"{name}_noise_density", 0.0) for name in ("gyroscope", "accelerometer"))
    gyroscope, accelerometer = (root * density for density in densities)
    return gyroscope, accelerometer
