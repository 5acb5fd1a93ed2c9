"""What public robots do in one command: load, hold home, follow a trajectory, grip; and dynamics beside Pinocchio.

Robots are those of ``robot_list.yaml``. Their files are not ours to give away: ``--source NAME=FOLDER`` says where each
source is. Every robot is tried in a process of its own, as ``hydro-sim run FILE --ground`` opens it.
"""

from __future__ import annotations

import argparse
import logging
import math
import multiprocessing
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pinocchio as pin
import yaml
from measure import make_parser, write
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

import hydro_sim_core as hs
from hydro_sim_core.description.repaired_file import repaired_urdf
from hydro_sim_core.simulation import JointCommand, World
from hydro_sim_core.simulation.scenes import RobotOptions, open_world

LIST = Path(__file__).with_name("robot_list.yaml")
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
#: Least scale of bias forces, N m or N.
LEAST = 1e-9
#: States at which the dynamics are compared.
STATES = 5

Row = dict[str, Any]


@dataclass(frozen=True)
class Robot:
    """A row of the list."""

    name: str
    source: str
    file: str
    arguments: dict[str, Any] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    srdf: str | None = None
    base: str = "fixed"
    at: dict[str, float] = field(default_factory=dict)


def main() -> None:
    """Try the robots, print the table, write the results."""
    arguments = _arguments()
    robots = [Robot(**row) for row in yaml.safe_load(LIST.read_text())]
    robots = [robot for robot in robots if arguments.match.lower() in robot.name.lower()]
    sources = dict(pair.split("=", 1) for pair in arguments.source)
    missing = sorted({robot.source for robot in robots} - set(sources))
    console = Console(width=170)
    for source in missing:
        count = sum(robot.source == source for robot in robots)
        console.print(f"{count} robots left out: no --source {source}=FOLDER")
    robots = [robot for robot in robots if robot.source in sources]
    rows = list(_tried(robots, sources, arguments.jobs, console))
    console.print(_table(rows))
    write(arguments.out, {"summary": _counts(rows), "robots": rows})


def _arguments() -> argparse.Namespace:
    parser = make_parser((__doc__ or "").splitlines()[0], "robot_table")
    parser.add_argument("--source", nargs="*", default=[], metavar="NAME=FOLDER", help="where a source is")
    parser.add_argument("--match", default="", help="only robots with this in their names")
    parser.add_argument("--jobs", type=int, default=1, help="robots at a time")
    return parser.parse_args()


def _tried(robots: list[Robot], sources: dict[str, str], jobs: int, console: Console) -> Iterator[Row]:
    hs.load_scene("drop_box").step()  # compiles once, not in every process
    context = multiprocessing.get_context("spawn")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, console=console) as progress,
        ProcessPoolExecutor(jobs, mp_context=context, max_tasks_per_child=1) as pool,
    ):
        bar = progress.add_task("robots", total=len(robots))
        for row in pool.map(_try, robots, [sources] * len(robots)):
            console.print(row["name"], row["error"] or "", highlight=False)
            progress.advance(bar)
            yield row


def _try(robot: Robot, sources: dict[str, str]) -> Row:
    logging.disable(logging.WARNING)
    try:
        return {"name": robot.name, "error": "", **_measured(robot, sources)}
    except Exception as error:  # one robot's fate is not that of the others
        kind = "" if isinstance(error, hs.InputError) else f"{type(error).__name__}: "
        text = f"{kind}{error}"
        for source, folder in sources.items():
            text = text.replace(folder, source)
        return {"name": robot.name, "error": text}


def _measured(robot: Robot, sources: dict[str, str]) -> Row:
    path = Path(sources[robot.source]) / robot.file
    packages = _package_dirs(path, [Path(sources[name]) for name in (robot.source, *robot.packages)])
    given = tuple(f"{name}:={_as_xacro(value)}" for name, value in robot.arguments.items())
    began = time.perf_counter()
    srdf = None if robot.srdf is None else Path(sources[robot.source]) / robot.srdf
    options = RobotOptions(packages, given, srdf, ground=True, ignore=robot.ignore)
    world = open_world(str(path), options, _values(robot))
    loaded = time.perf_counter() - began
    (spec,) = world.scene.robots
    row: Row = {
        "load": loaded,
        "coordinates": len(world.v),
        "pairs": len(world.contact_pairs),
        "repairs": [str(repair) for repair in spec.repairs],
        "dynamics": _dynamics(world, packages, robot.arguments),
    }
    own = {link.name for link in spec.links}
    row |= _hold(world, own)
    row |= _follow(world)
    row["grippers"] = {name: _grip(world, name) for name in world.gripper_names}
    return row


def _package_dirs(path: Path, roots: list[Path]) -> tuple[Path, ...]:
    """The folders of the sources, and those between a source and the file, where packages of old trees lie."""
    between = [folder for folder in path.parents if folder.is_relative_to(roots[0])]
    return (*between, *roots[1:])


