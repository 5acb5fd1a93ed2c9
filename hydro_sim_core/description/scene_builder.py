"""Builder of scenes in a program, also used by the reader of scene files."""

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
    CommandSpec,
    ContactDefaults,
    ContactSettings,
    EnvironmentSpec,
    ModelSpec,
    PairSpec,
    SceneSpec,
)
from hydro_sim_core.description.scene_drives import ActuatorSpec, GripperSpec
from hydro_sim_core.description.scene_loader import LoadedScene, complete_scene
from hydro_sim_core.description.scene_sensors import SENSOR_SECTIONS
from hydro_sim_core.description.scene_solver import SolverSettings
from hydro_sim_core.description.spec import ContactLaw, Representation, RobotSpec
from hydro_sim_core.description.urdf import load_robot
from hydro_sim_core.description.values import contact_keys, section, shape_choice, text
from hydro_sim_core.errors import InputError, excerpt

_ORIGIN = (0.0, 0.0, 0.0)
_EARTH = (0.0, 0.0, -9.81)


class SceneBuilder:
    """Builder of a scene; ``build`` returns the scene from which a ``World`` is made.

    Names of arguments are those of keys in a scene file, and errors give the line of the program that caused them.

    Example:
        ``scene = SceneBuilder("drop")``, ``scene.add_ground(friction=0.5)``,
        ``scene.add_body("ball", mass=0.2, xyz=(0, 0, 0.3)).add_shape("sphere", radius=0.05, modulus=1e5)``,
        ``world = World(scene.build())``

    Args:
        name: Name of the scene.
        time_step: Time step, s.
        gravity: (3,) acceleration of gravity, m/s^2.
        solver: Solver model, or all settings of ``solver`` in a scene file.
        contact: Default contact properties, as ``contact.defaults`` in a scene file; ``friction`` sets both
            coefficients.
        damping: Damping law, ``hunt_crossley`` or ``linear``.
        representation: Faces on which a step is solved, ``polygon`` or ``triangle``.

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
        representation: Representation = "polygon",
    ) -> None:
        place = call_site(f"scene '{name}'")
        defaults = section(contact_keys({} if contact is None else contact, place), ContactDefaults, place)
        settings = {"model": solver} if isinstance(solver, str) else {} if solver is None else solver
        laws: dict[str, Any] = {"defaults": defaults, "representation": representation}
        laws |= {} if damping is None else {"damping": damping}
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
        """A builder with the contents of a scene file and its robots.

        Args:
            spec: Contents of the scene file.
            robots: One robot per model, prefixes applied.
            source: Path of the scene file.
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
        drives: Literal["described", "all", "none"] | None = None,
        gravity_compensation: bool | None = None,
    ) -> ModelBuilder:
        """Add a robot or object of several links, which are then added to the returned builder.

        Args:
            name: Unique in the scene.
            base: Whether its root link is fixed, free, or moves with prescribed velocity.
            xyz: Origin of its root link in the world, or in the link of ``attach_to``, (3,), m.
            rpy: Fixed-axis roll, pitch, yaw in the same frame, (3,), rad.
            attach_to: Link of an earlier model that carries its root.
            positions: Start positions by joint, rad or m.
            drives: ``all`` has joints with an effort limit and no actuator hold their place.
            gravity_compensation: Whether the drives compensate for gravity in addition.

        Raises:
            InputError: The name is in use, or a value does not fit.
        """
        place = call_site(f"model '{name}'")
        name = text(name, "name", place)
        keys = {
            "attach_to": attach_to,
            "positions": positions,
            "drives": drives,
            "gravity_compensation": gravity_compensation,
            "repair": "strict",  # a program mends its own lines
        }
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
        """Add a free object of one link; its shapes are then added to the returned builder.

        Args:
            name: Name of the model and of its link, unique in the scene.
            mass: kg; see ``LinkBuilder.set_inertia`` for this and the next three.
            density: kg/m^3, instead of the mass.
            center_of_mass: (3,) in the link frame, m.
            inertia: Inertia about the centre of mass, (3, 3) or (3,), kg m^2; by default that of its shapes.
            xyz: Origin of the link in the world, (3,), m.
            rpy: Fixed-axis roll, pitch, yaw in the same frame, (3,), rad.

        Raises:
            InputError: The name is in use, or a value does not fit.
        """
        place = call_site(f"model '{name}'")
        model = self._new_model(name, place)
        link = model.add_link(name, mass, density, center_of_mass, inertia)
        self._insert(name, "floating", xyz, rpy, {"repair": "strict"}, place.source, model, place)
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
        drives: Literal["described", "all", "none"] | None = None,
        gravity_compensation: bool | None = None,
        prefix: str = "",
        package_dirs: Sequence[str | os.PathLike[str]] = (),
        xacro_args: Mapping[str, object] | None = None,
        srdf: str | os.PathLike[str] | None = None,
        repair: Literal["strict", "warn", "silent"] = "warn",
        ignore: Sequence[str] = (),
        **contact: Any,
    ) -> SceneBuilder:
        """Add the robot of a URDF or xacro file.

        Args:
            path: Path of the file.
            name: Name, unique in the scene; by default the robot's own.
            base: As for ``add_model``, like the next six arguments.
            xyz: (3,) m.
            rpy: (3,) rad.
            attach_to: Link that carries its root.
            positions: Start positions by joint, rad or m.
            drives: As for ``load_urdf``.
            gravity_compensation: Whether the drives compensate for gravity.
            prefix: Put before every link and joint name.
            package_dirs: Packages, or folders that hold packages.
            xacro_args: Arguments of a xacro file.
            srdf: SRDF file whose disabled pairs of links do not touch.
            repair: Whether what cannot be in the file is refused, or repaired with one warning or silently.
            ignore: Words of what in the file is ignored although it changes the physics.
            **contact: Contact properties of all its geometries, which override those in the file.

        Raises:
            InputError: The file is invalid, the name is in use, or a value does not fit.
        """
        place = call_site(f"model '{path if name is None else name}'")
        robot = load_robot(path, package_dirs, xacro_args, prefix, srdf, repair, ignore)
        keys = {
            "attach_to": attach_to,
            "positions": positions,
            "drives": drives,
            "gravity_compensation": gravity_compensation,
            "prefix": prefix or None,
            "package_dirs": [str(Path(folder).absolute()) for folder in package_dirs] or None,
            "xacro_args": dict(xacro_args) if xacro_args else None,
            "srdf": None if srdf is None else str(Path(srdf).absolute()),
            "repair": repair if repair != "warn" else None,
            "ignore": list(ignore) or None,
            "proximity": contact_keys(contact, place) or None,
        }
        name = robot.name if name is None else text(name, "name", place)
        return self._insert(name, base, xyz, rpy, keys, str(Path(path).absolute()), robot, place)

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
    ) -> SceneBuilder:
        given = {key: value for key, value in keys.items() if value is not None}
        pose = {"xyz": xyz, "rpy": rpy}
        model = section(
            {"name": name, "urdf": described_by, "base": base, "pose": pose, **given}, ModelSpec, place
        )
        self._refuse_known(model.name, place)
        self._append("models", model, place)
        self._descriptions.append(description)
        return self

    def add_static(
        self,
        name: str,
        kind: str,
        *,
        xyz: ArrayLike = _ORIGIN,
        rpy: ArrayLike = _ORIGIN,
        **values: Any,
    ) -> SceneBuilder:
        """Add a static shape.

        Args:
            name: Unique in the scene.
            kind: As for ``LinkBuilder.add_shape``, or ``half_space``.
            xyz: Origin of the shape in the world, (3,), m.
            rpy: Fixed-axis roll, pitch, yaw in the same frame, (3,), rad.
            **values: Lengths and contact properties, as for ``LinkBuilder.add_shape``.

        Raises:
            InputError: The name is in use, or a value does not fit.
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
            height: Height of its surface, m.
            **contact: Contact properties.

        Raises:
            InputError: The name is in use, or a value does not fit.
        """
        given = contact_keys(contact, call_site(f"'{name}'"))
        return self.add_static(name, "half_space", xyz=(0.0, 0.0, height), **{"compliance": "rigid"} | given)

    def add_actuators(self, joints: Iterable[str], **values: Any) -> SceneBuilder:
        """Add drives of joints, all with the same gains.

        Args:
            joints: Names of the joints.
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
        """Add a gripper whose fingers are joints.

        Args:
            name: Unique in the scene.
            joints: Prismatic joints, or the one that drives a linkage, with the sign of their closing direction.
            **values: ``max_force``, ``kp`` and ``kd``, of which a linkage may leave out both gains, ``closed`` and
                ``kind``, as in a scene file.

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
        """Add a scripted command to a joint, a gripper or a kinematic model.

        Args:
            signal: A constant, or a signal as in a scene file: ``{"sine": {"amplitude": 0.1, "period": 1.0}}``.
            joint: Name of the joint.
            gripper: Or name of the gripper.
            model: Or name of the kinematic model.
            mode: Commanded quantity, as in a scene file.

        Raises:
            InputError: A value does not fit. ``build`` checks that the target exists.
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
        """Add a sensor to a link.

        Args:
            name: Name of the sensor, its frame and its topics; unique in the scene, of letters, digits and _.
            kind: A type of ``sensor_types``, including those of plug-ins.
            link: Name of the link.
            xyz: Origin of its frame in the link, (3,), m.
            rpy: Fixed-axis roll, pitch, yaw in the same frame, (3,), rad.
            **values: ``rate`` (messages per second of simulated time) and settings of its type, as in a scene file.

        Raises:
            InputError: A value does not fit. ``build`` checks that the link exists.
        """
        place = call_site(f"sensor '{name}'")
        if not isinstance(kind, str) or kind not in SENSOR_SECTIONS:
            raise place.error(f"{excerpt(kind)} is no sensor", did_you_mean(str(kind), SENSOR_SECTIONS))
        given = {"type": kind, "name": name, "link": link, "pose": {"xyz": xyz, "rpy": rpy}, **values}
        self._append("sensors", section(given, SENSOR_SECTIONS[kind], place), place)
        return self

    def exclude_contact(self, a: str, b: str) -> SceneBuilder:
        """Exclude contact between two bodies; ``build`` checks that they exist.

        Raises:
            InputError: An argument is not a name.
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

    def set_contact_law(
        self,
        a: str,
        b: str,
        law: ContactLaw,
        *,
        friction_ellipsoid: Sequence[float] | None = None,
        pieces: bool = False,
    ) -> SceneBuilder:
        """Choose the contact law of two links, as ``contact.pairs`` in a file; ``build`` checks that they exist.

        Args:
            a: Name of a link.
            b: Name of the other.
            law: Their law.
            friction_ellipsoid: With ``equivalent_point``, semi-axes e_t, e_o (1) and e_r (m).
            pieces: With ``equivalent_point``, whether every collision geometry touches at a point of its own.

        Raises:
            InputError: An argument is not a name, there is no such law, or it knows no such option.
        """
        place = call_site(f"contact law of '{a}' and '{b}'")
        given = {"friction_ellipsoid": friction_ellipsoid, "pieces": pieces}
        links = (text(a, "a", place), text(b, "b", place))
        pair = section({"links": links, "law": law, **given}, PairSpec, place)
        contact = self._spec.contact
        self._places[f"contact.pairs.{len(contact.pairs)}"] = place
        pairs = (*contact.pairs, pair)
        self._spec = self._spec.model_copy(update={"contact": contact.model_copy(update={"pairs": pairs})})
        return self

    def build(self) -> LoadedScene:
        """The scene as specified so far; parts may be added afterwards.

        Raises:
            InputError: A model is not a tree, a link has no mass, a name occurs twice or is unknown, or a start
                position is outside its limits. The error names the line that added the part.
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
            raise type(error)(place.source, element, error.problem, self._in_program(error.mend)) from None

    def _in_program(self, mend: str) -> str:
        """A mend that ends with an entry of a scene file, with the line of the program that added it."""
        place = self._places.get(mend.rpartition(" ")[2])
        return mend if place is None else f"{mend.rpartition(' ')[0]} {place.source}, {place.element}"

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
