"""Loading of scenes: reads the robots of a scene file and checks all names in it."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hydro_sim_core.assets import shipped_robots
from hydro_sim_core.description.degrees import angles_of_scene, warn_of_degrees
from hydro_sim_core.description.described_drives import described_joints, initial_positions
from hydro_sim_core.description.described_grippers import all_grippers
from hydro_sim_core.description.described_sensors import described_sensors
from hydro_sim_core.description.idle_damping import warn_of_idle_damping
from hydro_sim_core.description.idle_slabs import refuse_idle_slabs
from hydro_sim_core.description.limits import check_scene, check_shape
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.overrides import overridden_as_before, overridden_robots, overridden_spec
from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.places import CallSite, is_call_site
from hydro_sim_core.description.scene import (
    CommandSpec,
    EnvironmentSpec,
    ModelSpec,
    SceneSpec,
)
from hydro_sim_core.description.scene_drives import GripperSpec
from hydro_sim_core.description.scene_shapes import shape_spec
from hydro_sim_core.description.sensor_spec import SensorSpec
from hydro_sim_core.description.spec import CollisionSpec, ContactLaw, JointSpec, PointSpec, RobotSpec
from hydro_sim_core.description.urdf import load_robot, with_prefix
from hydro_sim_core.errors import InputError, shortened

logger = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False)
class LoadedScene:
    """A scene with all that its file refers to.

    Attributes:
        spec: Contents of the scene file.
        robots: One robot per model, in the same order, prefixes applied.
        start_positions: Per model the start position (rad or m) of every independent coordinate.
        environment: Static geometry; ``X_LG`` places it in the world.
        source: The scene file's absolute path.
    """

    spec: SceneSpec
    robots: tuple[RobotSpec, ...]
    start_positions: tuple[dict[str, float], ...]
    environment: tuple[CollisionSpec, ...]
    source: Path

    @cached_property
    def sensors(self) -> tuple[SensorSpec, ...]:
        """The sensors of the scene file, then those of descriptions that the file does not name."""
        return _sensors_of(self.spec, self.robots)

    def __repr__(self) -> str:
        spec = self.spec
        return (
            f"<LoadedScene '{spec.name}': {len(spec.models)} models, {len(spec.environment)} static shapes>"
        )

    @cached_property
    def grippers(self) -> tuple[GripperSpec, ...]:
        """Grippers of the scene file, followed by those that the robots' descriptions have."""
        return all_grippers(self.spec, self.robots)

    def with_(self, values: Mapping[str, Any]) -> LoadedScene:
        """A copy of the scene with other values; see ``overrides`` for paths.

        Example:
            ``World(scene.with_({"models.ball.friction": 0.4, "models.ball.links.ball.mass": 0.2}))``

        Args:
            values: New values by path.

        Raises:
            InputError: A path does not exist, a value does not fit, or the resulting scene is inconsistent.
        """
        spec, described = overridden_spec(self.spec, values)
        before, files = {model.name: k for k, model in enumerate(self.spec.models)}, RobotFiles(self.source)
        robots = []
        for i, model in enumerate(spec.models):
            # One that has got another name stands where it stood.
            places = [k for k in (before.get(model.name, i), i) if k < len(before)]
            kept = (self.robots[k] for k in places if _files(self.spec.models[k]) == _files(model))
            robots.append(next(kept, None) or self._read_anew(files, model, i, places))
        return complete_scene(spec, overridden_robots(robots, described), self.source)

    def _read_anew(self, files: RobotFiles, model: ModelSpec, index: int, places: Iterable[int]) -> RobotSpec:
        """The robot of a model whose file is read in another way, with the values given to it before."""
        robot = files.load(model, f"models.{index}")
        for old, k in ((self.spec.models[k], k) for k in places):
            if model.name == old.name or model.urdf == old.urdf:
                return overridden_as_before(robot, self.robots[k], old.prefix, model.prefix)
        return robot


