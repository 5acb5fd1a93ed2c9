"""What a robot does that is loaded alone: hold its home, follow a trajectory, and close and open its grippers."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

from hydro_sim_core.simulation import JointCommand, World

Row = dict[str, Any]

#: How long home is held, s.
HOLD = 10.0
#: Period in which a motion is commanded and watched, s; how long drives have to arrive after its end, s.
PERIOD, ARRIVAL = 0.01, 0.5
#: Motion of each joint, rad or m, and how much of the room to a limit and of the speed limit it takes at most.
WAY = {"rad": 0.3, "m": 0.05}
ROOM, SPEED = 0.5, 0.5
#: Most directions that are tried.
DRAWS = 50
#: How long a gripper has for each way, s, and with how much of its largest force it goes.
GRIP, EFFORT = 2.0, 0.5


def try_robot(world: World) -> Row:
    """Try the one robot of a world.

    Args:
        world: Its world at home, where its drives hold it.

    Returns:
        ``hold``: largest deviation of a coordinate from home in ``HOLD`` seconds, rad or m. ``inner_force``: largest
        force between two links of the robot meanwhile, N. ``step``: time of the processor for a step, s.
        ``moved_joints``: number of joints in the trajectory. ``goal_error``: largest deviation from its goal
        ``ARRIVAL`` seconds after its end, rad or m; None without joints. ``worst_joint``: joint of that.
        ``grippers``: part of its way that each gripper goes, by name.
    """
    (robot,) = world.scene.robots
    row = _hold(world, {link.name for link in robot.links}) | _follow(world)
    return row | {"grippers": {name: _grip(world, name) for name in world.gripper_names}}


def _hold(world: World, own: set[str]) -> Row:
    """Hold home: largest deviation (rad or m) and force (N) between two links of the robot, and time of a step."""
    start, way, inner = world.q.copy(), 0.0, 0.0
    began, period = time.process_time(), round(PERIOD / world.time_step)
    for _ in range(round(HOLD / PERIOD)):
        world.step(period)
        way = max(way, float(np.abs(world.q - start).max(initial=0.0)))
        forces = [
            float(np.linalg.norm(patch.force_on_b))
            for patch in world.contacts
            if {patch.name_a, patch.name_b} <= own
        ]
        inner = max([inner, *forces])
    step = (time.process_time() - began) / (period * round(HOLD / PERIOD))
    return {"hold": way, "inner_force": inner, "step": step}


def _follow(world: World) -> Row:
    """Move all joints at once along a polynomial of fifth order; deviation from the goal at its end, rad or m."""
    index = {name: i for i, name in enumerate(world.joint_names)}
    positions = world.joint_positions()
    ways = _free_ways(world)
    speeds = world.joint_velocity_limits()
    duration = 2.0
    for name, way in ways.items():
        if math.isfinite(speeds[index[name]]) and speeds[index[name]] > 0.0:
            duration = max(duration, 15.0 / 8.0 * abs(way) / (SPEED * speeds[index[name]]))
    period = round(PERIOD / world.time_step)
    for i in range(round((duration + ARRIVAL) / PERIOD)):
        s = min((i + 1) * PERIOD / duration, 1.0)
        along, rate = s**3 * (10 - 15 * s + 6 * s**2), 30 * s**2 * (1 - s) ** 2 / duration
        world.command_joints(
            {
                name: JointCommand(positions[index[name]] + along * way, rate * way)
                for name, way in ways.items()
            }
        )
        world.step(period)
    errors = {
        name: float((world.joint_positions() - positions)[index[name]]) - way for name, way in ways.items()
    }
    worst = max(errors, key=lambda name: abs(errors[name]), default=None)
    return {
        "moved_joints": len(ways),
        "goal_error": abs(errors[worst]) if worst else None,
        "worst_joint": worst,
    }


def _free_ways(world: World) -> dict[str, float]:
    """How far each driven joint goes, rad or m: of directions drawn at random the first in which nothing touches."""
    grips = {joint for name in world.gripper_names for joint in world.gripper_joints(name)}
    driven = [name for name, drive in world.drives.items() if drive.mode == "position" and name not in grips]
    joints = {joint.name: joint for robot in world.scene.robots for joint in robot.joints}
    positions = dict(zip(world.joint_names, world.joint_positions().tolist(), strict=True))
    ends = zip(world.joint_names, *(limits.tolist() for limits in world.joint_limits()), strict=True)
    room = {
        name: tuple(np.clip([lower - positions[name], upper - positions[name]], -math.pi, math.pi))
        for name, lower, upper in ends
    }
    generator = np.random.default_rng(1)
    least: tuple[int, dict[str, float]] | None = None
    for _ in range(DRAWS):
        ways = {}
        for name in driven:
            sides = [end for end in room[name] if abs(end) > ROOM * max(map(abs, room[name]))]
            end = sides[generator.integers(len(sides))]
            most = WAY[joints[name].traits.coordinates[0].unit]
            ways[name] = math.copysign(min(most, ROOM * abs(end)), end)
        touching = _touching(world, {name: positions[name] + way for name, way in ways.items()}, positions)
        if least is None or touching < least[0]:
            least = touching, ways
        if touching == 0:
            break
    assert least is not None
    return least[1]


def _touching(world: World, goal: dict[str, float], start: dict[str, float]) -> int:
    """Number of places on a straight way at which something touches."""
    probe, count = world.copy(), 0
    for part in np.linspace(0.1, 1.0, 10):
        probe.set_joint_positions({name: start[name] + part * (q - start[name]) for name, q in goal.items()})
        probe.step()
        count += bool(probe.contacts)
    return count


def _grip(world: World, name: str) -> float:
    """Close and open a gripper; the part of its way that it goes."""
    gripper = next(one for one in world.scene.grippers if one.name == name)
    closes = next(iter(gripper.joints.values()))
    i = world.joint_names.index(world.gripper_joints(name)[0])
    lower, upper = (float(limits[i]) for limits in world.joint_limits())
    ends = (upper, lower) if closes > 0 else (lower, upper)
    places = []
    for end in ends:
        world.set_gripper(name, position=end, max_force=EFFORT * gripper.max_force)
        world.step(round(GRIP / world.time_step))
        places.append(float(world.joint_positions()[i]))
    return abs(places[0] - places[1]) / (upper - lower)
