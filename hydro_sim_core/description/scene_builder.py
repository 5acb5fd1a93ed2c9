"""A scene put together in a program: what the reader of scene files fills, and people too."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from numpy.typing import ArrayLike

from hydro_sim_core.description.model_builder import LinkBuilder, ModelBuilder
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.places import CallSite, call_site
from hydro_sim_core.description.scene import (
    ActuatorSpec,
    CommandSpec,
    ContactDefaults,
    ContactSettings,
    EnvironmentSpec,
    GripperSpec,
    ModelSpec,
    SceneSpec,
)
from hydro_sim_core.description.scene_loader import LoadedScene, complete_scene
from hydro_sim_core.description.scene_sensors import SENSOR_SECTIONS
from hydro_sim_core.description.scene_solver import SolverSettings
from hydro_sim_core.description.spec import RobotSpec
from hydro_sim_core.description.urdf import load_robot
from hydro_sim_core.description.values import contact_keys, section, shape_choice, text
from hydro_sim_core.errors import InputError, excerpt

_ORIGIN = (0.0, 0.0, 0.0)
_EARTH = (0.0, 0.0, -9.81)


class SceneBuilder:
    """A scene that is being put together; ``build`` makes what a ``World`` is made of.

    Everything has the name that a scene file has for it, and errors name the line of the program that was wrong.

    Example:
        ``scene = SceneBuilder("drop")``, ``scene.add_ground(friction=0.5)``,
        ``scene.add_body("ball", mass=0.2, xyz=(0, 0, 0.3)).add_shape("sphere", radius=0.05, modulus=1e5)``,
        ``world = World(scene.build())``

    Args:
        name: Of the scene.
        time_step: s.
        gravity: (3,) m/s^2.
        solver: Solver model, or all settings of ``solver`` in a scene file.
        contact: Contact properties of what gives none, as ``contact.defaults`` in a scene file; ``friction`` is both
            coefficients.
        damping: Law of dissipation, ``hunt_crossley`` or ``linear``.

    Raises:
        InputError: A value does not fit.
    """

    def __init__(
        self,
        name: str = "scene",
        *,
        time_step: float = 0.001,
        gravity: ArrayLike = _EARTH,
        solver: str | Mapping[str, Any] | None = None,
        contact: Mapping[str, Any] | None = None,
        damping: Literal["hunt_crossley", "linear"] | None = None,
    ) -> None:
        place = call_site(f"scene '{name}'")
        defaults = section(contact_keys({} if contact is None else contact, place), ContactDefaults, place)
        settings = {"model": solver} if isinstance(solver, str) else {} if solver is None else solver
        laws: dict[str, Any] = {"defaults": defaults} | ({} if damping is None else {"damping": damping})
        self._spec = section(
            {
                "name": name,
                "time_step": time_step,
                "gravity": gravity,
                "solver": section(settings, SolverSettings, place),
                "contact": section(laws, ContactSettings, place),
            },
            SceneSpec,
            place,
        )
        self._source = Path(place.source.rpartition(":")[0])
        self._descriptions: list[RobotSpec | ModelBuilder] = []
        self._places: dict[str, CallSite] = {}

    @classmethod
    def of(cls, spec: SceneSpec, robots: Sequence[RobotSpec], source: Path) -> SceneBuilder:
        """A builder that holds what a scene file and its robots say.

        Args:
            spec: The scene file.
            robots: One for each of its models, prefixes applied.
            source: The scene file's path.
        """
        builder = cls.__new__(cls)
        builder._spec, builder._source = spec, source
        builder._descriptions, builder._places = list(robots), {}
        return builder

    def add_model(
        self,
        name: str,
        *,
        base: Literal["fixed", "floating", "kinematic"] = "fixed",
        xyz: ArrayLike = _ORIGIN,
        rpy: ArrayLike = _ORIGIN,
        attach_to: str | None = None,
        positions: Mapping[str, float] | None = None,
        gravity_compensation: bool = False,
    ) -> ModelBuilder:
        """Add a robot or object of several links, which are then added to what this returns.

        Args:
            name: Unique in the scene.
            base: Whether its root link is welded, free, or moves as it is told.
            xyz: Of its root link in the world, or in the link that it is attached to, (3,), m.
            rpy: Fixed-axis roll, pitch, yaw of the same, (3,), rad.
            attach_to: Link of an earlier model that carries its root.
            positions: Start positions by joint, rad or m.
            gravity_compensation: Whether drives also bear the weight that each joint carries.

        Raises:
            InputError: There is such a model, or a value does not fit.
        """
        place = call_site(f"model '{name}'")
        name = text(name, "name", place)
        keys = {"attach_to": attach_to, "positions": positions, "gravity_compensation": gravity_compensation}
        model = self._new_model(name, place)
        self._insert(name, base, xyz, rpy, keys, place.source, model, place)
        return model

    def _new_model(self, name: str, place: CallSite) -> ModelBuilder:
        return ModelBuilder(name, place, PackageResolver(Path.cwd() / self._source.name, confined=False))

    def add_body(
        self,
        name: str,
        mass: float | None = None,
        density: float | None = None,
        center_of_mass: ArrayLike | None = None,
        inertia: ArrayLike | None = None,
        *,
        xyz: ArrayLike = _ORIGIN,
        rpy: ArrayLike = _ORIGIN,
    ) -> LinkBuilder:
        """Add an object of one link that moves freely; its shapes are then added to what this returns.

        Args:
            name: Unique in the scene: of the model and of its link.
            mass: kg; see ``LinkBuilder.set_inertia`` for this and the next three.
            density: kg/m^3, in place of the mass.
            center_of_mass: (3,) in the link frame, m.
            inertia: About the centre of mass, (3, 3) or (3,), kg m^2; by default that of its shapes.
            xyz: Of the link in the world, (3,), m.
            rpy: Fixed-axis roll, pitch, yaw of the same, (3,), rad.

        Raises:
            InputError: There is such a model, or a value does not fit.
        """
        place = call_site(f"model '{name}'")
        model = self._new_model(name, place)
        link = model.add_link(name, mass, density, center_of_mass, inertia)
        self._insert(name, "floating", xyz, rpy, {}, place.source, model, place)
        return link

    def add_urdf(
        self,
        path: str | os.PathLike[str],
        name: str | None = None,
        *,
        base: Literal["fixed", "floating", "kinematic"] = "fixed",
        xyz: ArrayLike = _ORIGIN,
        rpy: ArrayLike = _ORIGIN,
        attach_to: str | None = None,
        positions: Mapping[str, float] | None = None,
        gravity_compensation: bool = False,
        prefix: str = "",
        package_dirs: Sequence[str | os.PathLike[str]] = (),
        xacro_args: Mapping[str, object] | None = None,
        **contact: Any,
    ) -> SceneBuilder:
        """Add what a URDF or xacro file describes.

        Args:
            path: The file.
            name: Unique in the scene; the robot's own by default.
            base: As for ``add_model``, like the next five.
            xyz: m.
            rpy: rad.
            attach_to: Link that carries it.
            positions: rad or m.
            gravity_compensation: Whether drives also bear weight.
            prefix: Put before every link and joint name.
            package_dirs: Packages, or folders that hold packages.
            xacro_args: Arguments of a xacro file.
            **contact: Contact properties of all its geometries, before those that the file gives.

        Raises:
            InputError: The file is wrong, there is such a model, or a value does not fit.
        """
        place = call_site(f"model '{path if name is None else name}'")
        robot = load_robot(path, package_dirs, xacro_args, prefix)
        keys = {
            "attach_to": attach_to,
            "positions": positions,
            "gravity_compensation": gravity_compensation,
            "prefix": prefix or None,
            "package_dirs": [str(Path(folder).absolute()) for folder in package_dirs] or None,
            "xacro_args": dict(xacro_args) if xacro_args else None,
            "proximity": contact_keys(contact, place) or None,
        }
        name = robot.name if name is None else text(name, "name", place)
        self._insert(name, base, xyz, rpy, keys, str(Path(path).absolute()), robot, place)
        return self

    def _insert(
        self,
        name: str,
        base: str,
        xyz: ArrayLike,
        rpy: ArrayLike,
        keys: Mapping[str, Any],
        described_by: str,
        description: RobotSpec | ModelBuilder,
        place: CallSite,
    ) -> None:
        given = {key: value for key, value in keys.items() if value is not None}
        pose = {"xyz": xyz, "rpy": rpy}
        model = section(
            {"name": name, "urdf": described_by, "base": base, "pose": pose, **given}, ModelSpec, place
        )
        self._refuse_known(model.name, place)
        self._append("models", model, place)
        self._descriptions.append(description)

    def add_static(
        self,
        name: str,
        kind: str,
        *,
        xyz: ArrayLike = _ORIGIN,
        rpy: ArrayLike = _ORIGIN,
        **values: Any,
    ) -> SceneBuilder:
        """Add a shape that never moves.

        Args:
            name: Unique in the scene.
            kind: As for ``LinkBuilder.add_shape``, or ``half_space``.
            xyz: Of the shape in the world, (3,), m.
            rpy: Fixed-axis roll, pitch, yaw of the same, (3,), rad.
            **values: Its lengths and contact properties, as for ``LinkBuilder.add_shape``.

        Raises:
            InputError: There is such a name, or a value does not fit.
        """
        place = call_site(f"'{name}'")
        shape, contact = shape_choice(kind, values, place)
        given = {"name": name, "shape": shape, "pose": {"xyz": xyz, "rpy": rpy}}
        item = section({**given, "proximity": contact_keys(contact, place)}, EnvironmentSpec, place)
        self._refuse_known(item.name, place)
        self._append("environment", item, place)
        return self

    def add_ground(self, name: str = "ground", height: float = 0.0, **contact: Any) -> SceneBuilder:
        """Add level ground, rigid unless ``compliance`` says otherwise.

        Args:
            name: Unique in the scene.
            height: Of its surface, m.
            **contact: Its contact properties.

        Raises:
            InputError: There is such a name, or a value does not fit.
        """
        given = contact_keys(contact, call_site(f"'{name}'"))
        return self.add_static(name, "half_space", xyz=(0.0, 0.0, height), **{"compliance": "rigid"} | given)

    def add_actuators(self, joints: Iterable[str], **values: Any) -> SceneBuilder:
        """Drive joints, all with the same gains.

        Args:
            joints: Their names.
            **values: ``mode``, ``kp``, ``kd`` and ``effort_limit``, as in a scene file.

        Raises:
            InputError: A value does not fit. Joints are looked for by ``build``.
        """
        place = call_site("actuators")
        try:
            names = [joints] if isinstance(joints, str) else list(joints)
        except TypeError:
            raise place.error(f"joints: {excerpt(joints)} does not fit", "give a list of names") from None
        self._append("actuators", section({"joints": names, **values}, ActuatorSpec, place), place)
        return self

    def add_gripper(self, name: str, joints: Mapping[str, int], **values: Any) -> SceneBuilder:
        """Let joints be the fingers of a gripper.

        Args:
            name: Unique in the scene.
            joints: Prismatic joints, with the sign of the direction that closes.
            **values: ``max_force``, ``kp``, ``kd`` and ``closed``, as in a scene file.

        Raises:
            InputError: A value does not fit. Joints are looked for by ``build``.
        """
        place = call_site(f"gripper '{name}'")
        self._append(
            "grippers", section({"name": name, "joints": joints, **values}, GripperSpec, place), place
        )
        return self

    def add_command(
        self,
        signal: float | Mapping[str, Any],
        *,
        joint: str | None = None,
        gripper: str | None = None,
        model: str | None = None,
        mode: str | None = None,
    ) -> SceneBuilder:
        """Tell a joint, a gripper or a kinematic model something over time.

        Args:
            signal: A constant, or a signal as in a scene file: ``{"sine": {"amplitude": 0.1, "period": 1.0}}``.
            joint: Which joint.
            gripper: Or which gripper.
            model: Or which kinematic model.
            mode: What the signal means, as in a scene file.

        Raises:
            InputError: A value does not fit. What is commanded is looked for by ``build``.
        """
        told = {"joint": joint, "gripper": gripper, "model": model, "mode": mode}
        given = {key: value for key, value in told.items() if value is not None}
        target = next((name for name in (joint, gripper, model) if name is not None), None)
        place = call_site(f"command to '{target}'")
        course = signal if isinstance(signal, Mapping) else {"constant": signal}
        self._append("commands", section({**given, "signal": course}, CommandSpec, place), place)
        return self

    def add_sensor(
        self,
        name: str,
        kind: str,
        link: str,
        *,
        xyz: ArrayLike = _ORIGIN,
        rpy: ArrayLike = _ORIGIN,
        **values: Any,
    ) -> SceneBuilder:
        """Let a link carry something that measures.

        Args:
            name: Unique in the scene, of letters, digits and _; of its frame and its topics, too.
            kind: One of the table's types, or what a plug-in adds.
            link: Which link.
            xyz: Of its frame in the link, (3,), m.
            rpy: Fixed-axis roll, pitch, yaw of the same, (3,), rad.
            **values: ``rate`` (messages a second of simulated time) and its own settings, as in a scene file.

        Raises:
            InputError: A value does not fit. The link is looked for by ``build``.
        """
        place = call_site(f"sensor '{name}'")
        if not isinstance(kind, str) or kind not in SENSOR_SECTIONS:
            raise place.error(f"{excerpt(kind)} is no sensor", did_you_mean(str(kind), SENSOR_SECTIONS))
        given = {"type": kind, "name": name, "link": link, "pose": {"xyz": xyz, "rpy": rpy}, **values}
        self._append("sensors", section(given, SENSOR_SECTIONS[kind], place), place)
        return self

    def exclude_contact(self, a: str, b: str) -> SceneBuilder:
        """Let two bodies never touch; they are looked for by ``build``.

        Raises:
            InputError: One is no name.
        """
        place = call_site(f"excluded contact of '{a}' and '{b}'")
        a, b = text(a, "a", place), text(b, "b", place)
        contact = self._spec.contact
        self._places[f"contact.exclude.{len(contact.exclude)}"] = place
        excluded = (*contact.exclude, (a, b))
        self._spec = self._spec.model_copy(
            update={"contact": contact.model_copy(update={"exclude": excluded})}
        )
        return self

    def build(self) -> LoadedScene:
        """The scene as it is now; more may be added after.

        Raises:
            InputError: A model is no tree or a link has no inertia, a name stands twice or leads nowhere, or a start
                position is outside its limits. Names the line that added what is wrong.
        """
        robots = tuple(
            description.build() if isinstance(description, ModelBuilder) else description
            for description in self._descriptions
        )
        try:
            return complete_scene(self._spec, robots, self._source)
        except InputError as error:
            where = max((key for key in self._places if _leads(key, error.element)), key=len, default=None)
            if where is None:
                raise
            place = self._places[where]
            rest = error.element[len(where) :].lstrip(".")
            element = f"{place.element}, {rest}" if rest else place.element
            raise type(error)(place.source, element, error.problem, error.mend) from None

    def _append(self, part: str, item: Any, place: CallSite) -> None:
        items = getattr(self._spec, part)
        self._places[f"{part}.{len(items)}"] = place
        self._spec = self._spec.model_copy(update={part: (*items, item)})

    def _refuse_known(self, name: str, place: CallSite) -> None:
        models = {model.name for model in self._spec.models}
        if name in models | {item.name for item in self._spec.environment}:
            raise place.error("two have this name", "give it another name")


def _leads(key: str, element: str) -> bool:
    return element == key or element.startswith(key + ".")