def complete_scene(spec: SceneSpec, robots: tuple[RobotSpec, ...], source: Path) -> LoadedScene:
    """Check every name in a scene, and add start positions and static geometry.

    Args:
        spec: Contents of the scene file, or the same made by a program.
        robots: One robot per model, prefixes applied.
        source: Absolute path of the scene file, or a name for the program, for error messages.

    Raises:
        InputError: A name occurs twice or is unknown, or a start position is outside the limits of its joint.
    """
    check_unique_names(spec, robots, source)
    _check_attachments(spec, robots, source)
    check_scene(spec, robots, source)
    start_positions = tuple(
        start_positions_of(model, robot, f"models.{i}.positions", source)
        for i, (model, robot) in enumerate(zip(spec.models, robots, strict=True))
    )
    check_drives(spec, robots, source)
    _warn_of_strong_grippers(spec, robots, source)
    _check_commands(spec, robots, source)
    _check_pairs(spec, robots, source)
    _check_sensors(spec, robots, source)
    environment = tuple(
        _load_environment(item, f"environment.{i}", source) for i, item in enumerate(spec.environment)
    )
    scene = LoadedScene(spec, robots, start_positions, environment, source)
    refuse_idle_slabs(spec.models, robots, source)
    warn_of_degrees(source, angles_of_scene(spec))
    warn_of_idle_damping(scene.spec, scene.robots, scene.environment, scene.source)
    return scene


def _files(model: ModelSpec) -> tuple[Any, ...]:
    """Cache key: all that a model's description depends on."""
    return (
        model.urdf,
        model.package_dirs,
        _arguments(model),
        model.srdf,
        model.prefix,
        model.repair,
        model.ignore,
    )


def _arguments(model: ModelSpec) -> str:
    """The arguments of a model's xacro; True and 1 are equal in Python, but different for xacro."""
    return repr(sorted(model.xacro_args.items()))


class RobotFiles:
    """Loader of the robots of a scene; models with the same file and arguments share one description.

    Args:
        source: Path of the scene file.
    """

    def __init__(self, source: Path) -> None:
        self._source = source
        self._loaded: dict[tuple[object, ...], RobotSpec] = {}

    def load(self, model: ModelSpec, where: str) -> RobotSpec:
        """Load the robot of a model's ``urdf`` and ``srdf``; error messages call the model ``where``.

        Raises:
            InputError: As ``load_robot``, or a program has built the model.
        """
        if is_call_site(model.urdf):
            problem = f"'{model.name}' was built by a program, and is not read anew from a file"
            raise InputError(self._source, where, problem, f"build another one where {model.urdf} does")
        package_dirs = [self._source.parent / folder for folder in model.package_dirs]
        resolver = PackageResolver(self._source, package_dirs, confined=False)
        urdf = _shipped(model.urdf, self._source, f"{where}.urdf") or resolver.resolve(
            model.urdf, f"{where}.urdf"
        )
        srdf = None if model.srdf is None else resolver.resolve(model.srdf, f"{where}.srdf")
        key = (urdf, srdf, *package_dirs, _arguments(model), model.repair, model.ignore)
        if key not in self._loaded:
            self._loaded[key] = load_robot(
                urdf, package_dirs, model.xacro_args, srdf=srdf, repair=model.repair, ignore=model.ignore
            )
        return with_prefix(self._loaded[key], model.prefix) if model.prefix else self._loaded[key]


def _shipped(name: str, source: Path, element: str) -> Path | None:
    """File of a shipped robot or object by its name; None for a path, which has an ending or a folder.

    Raises:
        InputError: No shipped one has this name.
    """
    if "/" in name or Path(name).suffix:
        return None
    shipped = shipped_robots()
    if name not in shipped:
        problem = f"'{shortened(name)}' is neither a file, which ends in .urdf or .xacro, nor a shipped robot or object"
        raise InputError(source, element, problem, did_you_mean(name, shipped))
    return shipped[name]


def _load_environment(item: EnvironmentSpec, where: str, source: Path) -> CollisionSpec:
    shape = shape_spec(item.shape, f"{where}.shape.mesh.path", PackageResolver(source, confined=False))
    element = f"{where} '{item.name}'"
    check_shape(shape, CallSite(str(source), element))
    return CollisionSpec(item.name, shape, item.pose.X, item.proximity.spec, str(source), element)


