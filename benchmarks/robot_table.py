"""What public robots do in one command: load, hold home, follow a trajectory, grip; and dynamics beside Pinocchio.

Robots are those of ``robot_list.yaml``. Their files are not ours to give away: ``--source NAME=FOLDER`` says where each
source is. Every robot is tried in a process of its own, as ``hydro-sim run FILE --ground`` opens it.
"""

from __future__ import annotations

import argparse
import logging
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
from hydro_sim_core.experiments.robot_trial import try_robot
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.scenes import RobotOptions, open_world

LIST = Path(__file__).with_name("robot_list.yaml")
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
        row = {"error": "", **_measured(robot, sources)}
    except Exception as error:  # one robot's fate is not that of the others
        kind = "" if isinstance(error, hs.InputError) else f"{type(error).__name__}: "
        row = {"error": _without_folders(f"{kind}{error}", sources)}
    return {"name": robot.name, "source": robot.source, **row}


def _without_folders(text: str, sources: dict[str, str]) -> str:
    """A text with the names of sources in place of their folders."""
    for source, folder in sources.items():
        text = text.replace(folder, source)
    return text


def _measured(robot: Robot, sources: dict[str, str]) -> Row:
    path = Path(sources[robot.source]) / robot.file
    packages = _package_dirs(path, [Path(sources[name]) for name in (robot.source, *robot.packages)])
    given = tuple(f"{name}:={_as_xacro(value)}" for name, value in robot.arguments.items())
    began = time.perf_counter()
    options = RobotOptions(packages, given, ground=True, ignore=robot.ignore)
    world = open_world(
        str(path), options, {f"models.0.positions.{joint}": value for joint, value in robot.at.items()}
    )
    loaded = time.perf_counter() - began
    (spec,) = world.scene.robots
    row: Row = {
        "load": loaded,
        "coordinates": len(world.v),
        "pairs": len(world.contact_pairs),
        "repairs": [_without_folders(str(repair), sources) for repair in spec.repairs],
        "dynamics": _dynamics(world, packages, robot.arguments),
    }
    return row | try_robot(world)


def _package_dirs(path: Path, roots: list[Path]) -> tuple[Path, ...]:
    """The folders of the sources, and those between a source and the file, where packages of old trees lie."""
    between = [folder for folder in path.parents if folder.is_relative_to(roots[0])]
    return (*between, *roots[1:])


def _as_xacro(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# --- dynamics


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
            ", ".join(f"{name} {100 * way:.0f} %" for name, way in row["grippers"].items()),
        )
    return table


def _counts(rows: list[Row]) -> dict[str, int]:
    loaded = [row for row in rows if not row["error"]]
    grippers = [way for row in loaded for way in row["grippers"].values()]
    return {
        "robots": len(rows),
        "load": len(loaded),
        "dynamics_within_1e-9": sum(row["dynamics"] <= 1e-9 for row in loaded),
        "home_within_1_mrad": sum(row["hold"] <= 1e-3 for row in loaded),
        "no_force_inside": sum(row["inner_force"] == 0.0 for row in loaded),
        "goal_within_1_mrad": sum((row["goal_error"] or 0.0) <= 1e-3 for row in loaded),
        "grippers": len(grippers),
        "grippers_that_go_half_their_way": sum(way >= 0.5 for way in grippers),
    }


if __name__ == "__main__":
    main()
