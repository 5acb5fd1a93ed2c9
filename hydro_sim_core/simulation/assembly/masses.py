"""Masses for links that move nothing, which is known only of a scene's whole tree."""

from __future__ import annotations

from dataclasses import replace

from hydro_sim_core.description import LoadedScene
from hydro_sim_core.description.missing_mass import with_inertia
from hydro_sim_core.description.places import CallSite
from hydro_sim_core.description.repair import tell
from hydro_sim_core.description.spec import LinkSpec, Repair, RobotSpec
from hydro_sim_core.dynamics import NoInertia, build_tree
from hydro_sim_core.simulation.assembly.placement import place_robots


def with_masses(scene: LoadedScene, error: NoInertia) -> LoadedScene:
    """The scene with mass for joints that move none, from their links' shapes.

    The link behind such a joint gets a mass, or, if it has one, an inertia. In a robot that has no mass anywhere every
    link with shapes gets one.

    Args:
        scene: The scene.
        error: Why it has no tree.

    Raises:
        NoInertia: The model of such a link is not to be repaired.
    """
    robots = list(scene.robots)
    before = [robot.repairs for robot in robots]
    while True:
        i = next(i for i, robot in enumerate(robots) if any(error.link == link.name for link in robot.links))
        if scene.spec.models[i].repair == "strict":
            raise error
        robots[i] = _heavier(robots[i], error)
        repaired = replace(scene, robots=tuple(robots))
        try:
            build_tree(place_robots(repaired), scene.spec.gravity)
        except NoInertia as another:
            error = another
            continue
        for model, robot, known in zip(scene.spec.models, robots, before, strict=True):
            if model.repair != "silent":
                tell(robot.source, robot.repairs[len(known) :])
        return repaired


def _heavier(robot: RobotSpec, error: NoInertia) -> RobotSpec:
    """The robot with mass for the link that an error names."""
    weighs = any(link.inertial is not None for link in robot.links)
    links, repairs = [], []
    for link in robot.links:
        was = ""
        if link.name == error.link:
            was = error.problem
        elif not weighs and link.name != robot.root and _is_solid(link):
            was = "has no mass, as no link of the robot has"
        if was:
            link, became = with_inertia(link, CallSite(robot.source, f"link '{link.name}'"))
            repairs.append(Repair(f"link '{link.name}'", was, became))
        links.append(link)
    return replace(robot, links=tuple(links), repairs=(*robot.repairs, *repairs))


def _is_solid(link: LinkSpec) -> bool:
    return bool(link.collisions or link.visuals)
