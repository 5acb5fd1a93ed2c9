"""Contents of a scene, as tables or as JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.options import (
    IgnoreOption,
    PackageDirOption,
    RepairOption,
    SceneArgument,
    SetOption,
    SrdfOption,
    XacroArgOption,
)
from hydro_sim_core.cli.outputs import (
    REPORT,
    JsonOption,
    OverwriteOption,
    ReportOutOption,
    files_to_write,
    optional,
)
from hydro_sim_core.cli.worlds import opened, tell_of_rest
from hydro_sim_core.description.paths import is_robot_file, xacro_arguments
from hydro_sim_core.description.repaired_file import repaired_urdf
from hydro_sim_core.dynamics.tree import KinematicTree
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.assembly.contact_laws import law_in_words
from hydro_sim_core.simulation.assembly.drive_gains import JointDrive
from hydro_sim_core.simulation.assembly.silent_pairs import (
    InnerForces,
    SilentPair,
    inner_forces,
    silent_pairs,
)
from hydro_sim_core.simulation.assembly.unit_slips import warn_of_seen_unit_slips

#: Rows of a table that are printed unless ``--all`` is given: a scene may have a million pairs, which take minutes.
_MOST_ROWS = 100

#: A row of a table as plain data.
Row = Mapping[str, Any]


def check(
    scene: SceneArgument,
    package_dir: PackageDirOption = None,
    xacro_arg: XacroArgOption = None,
    srdf: SrdfOption = None,
    ignore: IgnoreOption = None,
    setting: SetOption = None,
    repair: RepairOption = "warn",
    repaired: Annotated[
        Path | None, optional("Write a robot file with its repairs, as URDF.", "FILE", "--repaired")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Print whole tables; by default they end after {_MOST_ROWS} rows.")
    ] = False,
    out: ReportOutOption = None,
    json: JsonOption = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Load a scene and print its contents, without running it."""
    report = files_to_write(out, overwrite, {"report": REPORT}, json, repaired).get("report")
    if repaired is not None and not is_robot_file(scene):
        raise InputError(scene, "--repaired", "for robot files only", "check the URDF files of its models")
    if repaired is not None and setting:
        problem = "changes the scene, and --repaired writes what the robot's file says"
        raise InputError(scene, "--set", problem, "leave one of the two out")
    console = output.make_console(report)
    world = opened(scene, package_dir, xacro_arg, srdf, setting, console, repair=repair, ignore=ignore)
    warn_of_seen_unit_slips(world.scene, world.built)
    print_world(world, console, None if everything else _MOST_ROWS)
    tell_of_rest(world, scene, console)
    if repaired is not None:
        arguments = xacro_arguments(xacro_arg or ())
        repaired.write_text(
            repaired_urdf(world.scene.robots[0], package_dir or (), arguments), encoding="utf-8"
        )
        console.print(f"{output.shown(repaired)} written", highlight=False)
    output.write_report(report, contents(world))


def contents(world: World, most_pairs: int | None = None) -> dict[str, Any]:
    """What a world consists of, as plain data in SI units; its first ``most_pairs`` pairs of links, or all."""
    spec, silent = world.scene.spec, silent_pairs(world.built)
    return {
        "scene": world.name,
        "source": str(world.scene.source),
        "time_step": world.time_step,
        "representation": spec.contact.representation,
        "degrees_of_freedom": len(world.velocity_names),
        "bodies": _bodies(world),
        "joints": _joints(world),
        "geometries": _geometries(world),
        "sensors": [
            {"name": one.name, "type": one.type, "link": one.link, "rate": one.rate}
            for one in world.scene.sensors
        ],
        "repairs": _repairs(world),
        "pairs": _pairs(world, most_pairs),
        "silent_pairs": [_silent_row(pair) for pair in silent],
        "inner_forces": [_inner_row(world, forces) for forces in inner_forces(world.built, silent)],
    }


def _repairs(world: World) -> list[Row]:
    return [
        {"model": model.name, "element": repair.element, "was": repair.was, "became": repair.became}
        for model, robot in zip(world.scene.spec.models, world.scene.robots, strict=True)
        for repair in robot.repairs
    ]


def _bodies(world: World) -> list[Row]:
    assembly = world.built.assembly
    links: list[list[str]] = [[] for _ in assembly.joint_names]
    for name, carrier in zip(assembly.link_names, assembly.link_body, strict=True):
        if carrier >= 0:
            links[carrier].append(name)
    return [
        {"moved_by": joint, "mass": float(mass), "weightless": float(weightless), "links": carried}
        for joint, mass, weightless, carried in zip(
            assembly.joint_names, assembly.tree.mass, assembly.tree.weightless[:, 0], links, strict=True
        )
    ]


