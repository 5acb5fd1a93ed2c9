"""Repairs of robots that are known to be needed only when a world is made: of its whole tree, and of mesh files."""

from __future__ import annotations

from dataclasses import replace

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.missing_mass import with_inertia
from hydro_sim_core.description.places import CallSite
from hydro_sim_core.description.repair import tell
from hydro_sim_core.description.spec import CollisionSpec, Repair, RobotSpec
from hydro_sim_core.dynamics import NoInertia, build_tree
from hydro_sim_core.mesh_files import EmptyMesh
from hydro_sim_core.simulation.assembly.placement import place_robots


def mended(scene: LoadedScene, error: NoInertia | EmptyMesh) -> LoadedScene:
    """The scene without what an error tells of, or the error again where nothing is to be repaired.

    Args:
        scene: The scene.
        error: Why no world can be made of it.

    Raises:
        InputError: ``error``, or another that needs a repair in a model that is not to have any.
    """
    repaired = (
        _with_masses(scene, error) if isinstance(error, NoInertia) else _without_empty_mesh(scene, error)
    )
    for model, robot, before in zip(scene.spec.models, repaired.robots, scene.robots, strict=True):
        if model.repair != "silent":
            tell(robot.source, robot.repairs[len(before.repairs) :])
    return repaired


def _with_masses(scene: LoadedScene, error: NoInertia) -> LoadedScene:
    """The scene with mass for joints that move none, from their links' shapes.

    The link behind such a joint gets a mass, or, if it has one, an inertia. In a robot that has no mass anywhere every
    link with shapes gets one.
    """
    robots = list(scene.robots)
    while True:
        i = next(i for i, robot in enumerate(robots) if any(error.link == link.name for link in robot.links))
        _refuse_strict(scene, i, error)
        robots[i] = _heavier(robots[i], error)
        repaired = replace(scene, robots=tuple(robots))
        try:
            build_tree(place_robots(repaired), scene.spec.gravity, scene.start_positions)
        except NoInertia as another:
            error = another
            continue
        return repaired


def _heavier(robot: RobotSpec, error: NoInertia) -> RobotSpec:
    """The robot with mass for the link that an error names, or for one that is welded to it and has shapes."""
    weighs = any(link.inertial is not None for link in robot.links)
    needy = _link_with_shapes(robot, error.link)
    links, repairs = [], []
    for link in robot.links:
        was = ""
        if link.name == needy:
            was = error.problem
        elif not weighs and link.name != robot.root and (link.collisions or link.visuals):
            was = "has no mass, as no link of the robot has"
        if was:
            link, became = with_inertia(link, CallSite(robot.source, f"link '{link.name}'"))
            repairs.append(Repair(f"link '{link.name}'", was, became))
        links.append(link)
    return replace(robot, links=tuple(links), repairs=(*robot.repairs, *repairs))


def _link_with_shapes(robot: RobotSpec, first: str) -> str:
    """The link of a body that begins with ``first`` whose mass or shapes tell its inertia; else ``first``.

    Many files have frames without shapes behind their joints, and weld to these what has some.
    """
    body = [first]
    for joint in robot.joints:  # parents come first
        if joint.type == "fixed" and joint.parent in body:
            body.append(joint.child)
    repaired = {repair.element for repair in robot.repairs}
    links = [link for link in robot.links if link.name in body and f"link '{link.name}'" not in repaired]
    able = [link for link in links if link.inertial or link.collisions or link.visuals]
    # A mass that there is stays, and is spread, best over shapes; another one would make the body heavier.
    able.sort(key=lambda link: (link.inertial is None, not (link.collisions or link.visuals)))
    return able[0].name if able else first


def _without_empty_mesh(scene: LoadedScene, error: EmptyMesh) -> LoadedScene:
    """The scene without the collision shapes of a robot whose mesh files hold nothing, as if they had no size."""
    for i, robot in enumerate(scene.robots):
        if not any(_is_at(collision, error) for link in robot.links for collision in link.collisions):
            continue
        _refuse_strict(scene, i, error)
        links = tuple(
            replace(link, collisions=tuple(one for one in link.collisions if not _is_at(one, error)))
            for link in robot.links
        )
        repair = Repair(error.element, error.problem, "left it out")
        robots = [*scene.robots]
        robots[i] = replace(robot, links=links, repairs=(*robot.repairs, repair))
        return replace(scene, robots=tuple(robots))
    raise error


def _is_at(collision: CollisionSpec, error: EmptyMesh) -> bool:
    place = error.source, error.element, error.collision
    return bool(error.collision) and place == (collision.source, collision.element, collision.name)


def _refuse_strict(scene: LoadedScene, i: int, error: NoInertia | EmptyMesh) -> None:
    if scene.spec.models[i].repair == "strict":
        raise error
