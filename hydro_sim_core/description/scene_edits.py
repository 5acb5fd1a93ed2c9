"""Copies of a scene with one model or static shape added, removed or moved; all other parts stay the same objects."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.scene import ModelSpec, SceneSpec
from hydro_sim_core.description.scene_drives import ActuatorSpec
from hydro_sim_core.description.scene_fields import PoseSpec
from hydro_sim_core.description.scene_loader import (
    LoadedScene,
    check_drives,
    check_unique_names,
    start_positions_of,
)
from hydro_sim_core.description.spec import Array, RobotSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.rotations import roll_pitch_yaw

_SOURCE = "entities"
T = TypeVar("T")


def pose_spec(X: Array) -> PoseSpec:
    """Convert a pose (4, 4) to the section of a scene file."""
    return PoseSpec(xyz=tuple(X[:3, 3].tolist()), rpy=tuple(roll_pitch_yaw(X[:3, :3]).tolist()))


def with_model(
    scene: LoadedScene, model: ModelSpec, robot: RobotSpec, actuators: Sequence[ActuatorSpec] = ()
) -> LoadedScene:
    """Copy of a scene with another model added at the end.

    Args:
        scene: The scene.
        model: Section of the model in a scene file.
        robot: Robot described by ``model.urdf``, prefix applied.
        actuators: Drives of its joints that do not follow from its description.

    Raises:
        InputError: A name of the model is in use, a start position is invalid, or an actuator drives no joint.
    """
    drives = (*scene.spec.actuators, *actuators)
    spec = _changed(scene.spec, models=(*scene.spec.models, model), actuators=drives)
    robots = (*scene.robots, robot)
    check_unique_names(spec, robots, scene.source)
    check_drives(spec, robots, scene.source)
    start = start_positions_of(model, robot, f"models '{model.name}'", scene.source)
    return replace(scene, spec=spec, robots=robots, start_positions=(*scene.start_positions, start))


def without(scene: LoadedScene, name: str) -> LoadedScene:
    """Copy of a scene without a model or static shape, and without its drives, commands and sensors.

    Raises:
        InputError: The name is unknown, or another model is attached to this one.
    """
    index = _model_index(scene, name)
    if index is None:
        kept = [i for i, item in enumerate(scene.spec.environment) if item.name != name]
        return replace(
            scene,
            spec=_changed(scene.spec, environment=_at(scene.spec.environment, kept)),
            environment=_at(scene.environment, kept),
        )
    links = {link.name for link in scene.robots[index].links}
    for model in scene.spec.models:
        if model.attach_to in links:
            raise InputError(_SOURCE, f"'{name}'", f"carries '{model.name}'", f"delete '{model.name}' first")
    kept = [i for i in range(len(scene.robots)) if i != index]
    lost = {name for joint in scene.robots[index].joints for name in joint.all_names}
    return replace(
        scene,
        spec=_changed(
            _without_drives(scene.spec, name, lost),
            models=_at(scene.spec.models, kept),
            sensors=tuple(sensor for sensor in scene.spec.sensors if sensor.link not in links),
        ),
        robots=_at(scene.robots, kept),
        start_positions=_at(scene.start_positions, kept),
    )


def moved(scene: LoadedScene, name: str, X_WE: Array) -> LoadedScene:
    """Copy of a scene with a model's start pose, or a static shape's pose, changed.

    Args:
        scene: The scene.
        name: Name of the model or static shape.
        X_WE: (4, 4) new pose of its root link, or of the shape, in the world.

    Raises:
        InputError: The name is unknown, or another model carries this one.
    """
    index = _model_index(scene, name)
    if index is None:
        place = [item.name for item in scene.spec.environment].index(name)
        item = _changed(scene.spec.environment[place], pose=pose_spec(X_WE))
        shape = replace(scene.environment[place], X_LG=item.pose.X)
        return replace(
            scene,
            spec=_changed(scene.spec, environment=_with(scene.spec.environment, place, item)),
            environment=_with(scene.environment, place, shape),
        )
    model = scene.spec.models[index]
    if model.attach_to is not None:
        problem = f"is attached to link '{model.attach_to}'"
        raise InputError(_SOURCE, f"'{name}'", problem, "move what carries it")
    model = _changed(model, pose=pose_spec(X_WE))
    return replace(scene, spec=_changed(scene.spec, models=_with(scene.spec.models, index, model)))


def _model_index(scene: LoadedScene, name: str) -> int | None:
    """Index of a model; None for a static shape."""
    models = [model.name for model in scene.spec.models]
    if name in models:
        return models.index(name)
    static = [item.name for item in scene.spec.environment]
    if name not in static:
        raise InputError(_SOURCE, f"'{name}'", "is not in the scene", did_you_mean(name, [*models, *static]))
    return None


def _without_drives(spec: SceneSpec, model: str, lost: set[str]) -> SceneSpec:
    """``spec`` without actuators, grippers and commands of a model and its joints ``lost``."""
    actuators = [
        _changed(actuator, joints=tuple(name for name in actuator.joints if name not in lost))
        for actuator in spec.actuators
    ]
    grippers = tuple(gripper for gripper in spec.grippers if not lost & set(gripper.joints))
    names = {gripper.name for gripper in grippers}
    return _changed(
        spec,
        actuators=tuple(actuator for actuator in actuators if actuator.joints),
        grippers=grippers,
        commands=tuple(
            command
            for command in spec.commands
            if command.joint not in lost
            and command.model != model
            and (command.gripper is None or command.gripper in names)
        ),
    )


def _changed(section: T, **values: object) -> T:
    return section.model_copy(update=values)  # type: ignore[attr-defined, no-any-return]


def _at(items: Sequence[T], indices: Iterable[int]) -> tuple[T, ...]:
    return tuple(items[i] for i in indices)


def _with(items: Sequence[T], index: int, item: T) -> tuple[T, ...]:
    return (*items[:index], item, *items[index + 1 :])