def _joints(world: World) -> list[Row]:
    gripper_of = {joint: gripper.name for gripper in world.scene.grippers for joint in gripper.joints}
    drives, assembly = world.drives, world.built.assembly
    velocity = {name: i for i, name in enumerate(assembly.velocity_names)}
    return [
        {
            "name": name,
            "start": float(start),
            "driven": name in drives,
            "gripper": gripper_of.get(name),
            **(_spring_row(assembly.tree, velocity[name]) if name in velocity else {}),
            **(_drive_row(drives[name]) if name in drives else {}),
        }
        for name, start in zip(world.joint_names, world.joint_positions(), strict=True)
    ]


def _spring_row(tree: KinematicTree, i: int) -> Row:
    if not tree.spring_stiffness[i]:
        return {}
    return {"spring": float(tree.spring_stiffness[i]), "slack_at": float(tree.spring_reference[i])}


def _drive_row(drive: JointDrive) -> Row:
    limit = drive.effort_limit if math.isfinite(drive.effort_limit) else None
    return {**drive._asdict(), "effort_limit": limit}


def _geometries(world: World) -> list[Row]:
    return [
        {
            "link": collider.link,
            "name": collider.name,
            "kind": collider.geometry.kind.name.removesuffix("_MESH").lower().replace("_", " "),
            "elements": None if collider.geometry.is_half_space else len(collider.geometry.elements),
            "modulus": None if collider.geometry.is_rigid else collider.geometry.modulus,
            "margin": (collider.skin or collider.geometry).margin,
            "point_stiffness": collider.proximity.point_stiffness if collider.geometry.is_rigid else None,
            "friction": collider.proximity.mu_dynamic,
        }
        for collider in world.built.colliders
    ]


def _pairs(world: World, most: int | None) -> list[Row]:
    wrenches = world.scene.spec.report.wrenches
    reported = {frozenset(pair) for pair in wrenches} if wrenches != "all" else None
    laws, skins = world.contact_laws, _skins(world)
    return [
        {
            "a": a,
            "b": b,
            "law": laws.law(row),
            "skin": sorted(skins.get(frozenset((a, b)), ())),
            "friction_ellipsoid": laws.ellipsoid(row),
            "geometries": int(laws.geometries[row]),
            "reported": reported is None or frozenset((a, b)) in reported,
        }
        for row, (a, b) in ((row, laws.links(row)) for row in range(len(laws.pairs))[:most])
    ]


def _skins(world: World) -> dict[frozenset[str], set[str]]:
    """Links that touch with a skin, by pair of links that has some."""
    built = world.built
    model, found = built.model, dict[frozenset[str], set[str]]()
    for pair, side in np.argwhere(model.pair_rows != model.geometry_row[model.pairs]).tolist():
        links = [built.colliders[i].link for i in model.pairs[pair]]
        found.setdefault(frozenset(links), set()).add(links[side])
    return found


def _silent_row(pair: SilentPair) -> Row:
    is_inside = pair.depth is not None and math.isinf(pair.depth)
    return {
        "a": pair.links[0],
        "b": pair.links[1],
        "reason": pair.reason,
        "depth": None if is_inside else pair.depth,
        "one_inside": is_inside,
        "force": pair.force,
    }


def _depth(row: Row) -> str:
    if row["one_inside"]:
        return "one inside the other"
    return "" if row["depth"] is None else f"{1e3 * row['depth']:.3g}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _inner_row(world: World, forces: InnerForces) -> Row:
    return {
        "robot": world.scene.spec.models[forces.robot].name,
        "acting": forces.acting,
        "most": forces.most and list(forces.most),
        "silenced": forces.silenced,
    }


# --- tables