def check_unique_names(spec: SceneSpec, robots: tuple[RobotSpec, ...], source: Path) -> None:
    """Check that no name is used twice."""
    models = [model.name for model in spec.models]
    statics = [item.name for item in spec.environment]
    _refuse_repeats("models", models, source, "give it another name")
    _refuse_repeats("environment", [*models, *statics], source, "give it another name")
    _refuse_repeats("grippers", [gripper.name for gripper in spec.grippers], source, "give it another name")
    links = [link.name for robot in robots for link in robot.links]
    joints = [name for robot in robots for joint in robot.joints for name in joint.all_names]
    mend = "give one of the models a prefix"
    _refuse_repeats("models, link", links, source, mend)
    _refuse_repeats("models, joint", joints, source, mend)
    bodies = [*links, "world", *statics]
    if "world" in links:
        bodies.remove("world")
    _refuse_repeats("environment", bodies, source, "give it another name")
    # Frames of sensors share the namespace of links.
    frames = set(bodies)
    for i, sensor in enumerate(spec.sensors):
        if sensor.name in frames:
            problem = f"a body or another sensor has the name '{sensor.name}'"
            raise InputError(source, f"sensors.{i}.name", problem, "give the sensor another name")
        frames.add(sensor.name)
    _refuse_repeats("sensor", [sensor.name for sensor in _sensors_of(spec, robots)], source, mend)


def _sensors_of(spec: SceneSpec, robots: tuple[RobotSpec, ...]) -> tuple[SensorSpec, ...]:
    return (*spec.sensors, *described_sensors(robots, spec.sensors, spec.time_step))


