"""Contents of a scene, as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.options import PackageDirOption, SceneArgument, SetOption, XacroArgOption, set_values
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.assembly.pairs import linked_pairs
from hydro_sim_core.simulation.scenes import open_world

#: Rows of a table that are printed unless ``--all`` is given: a scene may have a million pairs, which take minutes.
_MOST_ROWS = 100


def check(
    scene: SceneArgument,
    package_dir: PackageDirOption = None,
    xacro_arg: XacroArgOption = None,
    setting: SetOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help=f"Print whole tables; by default they end after {_MOST_ROWS} rows.")
    ] = False,
) -> None:
    """Load a scene and print its contents, without running it."""
    console = output.make_console()
    with compile_progress(console):
        world = open_world(scene, package_dir or (), xacro_arg or (), set_values(setting))
    print_world(world, console, None if everything else _MOST_ROWS)


def print_world(world: World, console: Console, most_rows: int | None = _MOST_ROWS) -> None:
    """Print the first ``most_rows`` bodies, joints, colliders and pairs of a world; None prints all."""
    built = world.built
    tree = built.assembly.tree
    console.print(
        f"[bold]{escape(world.name)}[/bold]: time step {1e3 * world.time_step:g} ms", highlight=False
    )
    for title, columns, rows in (_bodies(world), _joints(world), _colliders(world), _sensors(world)):
        _print_table(console, title, columns, rows[:most_rows], len(rows))
    _print_pairs(world, console, most_rows)
    console.print(
        f"{len(tree.parent)} moving bodies, {len(world.velocity_names)} degrees of freedom, "
        f"{len(built.colliders)} collision geometries, {len(built.model.pairs)} pairs that can touch",
        highlight=False,
        soft_wrap=True,
    )
    names, passing, _ = linked_pairs(built.colliders, built.unsupported_pairs)
    for first, second in passing[:most_rows]:
        pair = f"{escape(names[first])} and {escape(names[second])}"
        console.print(
            f"[yellow]no contact:[/yellow] {pair} are both rigid and pass through each other",
            highlight=False,
            soft_wrap=True,
        )
    _tell_of_more(console, len(passing[:most_rows]), len(passing))


def _print_table(
    console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], total: int
) -> None:
    """Print the first rows of a table that has ``total``."""
    if not rows:
        return
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(escape, row))
    console.print(table)
    _tell_of_more(console, len(rows), total)


def _tell_of_more(console: Console, shown: int, total: int) -> None:
    if total > shown:
        console.print(f"  … and {total - shown} more; --all prints them", highlight=False)


#: Title, headings and rows of a table.
_Rows = tuple[str, Sequence[str], Sequence[Sequence[str]]]


def _bodies(world: World) -> _Rows:
    assembly = world.built.assembly
    links: list[list[str]] = [[] for _ in assembly.joint_names]
    for name, carrier in zip(assembly.link_names, assembly.link_body, strict=True):
        if carrier >= 0:
            links[carrier].append(name)
    rows = [
        (joint, f"{mass:.4g}", ", ".join(carried))
        for joint, mass, carried in zip(assembly.joint_names, assembly.tree.mass, links, strict=True)
    ]
    return "Moving bodies", ("moved by", "mass, kg", "links"), rows


def _joints(world: World) -> _Rows:
    gripper_of = {joint: gripper.name for gripper in world.scene.spec.grippers for joint in gripper.joints}
    driven = set(world.actuated_joint_names)
    rows = [
        (name, f"{position:.4g}", "yes" if name in driven else "", gripper_of.get(name, ""))
        for name, position in zip(world.joint_names, world.joint_positions(), strict=True)
    ]
    return "Joints", ("name", "start", "driven", "gripper"), rows


def _colliders(world: World) -> _Rows:
    rows = []
    for collider in world.built.colliders:
        geometry = collider.geometry
        rows.append(
            (
                collider.link,
                collider.name,
                geometry.kind.name.removesuffix("_MESH").lower().replace("_", " "),
                "" if geometry.is_half_space else str(len(geometry.elements)),
                "" if geometry.is_rigid else f"{geometry.modulus:.3g}",
                f"{collider.proximity.mu_dynamic:g}",
            )
        )
    columns = ("link", "geometry", "kind", "elements", "modulus, Pa", "friction")
    return "Collision geometries", columns, rows


def _sensors(world: World) -> _Rows:
    rows = [
        (sensor.name, sensor.type, sensor.link, f"{sensor.rate:g}" if sensor.rate else "every step")
        for sensor in world.scene.spec.sensors
    ]
    return "Sensors", ("name", "type", "link", "rate, Hz"), rows


def _print_pairs(world: World, console: Console, most_rows: int | None) -> None:
    names, pairs, counts = linked_pairs(world.built.colliders, world.built.model.pairs)
    wrenches = world.scene.spec.report.wrenches
    reported = {frozenset(pair) for pair in wrenches} if wrenches != "all" else None
    rows = []
    for (a, b), count in zip(pairs[:most_rows].tolist(), counts[:most_rows].tolist(), strict=True):
        is_reported = reported is None or frozenset((names[a], names[b])) in reported
        rows.append((names[a], names[b], str(count), "yes" if is_reported else ""))
    columns = ("a", "b", "pairs of geometries", "wrench reported")
    _print_table(console, "Links that can touch", columns, rows, len(pairs))