def _as_xacro(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _values(robot: Robot) -> dict[str, Any]:
    values: dict[str, Any] = {f"models.0.positions.{joint}": value for joint, value in robot.at.items()}
    return values | ({"models.0.base": robot.base} if robot.base != "fixed" else {})


# --- what it does


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


def _grip(world: World, name: str) -> Row:
    """Close and open a gripper: the part of its way that it goes."""
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
    return {"way": abs(places[0] - places[1]) / (upper - lower)}


def _dynamics(world: World, packages: tuple[Path, ...], arguments: dict[str, Any]) -> float:
    """Largest relative difference of mass matrix and bias forces from Pinocchio's, which reads the repaired file."""
    (spec,) = world.scene.robots
    with TemporaryDirectory() as folder:
        file = Path(folder) / "repaired.urdf"
        file.write_text(repaired_urdf(spec, packages, arguments))
        model = pin.buildModelFromUrdf(str(file))
    # What gazebo's tags take the weight of has it in Pinocchio, which does not read them.
    has_weight = all(link.has_weight for link in spec.links)
    if not has_weight:
        model.gravity.linear = np.zeros(3)
    data = model.createData()
    generator = np.random.default_rng(1)
    start, worst = (world.q.copy(), world.v.copy()), 0.0
    T = _pinocchio_from_ours(model, world)
    lower, upper = (np.clip(limits, -1.0, 1.0) for limits in world.joint_limits())
    own = [world.joint_names.index(name) for name in world.actuated_joint_names]
    for _ in range(STATES):
        q, v = generator.uniform(lower, upper)[own], generator.uniform(-1.0, 1.0, len(own))
        world.set_state(q, v)
        q_pin = _pinocchio_positions(model, world)
        M = pin.crba(model, data, q_pin)
        M = T.T @ (np.triu(M) + np.triu(M, 1).T) @ T + np.diag(_rotors(world))
        bias = T.T @ pin.nle(model, data, q_pin, T @ v)
        own_bias = world.bias_forces() - (0.0 if has_weight else world.gravity_forces())
        for ours, theirs in ((world.mass_matrix(), M), (own_bias, bias)):
            # A joint that bears nothing and turns about its centre of mass has no bias forces at all.
            scale = max(float(np.abs(theirs).max()), LEAST)
            worst = max(worst, float(np.abs(ours - theirs).max()) / scale)
    world.set_state(*start)
    return worst


def _pinocchio_from_ours(model: Any, world: World) -> Any:
    """Matrix from our velocities to those of Pinocchio, in which mimic joints are joints of their own."""
    column = {name: i for i, name in enumerate(world.actuated_joint_names)}
    joints = {joint.name: joint for robot in world.scene.robots for joint in robot.joints}
    T = np.zeros((model.nv, len(column)))
    for index in range(1, model.njoints):
        mimic = joints[model.names[index]].mimic
        owner, scale = (model.names[index], 1.0) if mimic is None else (mimic.joint, mimic.multiplier)
        T[model.joints[index].idx_v, column[owner]] = scale
    return T


def _pinocchio_positions(model: Any, world: World) -> Any:
    positions = dict(zip(world.joint_names, world.joint_positions().tolist(), strict=True))
    q = np.zeros(model.nq)
    for index in range(1, model.njoints):
        joint, value = model.joints[index], positions[model.names[index]]
        q[joint.idx_q : joint.idx_q + joint.nq] = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
    return q


def _rotors(world: World) -> list[float]:
    """Reflected inertia of rotors, which is none of Pinocchio's reading, kg m^2 or kg."""
    rotors = {joint.name: joint.rotor_inertia for robot in world.scene.robots for joint in robot.joints}
    return [rotors[name] for name in world.actuated_joint_names]


# --- what came of it


def _table(rows: list[Row]) -> Table:
    table = Table(title="Public robots")
    for heading in (
        "robot",
        "load, s",
        "repairs",
        "coordinates, pairs",
        "step, ms",
        "Pinocchio",
        "home, mrad or mm",
        "force inside, N",
        "goal, mrad or mm",
        "gripper's way",
    ):
        table.add_column(heading)
    for row in rows:
        if row["error"]:
            table.add_row(row["name"], row["error"][:60])
            continue
        goal = row["goal_error"]
        table.add_row(
            row["name"],
            f"{row['load']:.1f}",
            str(len(row["repairs"]) or ""),
            f"{row['coordinates']}, {row['pairs']}",
            f"{1e3 * row['step']:.2f}",
            f"{row['dynamics']:.0e}",
            f"{1e3 * row['hold']:.3g}",
            f"{row['inner_force']:.3g}",
            "" if goal is None else f"{1e3 * goal:.3g}",
            ", ".join(f"{name} {100 * grip['way']:.0f} %" for name, grip in row["grippers"].items()),
        )
    return table


def _counts(rows: list[Row]) -> dict[str, int]:
    loaded = [row for row in rows if not row["error"]]
    grippers = [grip for row in loaded for grip in row["grippers"].values()]
    return {
        "robots": len(rows),
        "load": len(loaded),
        "dynamics_within_1e-9": sum(row["dynamics"] <= 1e-9 for row in loaded),
        "home_within_1_mrad": sum(row["hold"] <= 1e-3 for row in loaded),
        "no_force_inside": sum(row["inner_force"] == 0.0 for row in loaded),
        "goal_within_1_mrad": sum((row["goal_error"] or 0.0) <= 1e-3 for row in loaded),
        "grippers": len(grippers),
        "grippers_that_go_half_their_way": sum(grip["way"] >= 0.5 for grip in grippers),
    }


if __name__ == "__main__":
    main()