#: Columns of a table: heading and text of a cell.
_Columns = Mapping[str, Callable[[Row], str]]
#: Columns that are left out where no row has anything in them.
_RARE = ("point stiffness, N/m", "skin on", "without weight, kg", "spring", "slack at")
#: Title and columns of the table of each entry of ``contents``.
_TABLES: Mapping[str, tuple[str, _Columns]] = {
    "repairs": (
        "Repairs of robot files (--repair strict refuses them)",
        {
            "element": lambda row: row["element"],
            "what was there": lambda row: row["was"],
            "what is taken": lambda row: row["became"],
        },
    ),
    "bodies": (
        "Moving bodies",
        {
            "moved by": lambda row: row["moved_by"],
            "mass, kg": lambda row: f"{row['mass']:.4g}",
            "without weight, kg": lambda row: _number(row["weightless"] or None),
            "links": lambda row: ", ".join(row["links"]),
        },
    ),
    "joints": (
        "Joints",
        {
            "name": lambda row: row["name"],
            "start": lambda row: f"{row['start']:.4g}",
            "obeys": lambda row: row.get("mode", ""),
            "kp": lambda row: _number(row.get("kp") or None),
            "kd": lambda row: _number(row.get("kd") or None),
            "effort limit": lambda row: _number(row.get("effort_limit")),
            "spring": lambda row: _number(row.get("spring")),
            "slack at": lambda row: _number(row.get("slack_at")),
            "gripper": lambda row: row["gripper"] or "",
        },
    ),
    "geometries": (
        "Collision geometries",
        {
            "link": lambda row: row["link"],
            "geometry": lambda row: row["name"],
            "kind": lambda row: row["kind"],
            "elements": lambda row: "" if row["elements"] is None else str(row["elements"]),
            "modulus, Pa": lambda row: _number(row["modulus"]),
            "margin, mm": lambda row: f"{1e3 * row['margin']:.3g}",
            "point stiffness, N/m": lambda row: _number(row["point_stiffness"]),
            "friction": lambda row: f"{row['friction']:g}",
        },
    ),
    "sensors": (
        "Sensors",
        {
            "name": lambda row: row["name"],
            "type": lambda row: row["type"],
            "link": lambda row: row["link"],
            "rate, Hz": lambda row: f"{row['rate']:g}" if row["rate"] else "every step",
        },
    ),
    "pairs": (
        "Links that can touch",
        {
            "a": lambda row: row["a"],
            "b": lambda row: row["b"],
            "law": lambda row: law_in_words(row["law"], row["friction_ellipsoid"]),
            "skin on": lambda row: ", ".join(row["skin"]),
            "pairs of geometries": lambda row: str(row["geometries"]),
            "wrench reported": lambda row: "yes" if row["reported"] else "",
        },
    ),
    "silent_pairs": (
        "Links that do not touch (contact.pairs turns them on)",
        {
            "a": lambda row: row["a"],
            "b": lambda row: row["b"],
            "because of": lambda row: row["reason"],
            "depth, mm": _depth,
            "would push with, N": lambda row: _number(row["force"]),
        },
    ),
    "inner_forces": (
        "Forces between links of a robot at the start",
        {
            "robot": lambda row: row["robot"],
            "act, N": lambda row: f"{row['acting']:.3g}",
            "most between": lambda row: " and ".join(row["most"] or ()),
            "do not act, N": lambda row: f"{row['silenced']:.3g}",
        },
    ),
}


def print_world(world: World, console: Console, most_rows: int | None = _MOST_ROWS) -> None:
    """Print the first ``most_rows`` bodies, joints, colliders and pairs of a world; None prints all."""
    built = world.built
    found = contents(world, most_rows)
    found["silent_pairs"] = _summed_up(found["silent_pairs"])
    totals = {name: len(found[name]) for name in _TABLES}
    totals["pairs"] = len(world.contact_laws.pairs)
    console.print(
        f"[bold]{output.shown(world.name)}[/bold]: time step {1e3 * world.time_step:g} ms, "
        f"contact on {found['representation']}s",
        highlight=False,
    )
    for name, (title, columns) in _TABLES.items():
        _print_table(console, title, columns, found[name][:most_rows], totals[name])
    console.print(
        f"{len(built.assembly.tree.parent)} moving bodies, {len(world.velocity_names)} degrees of freedom, "
        f"{len(built.colliders)} collision geometries, {len(built.model.pairs)} pairs that can touch",
        highlight=False,
        soft_wrap=True,
    )


def _summed_up(pairs: Sequence[Row]) -> Sequence[Row]:
    """Silent pairs with one row for all partners that a link does not touch for the same reason, without overlap."""
    rows: list[dict[str, Any]] = []
    alike: dict[tuple[str, str], dict[str, Any]] = {}
    for pair in pairs:
        key = (pair["a"], pair["reason"])
        if pair["force"] is None and key in alike:
            alike[key]["b"] += f", {pair['b']}"
        else:
            rows.append(dict(pair))
            if pair["force"] is None:
                alike[key] = rows[-1]
    return rows


def _print_table(console: Console, title: str, columns: _Columns, rows: Sequence[Row], total: int) -> None:
    """Print the first rows of a table that has ``total``."""
    if not rows:
        return
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    shown = {
        heading: cell for heading, cell in columns.items() if heading not in _RARE or any(map(cell, rows))
    }
    for heading in shown:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(output.shown(cell(row)) for cell in shown.values()))
    console.print(table)
    _tell_of_more(console, len(rows), total)


def _tell_of_more(console: Console, shown: int, total: int) -> None:
    if total > shown:
        console.print(f"  … and {total - shown} more; --all prints them", highlight=False)