def _refuse_repeats(where: str, names: Iterable[str], source: Path, mend: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(source, f"{where} '{name}'", "two have this name", mend)
        seen.add(name)


def _check_attachments(spec: SceneSpec, robots: tuple[RobotSpec, ...], source: Path) -> None:
    earlier: list[str] = []
    for i, (model, robot) in enumerate(zip(spec.models, robots, strict=True)):
        if model.attach_to is not None and model.attach_to not in earlier:
            raise InputError(
                source,
                f"models.{i}.attach_to",
                f"no earlier model has a link '{model.attach_to}'",
                did_you_mean(model.attach_to, earlier),
            )
        earlier += [link.name for link in robot.links]


def start_positions_of(model: ModelSpec, robot: RobotSpec, where: str, source: Path) -> dict[str, float]:
    """Given positions, completed for the other joints by the position within the limits nearest to 0."""
    movable = {name: j for j in robot.joints if j.mimic is None for name in j.coordinate_names}
    for name, value in model.positions.items():
        if name not in movable:
            raise InputError(source, f"{where}.{name}", *_unknown_position(name, robot, movable))
        limits = movable[name].limits
        if not limits.lower <= value <= limits.upper:
            raise InputError(
                source,
                f"{where}.{name}",
                f"{value:g} is outside the joint's limits {limits.lower:g} … {limits.upper:g}",
                "start inside the limits",
            )
    given = {**(initial_positions(robot) if model.drives != "none" else {}), **model.positions}
    return {
        name: given.get(name, min(max(0.0, joint.limits.lower), joint.limits.upper))
        for name, joint in movable.items()
    }


def _unknown_position(name: str, robot: RobotSpec, movable: dict[str, JointSpec]) -> tuple[str, str]:
    for joint in robot.joints:
        if joint.name == name:
            kind = "mimic" if joint.mimic is not None else joint.type
            return f"a {kind} joint has no start position of its own", _instead(joint)
    return f"no joint of this name in '{robot.name}'", did_you_mean(name, movable)


def _instead(joint: JointSpec) -> str:
    """Suggestion where a joint with one coordinate is needed and the named joint has none or several."""
    names = joint.coordinate_names
    return f"name its coordinates {', '.join(names)}" if len(names) > 1 else "remove it"


def check_drives(spec: SceneSpec, robots: tuple[RobotSpec, ...], source: Path) -> None:
    """Check that every driven joint exists, can be driven and is driven once; fingers may share a coordinate."""
    joints = {name: joint for robot in robots for joint in robot.joints for name in joint.all_names}
    drivers: dict[str, str] = {}
    linkages = {f"grippers.{i}.joints" for i, gripper in enumerate(spec.grippers) if gripper.is_linkage}
    for where, name in _driven_joints(spec):
        if name not in joints:
            raise InputError(source, where, f"no joint '{name}' in the scene", did_you_mean(name, joints))
        joint, is_finger = joints[name], where.startswith("grippers") and where not in linkages
        if name not in joint.coordinate_names or (joint.mimic is not None and not is_finger):
            kind = "mimic" if joint.mimic is not None else joint.type
            problem = f"the {kind} joint '{name}' cannot be driven"
            raise InputError(source, where, problem, _instead(joint))
        owner = name if joint.mimic is None else joint.mimic.joint
        if owner in drivers and not (is_finger and drivers[owner] == where):
            raise InputError(source, where, f"joint '{owner}' is driven by {drivers[owner]} too", "keep one")
        drivers[owner] = where
    for i, gripper in enumerate(spec.grippers):
        if gripper.is_linkage:
            _check_linkage(gripper, f"grippers.{i}.joints", joints, source)
            continue
        _check_fingers(gripper, f"grippers.{i}", joints, source)
        _check_shared_coordinates(gripper, f"grippers.{i}.joints", joints, source)


def _owner(joint: JointSpec) -> str:
    """Name of the joint whose coordinate moves ``joint``: its master, or the joint itself."""
    return joint.name if joint.mimic is None else joint.mimic.joint


def _driven_joints(spec: SceneSpec) -> Iterator[tuple[str, str]]:
    for i, actuator in enumerate(spec.actuators):
        for name in actuator.joints:
            yield f"actuators.{i}.joints", name
    for i, gripper in enumerate(spec.grippers):
        for name in gripper.joints:
            yield f"grippers.{i}.joints", name


def _warn_of_strong_grippers(spec: SceneSpec, robots: tuple[RobotSpec, ...], source: Path) -> None:
    """Tell of grippers that press with more than their file gives a joint: the scene has the last word."""
    limits = {joint.name: joint.limits.effort for robot in robots for joint in robot.joints}
    for gripper in spec.grippers:
        weaker = [name for name in gripper.joints if 0.0 < limits.get(name, 0.0) < gripper.max_force]
        if weaker:
            logger.warning(
                "%s: gripper '%s': max_force %g holds in place of lower effort limits in the robot's file: %s; lower "
                "it where these are to hold",
                source,
                gripper.name,
                gripper.max_force,
                ", ".join(f"{name} {limits[name]:g}" for name in weaker),
            )


def _check_fingers(gripper: GripperSpec, where: str, joints: dict[str, JointSpec], source: Path) -> None:
    for name in gripper.joints:
        if not joints[name].traits.is_slide:
            raise InputError(
                source,
                f"{where}.joints.{name}",
                f"a {joints[name].type} joint has no opening in metres",
                "name prismatic joints, or write kind: linkage if this one drives all fingers",
            )
    for name in gripper.closed:
        if name not in gripper.joints:
            mend = did_you_mean(name, gripper.joints)
            raise InputError(source, f"{where}.closed.{name}", "is not a joint of the gripper", mend)


def _check_linkage(gripper: GripperSpec, where: str, joints: dict[str, JointSpec], source: Path) -> None:
    """Check that the joint of a linkage goes between two ends; that it is no mimic joint is known."""
    (name,) = gripper.joints
    limits = joints[name].limits
    if not limits.lower < limits.upper or not math.isfinite(limits.upper - limits.lower):
        problem = f"'{name}' has limits {limits.lower:g} … {limits.upper:g}, between which nothing closes"
        raise InputError(
            source, where, problem, "name a joint that is open at one limit and closed at the other"
        )


def _check_shared_coordinates(
    gripper: GripperSpec, where: str, joints: dict[str, JointSpec], source: Path
) -> None:
    """Check that all joints that share a finger's coordinate are fingers, and that they close together."""
    for name, sign in gripper.joints.items():
        for other in joints.values():
            if not other.traits.is_slide or _owner(other) != _owner(joints[name]):
                continue
            if other.name not in gripper.joints:
                problem = f"'{other.name}' moves with '{name}' and takes a share of its force"
                raise InputError(source, where, problem, f"list '{other.name}' too, 1 or -1 as it closes")
            if sign * _ratio(joints[name]) * gripper.joints[other.name] * _ratio(other) < 0.0:
                problem = f"opens while '{name}' closes"
                raise InputError(
                    source, f"{where}.{other.name}", problem, "correct the sign of one of the two"
                )


def _ratio(joint: JointSpec) -> float:
    return 1.0 if joint.mimic is None else joint.mimic.multiplier


def _check_commands(spec: SceneSpec, robots: tuple[RobotSpec, ...], source: Path) -> None:
    grippers = {gripper.name for gripper in all_grippers(spec, robots)}
    actuated = {name: (one.kp, one.kd) for one in spec.actuators for name in one.joints}
    actuated |= dict.fromkeys(described_joints(spec, robots), (1.0, 1.0))  # they have both gains
    led = [model.name for model in spec.models if model.base == "kinematic"]
    targets: set[str] = set()
    for i, command in enumerate(spec.commands):
        if command.gripper is not None and command.gripper not in grippers:
            mend = did_you_mean(command.gripper, grippers)
            raise InputError(source, f"commands.{i}.gripper", f"no gripper '{command.gripper}'", mend)
        if command.joint is not None and command.joint not in actuated:
            movable = [joint for robot in robots for joint in robot.joints if joint.mimic is None]
            there = any(command.joint in joint.all_names for joint in movable if joint.traits.num_v)
            mend = "list it in one" if there else did_you_mean(command.joint, actuated)
            raise InputError(source, f"commands.{i}.joint", f"no actuator drives '{command.joint}'", mend)
        if command.joint is not None:
            _check_gain(command, *actuated[command.joint], f"commands.{i}", source)
        if command.model is not None and command.model not in led:
            problem = f"no kinematic model '{command.model}'"
            raise InputError(source, f"commands.{i}.model", problem, did_you_mean(command.model, led))
        if command.target in targets:
            problem = f"'{command.target}' has two commands"
            raise InputError(source, f"commands.{i}", problem, "keep one of the two")
        targets.add(command.target)


def _check_gain(command: CommandSpec, kp: float, kd: float, where: str, source: Path) -> None:
    needed = {"position": ("kp", kp), "velocity": ("kd", kd)}.get(command.mode or "")
    if needed is not None and needed[1] == 0.0:
        problem = f"a {command.mode} command needs the actuator's {needed[0]}"
        raise InputError(source, f"{where}.mode", problem, f"give the actuator {needed[0]} above 0")


def _check_pairs(spec: SceneSpec, robots: tuple[RobotSpec, ...], source: Path) -> None:
    bodies = {link.name for robot in robots for link in robot.links} | {
        item.name for item in spec.environment
    }
    pairs = [("contact.exclude", i, pair) for i, pair in enumerate(spec.contact.exclude)]
    pairs += [("contact.pairs", i, pair.links) for i, pair in enumerate(spec.contact.pairs)]
    if spec.report.wrenches != "all":
        pairs += [("report.wrenches", i, pair) for i, pair in enumerate(spec.report.wrenches)]
    for where, i, pair in pairs:
        for name in pair:
            if name not in bodies:
                problem = f"no link or environment item '{name}' in the scene"
                raise InputError(source, f"{where}.{i}", problem, did_you_mean(name, bodies))
        if pair[0] == pair[1]:
            raise InputError(source, f"{where}.{i}", f"pairs '{pair[0]}' with itself", "name two bodies")
    _check_laws(spec, source)


def _check_laws(spec: SceneSpec, source: Path) -> None:
    """Refuse pairs with two laws, and warn where the wrench of one is asked for that does not touch."""
    told: dict[frozenset[str], tuple[str, ContactLaw, PointSpec]] = {}
    for i, links in enumerate(spec.contact.exclude):
        told.setdefault(frozenset(links), (f"contact.exclude.{i}", "none", PointSpec()))
    for i, pair in enumerate(spec.contact.pairs):
        where = f"contact.pairs.{i}"
        other, law, point = told.setdefault(frozenset(pair.links), (where, pair.law, pair.point))
        if (law, point) != (pair.law, pair.point):
            laws = f"two laws, {law} and {pair.law}"
            two = laws if law != pair.law else f"law {law} with two sets of options"
            problem = f"'{pair.links[0]}' and '{pair.links[1]}' have {two}"
            raise InputError(source, where, problem, f"keep one; the other is in {other}")
    for i, links in enumerate(() if spec.report.wrenches == "all" else spec.report.wrenches):
        other, law, _ = told.get(frozenset(links), ("", "pressure_field", PointSpec()))
        if law == "none":
            logger.warning(
                "%s: report.wrenches.%d: '%s' and '%s' do not touch, and their wrench stays 0; take the pair out, or "
                "its law none in %s",
                *(source, i, *links, other),
            )


def _check_sensors(spec: SceneSpec, robots: tuple[RobotSpec, ...], source: Path) -> None:
    links = {link.name for robot in robots for link in robot.links}
    fastest = 1.0 / spec.time_step
    for i, sensor in enumerate(spec.sensors):
        if sensor.link not in links:
            problem = f"no link '{sensor.link}' in the scene"
            raise InputError(source, f"sensors.{i}.link", problem, did_you_mean(sensor.link, links))
        if sensor.rate > fastest * (1.0 + 1e-9):
            problem = f"{sensor.rate:g} Hz is more than the {fastest:g} steps a second"
            raise InputError(source, f"sensors.{i}.rate", problem, "give less, or 0 for every step")
