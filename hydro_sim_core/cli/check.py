"""What a scene holds, as tables."""

from __future__ import annotations

from collections import Counter

from rich import box
from rich.console import Console
from rich.table import Table

from hydro_sim_core.cli import output
from hydro_sim_core.cli.options import PackageDirOption, SceneArgument, SetOption, XacroArgOption, set_values
from hydro_sim_core.compilation.progress import compile_progress
from hydro_sim_core.simulation import World
from hydro_sim_core.simulation.scenes import open_world


def check(
    scene: SceneArgument,
    package_dir: PackageDirOption = None,
    xacro_arg: XacroArgOption = None,
    setting: SetOption = None,
) -> None:
    """Load a scene and print what was found in it, without running it."""
    console = output.make_console()
    with compile_progress(console):
        world = open_world(scene, package_dir or (), xacro_arg or (), set_values(setting))
    print_world(world, console)


def print_world(world: World, console: Console) -> None:
    """Print bodies, joints, colliders and pairs of a world."""
    built = world.built
    tree = built.assembly.tree
    console.print(f"[bold]{world.name}[/bold]: time step {1e3 * world.time_step:g} ms", highlight=False)
    for table in (_bodies(world), _joints(world), _colliders(world), _pairs(world)):
        if table.row_count:
            console.print(table)
    console.print(
        f"{len(tree.parent)} moving bodies, {len(world.velocity_names)} degrees of freedom, "
        f"{len(built.colliders)} collision geometries, {len(built.model.pairs)} pairs that can touch",
        highlight=False,
        soft_wrap=True,
    )
    for first, second in sorted(set(built.unsupported_pairs)):
        console.print(
            f"[yellow]no contact:[/yellow] {first} and {second} are both rigid and pass through each other",
            highlight=False,
            soft_wrap=True,
        )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _bodies(world: World) -> Table:
    built = world.built
    table = _table("Moving bodies", "moved by", "mass, kg", "links")
    for body, joint in enumerate(built.assembly.joint_names):
        links = [
            name
            for name, carrier in zip(built.assembly.link_names, built.assembly.link_body, strict=True)
            if carrier == body
        ]
        table.add_row(joint, f"{built.assembly.tree.mass[body]:.4g}", ", ".join(links))
    return table


def _joints(world: World) -> Table:
    table = _table("Joints", "name", "start", "driven", "gripper")
    gripper_of = {joint: gripper.name for gripper in world.scene.spec.grippers for joint in gripper.joints}
    for name, position in zip(world.joint_names, world.joint_positions(), strict=True):
        driven = "yes" if name in world.actuated_joint_names else ""
        table.add_row(name, f"{position:.4g}", driven, gripper_of.get(name, ""))
    return table


def _colliders(world: World) -> Table:
    table = _table("Collision geometries", "link", "geometry", "kind", "elements", "modulus, Pa", "friction")
    for collider in world.built.colliders:
        geometry = collider.geometry
        table.add_row(
            collider.link,
            collider.name,
            geometry.kind.name.removesuffix("_MESH").lower().replace("_", " "),
            "" if geometry.is_half_space else str(len(geometry.elements)),
            "" if geometry.is_rigid else f"{geometry.modulus:.3g}",
            f"{collider.proximity.mu_dynamic:g}",
        )
    return table


def _pairs(world: World) -> Table:
    colliders = world.built.colliders
    counts = Counter((colliders[a].link, colliders[b].link) for a, b in world.built.model.pairs)
    reported = {frozenset(pair) for pair in world.contact_pairs}
    table = _table("Links that can touch", "a", "b", "pairs of geometries", "wrench reported")
    for (a, b), count in counts.items():
        table.add_row(a, b, str(count), "yes" if frozenset((a, b)) in reported else "")
    return table
