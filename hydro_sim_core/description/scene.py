"""Schema of scene files.

A scene is a list of robots, static geometry, contact and solver settings, actuators, grippers, scripted commands and
sensors. SI units; poses as ``xyz`` (m) and fixed-axis ``rpy`` (rad). Link and joint names include their model's prefix.
"""

from __future__ import annotations

import math
from typing import Literal

from pydantic import Field, field_validator, model_validator

from hydro_sim_core.arithmetic import sine_cosine
from hydro_sim_core.description.scene_drives import ActuatorSpec, GripperSpec
from hydro_sim_core.description.scene_fields import (
    COMMANDED,
    TWIST_MODES,
    Acceleration,
    FileName,
    Flag,
    Fraction,
    LinkPair,
    Name,
    NonNegative,
    Number,
    PoseSpec,
    Positive,
    Vector3,
    conflict,
    one_friction,
    only_choice,
    unit,
)
from hydro_sim_core.description.scene_sensors import SensorChoice
from hydro_sim_core.description.scene_shapes import ShapeChoice, chosen_shape
from hydro_sim_core.description.scene_solver import SolverSettings
from hydro_sim_core.description.shape_types import shape_types
from hydro_sim_core.description.spec import (
    DEFAULT_SLAB_THICKNESS,
    Compliance,
    ContactLaw,
    PointSpec,
    PressureField,
    ProximitySpec,
    Representation,
)
from hydro_sim_core.description.yaml_source import Section

#: What a scene file calls the coefficient of friction, which is ``friction`` in programs and paths.
ONE_COEFFICIENT = {"friction": "mu_dynamic"}


class ProximityChoice(Section):
    """Contact properties of one geometry; what is not given comes from ``contact.defaults``."""

    _known_as = ONE_COEFFICIENT

    compliance: Compliance | None = Field(None, description="Surface only, or pressure field.")
    modulus: Positive | None = Field(None, description="Hydroelastic modulus.", json_schema_extra=unit("Pa"))
    resolution_hint: Positive | None = Field(
        None, description="Wanted mesh edge length.", json_schema_extra=unit("m")
    )
    margin: NonNegative | None = Field(
        None, description="Depth of the speculative skirt.", json_schema_extra=unit("m")
    )
    dissipation: NonNegative | None = Field(
        None, description="Hunt-Crossley dissipation.", json_schema_extra=unit("s/m")
    )
    relaxation_time: NonNegative | None = Field(
        None, description="Linear damping's relaxation time.", json_schema_extra=unit("s")
    )
    mu_static: NonNegative | None = Field(
        None, description="Static friction, which is mu_dynamic or not given."
    )
    mu_dynamic: NonNegative | None = Field(None, description="Dynamic friction.")
    point_stiffness: Positive | None = Field(
        None,
        description="Stiffness of a rigid body against rigid ones, and of a compliant one without its own modulus: of "
        "a flat as large as the mean side of its box, or, of rigid ones, as the largest body on it if that is smaller.",
        json_schema_extra=unit("N/m"),
    )
    slab_thickness: Positive | None = Field(
        None,
        description="Depth at which a compliant half space reaches its modulus.",
        json_schema_extra=unit("m"),
    )
    pressure_field: PressureField | None = Field(None, description="Pressure in depth of a compliant mesh.")
    surface_velocity: Vector3 | None = Field(
        None,
        description="With which its surface runs over it, as a conveyor's does, in the axes of the shape.",
        json_schema_extra=unit("m/s"),
    )
    grain: Vector3 | None = Field(
        None,
        description="Direction along which friction is less, in the axes of the shape; its length, below 1, is the "
        "share by which. For friction elliptic.",
    )

    @field_validator("grain")
    @classmethod
    def _grain_leaves_friction(cls, grain: Vector3 | None) -> Vector3 | None:
        if grain is not None and not sum(x * x for x in grain) < 1.0:
            raise conflict(
                "a grain of length 1 or more", "its length is a share of the friction: give less than 1"
            )
        return grain

    _friction_is_one = model_validator(mode="after")(one_friction)

    @property
    def spec(self) -> ProximitySpec:
        """The properties as a ``ProximitySpec``."""
        return ProximitySpec(**self.model_dump())


def idle_property(kind: str, proximity: ProximityChoice | ProximitySpec) -> tuple[str, str] | None:
    """What is wrong with a contact property that does nothing on a kind of shape, and its mend; None if none is so."""
    has_slab = kind in shape_types() and "slab_thickness" in shape_types()[kind].options
    if proximity.slab_thickness is not None and not has_slab:
        return f"a slab_thickness does nothing on a {kind}", "leave slab_thickness out: it is of half spaces"
    of_fields = [key for key in ("modulus", "slab_thickness") if getattr(proximity, key) is not None]
    if of_fields and proximity.compliance == "rigid":
        key = of_fields[0]
        return f"a {key} does nothing on a rigid body", f"leave {key} out, or give compliance: compliant"
    return None


class ModelSpec(Section):
    """One robot or object, made from a description file."""

    name: Name = Field(description="Unique name in the scene.")
    urdf: FileName = Field(
        description="URDF or xacro file: relative to the scene file, package://, or the name of a shipped one, "
        "such as kinova_gen3_7dof."
    )
    package_dirs: tuple[FileName, ...] = Field((), description="Folders to look for packages in.")
    xacro_args: dict[str, str | bool | int | float] = Field({}, description="Arguments of a xacro file.")
    srdf: FileName | None = Field(
        None,
        description="SRDF file, or xacro of one, whose disabled pairs of links do not touch: relative to the scene "
        "file, or package://.",
    )
    repair: Literal["strict", "warn", "silent"] = Field(
        "warn",
        description="Whether what cannot be in its file, such as an impossible inertia, is refused, or repaired with "
        "one warning or silently.",
    )
    ignore: tuple[Name, ...] = Field(
        (),
        description="What in the file is ignored although it changes the physics, in the words of the error that "
        "refuses it, such as gazebo:joint.",
    )
    prefix: str = Field("", description="Put before every link and joint name of the model.")
    base: Literal["fixed", "floating", "kinematic"] = Field(
        "fixed",
        description="Welded down, free in six directions, or moved as it is told, whatever pushes against it.",
    )
    attach_to: Name | None = Field(None, description="Link of an earlier model that carries the root link.")
    pose: PoseSpec = Field(PoseSpec(), description="Of the root link, in the world or in attach_to's link.")
    proximity: ProximityChoice = Field(
        ProximityChoice(),
        description="Contact properties of all its geometries, before those that they give.",
    )
    positions: dict[str, Number] = Field(
        {},
        description="Start positions by joint, of one with several coordinates by joint/x and so on; others start as "
        "near to 0 as their limits allow.",
        json_schema_extra=unit("rad or m"),
    )
    drives: Literal["described", "all", "none"] = Field(
        "described",
        description="Joints driven beside those that actuators and grippers name. described: those of the file's "
        "<ros2_control>; all: in a file without one, those with an effort limit; none. Gains follow from inertia and "
        "effort limit.",
    )
    gravity_compensation: Flag | None = Field(
        None,
        description="Add the effort that balances the weight each joint carries that has a drive, attached "
        "models too, within the joint's effort limit; without a word, for joints whose drives its file describes.",
    )

    @property
    def base_joint_name(self) -> str:
        """Name of the joint of a floating or kinematic base."""
        return f"{self.prefix}{self.name}_base"

    @model_validator(mode="after")
    def _floats_alone(self) -> ModelSpec:
        if self.base == "fixed":
            return self
        if self.attach_to is not None:
            problem = f"an attached model cannot {'float' if self.base == 'floating' else 'be kinematic'}"
            raise conflict(problem, "remove attach_to or write base: fixed")
        if self.base == "floating" and self.gravity_compensation:
            mend = "write base: fixed or leave gravity_compensation out"
            raise conflict("nothing bears the weight of a floating model", mend)
        return self


class EnvironmentSpec(Section):
    """Static geometry, fixed to the world."""

    name: Name = Field(description="Unique; the body's name in contacts.")
    shape: ShapeChoice = Field(description="What it is.")
    pose: PoseSpec = Field(PoseSpec(), description="Of the shape in the world.")
    proximity: ProximityChoice = Field(ProximityChoice(), description="Its contact properties.")

    @model_validator(mode="after")
    def _properties_act(self) -> EnvironmentSpec:
        idle = idle_property(chosen_shape(self.shape)[0], self.proximity)
        if idle is not None:
            raise conflict(*idle)
        return self


class ContactDefaults(Section):
    """Contact properties of geometries that give none."""

    _known_as = ONE_COEFFICIENT

    compliance: Compliance = Field("compliant", description="Surface only, or pressure field.")
    modulus: Positive = Field(1e7, description="Hydroelastic modulus.", json_schema_extra=unit("Pa"))
    resolution_hint: Positive = Field(
        0.02,
        description="Wanted mesh edge length; if it is not given, circles of round shapes have 16 edges or more.",
        json_schema_extra=unit("m"),
    )
    margin: NonNegative | None = Field(
        None,
        description="Depth of the speculative skirt; without it, from the time step and the size of the body.",
        json_schema_extra=unit("m"),
    )
    dissipation: NonNegative = Field(
        50.0, description="Hunt-Crossley dissipation.", json_schema_extra=unit("s/m")
    )
    relaxation_time: NonNegative = Field(
        0.1, description="Linear damping's relaxation time.", json_schema_extra=unit("s")
    )
    mu_dynamic: NonNegative = Field(0.5, description="Dynamic friction.")
    mu_static: NonNegative = Field(0.5, description="Static friction, which is mu_dynamic or not given.")
    point_stiffness: Positive | None = Field(
        None,
        description="Stiffness of a rigid body against rigid ones: of a flat as large as the mean side of its box, or "
        "of the largest body on it if that is smaller; without it they hardly yield.",
        json_schema_extra=unit("N/m"),
    )
    slab_thickness: Positive = Field(
        DEFAULT_SLAB_THICKNESS,
        description="Depth at which a compliant half space reaches its modulus.",
        json_schema_extra=unit("m"),
    )

    _friction_is_one = model_validator(mode="after")(one_friction)

    @property
    def gives_resolution(self) -> bool:
        """Whether the resolution hint was given, not left at its default."""
        return "resolution_hint" in self.model_fields_set

    def complete(self, proximity: ProximitySpec) -> ProximitySpec:
        """``proximity`` with its missing values replaced by these."""
        given = {name: value for name, value in vars(proximity).items() if value is not None}
        return ProximitySpec(**{**self.model_dump(), **given})


class PairSpec(Section):
    """The contact law of a pair of links."""

    links: LinkPair = Field(description="The two links.")
    law: ContactLaw = Field(
        description="Law of contact; pressure_field and equivalent_point also for links that do not touch otherwise: "
        "next to each other in a robot, overlapping at its start, or disabled by an SRDF. equivalent_point is for "
        "rigid links."
    )
    friction_ellipsoid: tuple[Positive, Positive, Positive] | None = Field(
        None,
        description="With equivalent_point, semi-axes of friction along two tangents and about the normal, in units "
        "of mu times the normal force: e_t, e_o (1), e_r (m). Without it 1, 1, and e_r from the patch.",
    )
    pieces: Flag = Field(
        False,
        description="With equivalent_point, one point for every pair of collision geometries instead of one for the "
        "convex hulls of the links.",
    )

    @model_validator(mode="after")
    def _of_its_law(self) -> PairSpec:
        if self.law != "equivalent_point" and (self.pieces or self.friction_ellipsoid is not None):
            name = "pieces" if self.pieces else "friction_ellipsoid"
            raise conflict(f"{name} with law {self.law}", f"leave {name} out, or take law equivalent_point")
        return self

    @property
    def point(self) -> PointSpec:
        """How the links touch with law ``equivalent_point``."""
        return PointSpec(self.friction_ellipsoid, self.pieces)


class ContactSettings(Section):
    """Settings of contact."""

    defaults: ContactDefaults = Field(
        ContactDefaults(), description="Contact properties of geometries that give none."
    )
    damping: Literal["hunt_crossley", "linear"] | None = Field(
        None,
        description="Law of dissipation: hunt_crossley by default, linear with friction sap. The first looks "
        "at dissipation alone, the second at relaxation_time.",
    )
    representation: Representation = Field(
        "polygon",
        description="Faces on which a step is solved: polygon, one a pair of elements, or triangle, each polygon as a "
        "fan around its centroid, which makes about four of one.",
    )
    exclude: tuple[LinkPair, ...] = Field((), description="Pairs of links that never touch.")
    pairs: tuple[PairSpec, ...] = Field((), description="Contact laws of pairs of links.")


class SquareSignal(Section):
    """``high`` for the first ``duty`` of each period, then ``low``."""

    low: Number = Field(description="Value in the rest of each period.", json_schema_extra=unit(COMMANDED))
    high: Number = Field(description="Value at the start of each period.", json_schema_extra=unit(COMMANDED))
    period: Positive = Field(description="Time until it repeats.", json_schema_extra=unit("s"))
    duty: Fraction = Field(0.5, description="Part of the period that is high.")
    phase: Fraction = Field(0.0, description="Part of the period that has passed at time 0.")

    def at(self, time: float) -> float:
        """Value at ``time`` (s)."""
        return self.high if self._passed(time) < self.duty else self.low

    def constant_until(self, time: float) -> float:
        """Time (s) of the first edge after ``time``."""
        passed = self._passed(time)
        return time + ((self.duty if passed < self.duty else 1.0) - passed) * self.period

    def _passed(self, time: float) -> float:
        """Part of the present period that has passed; a time that is an edge but for round-off is one."""
        periods = time / self.period + self.phase
        return (periods + 1e-12 + 4.0 * math.ulp(periods)) % 1.0


class SineSignal(Section):
    """``offset + amplitude * sin(2 pi (time / period + phase))``."""

    offset: Number = Field(0.0, description="Mean.", json_schema_extra=unit(COMMANDED))
    amplitude: Number = Field(
        description="Largest distance from the mean.", json_schema_extra=unit(COMMANDED)
    )
    period: Positive = Field(description="Time until it repeats.", json_schema_extra=unit("s"))
    phase: Fraction = Field(0.0, description="Part of the period that has passed at time 0.")

    def at(self, time: float) -> float:
        """Value at ``time`` (s)."""
        sine, _ = sine_cosine.function(2.0 * math.pi * (time / self.period + self.phase))
        return self.offset + self.amplitude * sine

    def constant_until(self, time: float) -> float:
        """``time`` itself, as the value changes continuously."""
        return time


class SignalSpec(Section):
    """Exactly one signal."""

    constant: Number | None = Field(
        None, description="The same value all the time.", json_schema_extra=unit(COMMANDED)
    )
    square: SquareSignal | None = Field(None, description="One value, then another, again and again.")
    sine: SineSignal | None = Field(None, description="A sine.")

    @model_validator(mode="after")
    def _exactly_one(self) -> SignalSpec:
        only_choice(self)
        return self

    def at(self, time: float) -> float:
        """Value at ``time`` (s)."""
        signal = only_choice(self)
        return signal.at(time) if isinstance(signal, SquareSignal | SineSignal) else float(signal)

    def constant_until(self, time: float) -> float:
        """Time (s) up to which the value is the same as at ``time``; infinite for a constant."""
        signal = only_choice(self)
        return signal.constant_until(time) if isinstance(signal, SquareSignal | SineSignal) else math.inf


class CommandSpec(Section):
    """A scripted command to a gripper, a joint or a kinematic model."""

    gripper: Name | None = Field(None, description="Commanded gripper.")
    joint: Name | None = Field(None, description="Commanded joint, as an actuator names it.")
    model: Name | None = Field(None, description="Commanded kinematic model.")
    mode: Literal["position", "velocity", "effort", "force", "vx", "vy", "vz", "wx", "wy", "wz"] | None = (
        Field(
            None,
            description="Joint: its actuator's mode by default. Gripper: force (N a finger, the default) or "
            "position (gap, m). Model: velocity of its root link along (vx, vy, vz; m/s) or about (wx, wy, wz; rad/s) "
            "an axis of the world.",
        )
    )
    signal: SignalSpec = Field(description="What is commanded over time.")

    @model_validator(mode="after")
    def _one_target(self) -> CommandSpec:
        modes = {
            "gripper": ("force", "position"),
            "joint": ("position", "velocity", "effort"),
            "model": TWIST_MODES,
        }
        given = [kind for kind in modes if getattr(self, kind) is not None]
        if len(given) != 1:
            raise conflict("a command needs one target", "write one of gripper, joint and model")
        kind = given[0]
        if self.mode not in (modes[kind] if kind == "model" else (*modes[kind], None)):
            has = f"has no mode '{self.mode}'" if self.mode else "needs a mode"
            raise conflict(f"a {kind} {has}", f"use one of {', '.join(modes[kind])}")
        return self

    @property
    def target(self) -> str:
        """Name of the commanded gripper, joint, or component of a model's twist."""
        return self.gripper or self.joint or f"{self.model}.{self.mode}"


class ReportSettings(Section):
    """Settings of the data published besides the state."""

    wrenches: Literal["all"] | tuple[LinkPair, ...] = Field(
        "all",
        description="Pairs of bodies whose contact wrench is reported; pairs that are named have topics of their own.",
    )


class SceneSpec(Section):
    """A whole scene file."""

    name: Name = Field(description="What reports and pages call it.")
    time_step: Number = Field(
        0.001, ge=1e-6, le=0.1, description="Simulated time of a step.", json_schema_extra=unit("s")
    )
    gravity: tuple[Acceleration, Acceleration, Acceleration] = Field(
        (0.0, 0.0, -9.81), description="Acceleration of what falls freely.", json_schema_extra=unit("m/s^2")
    )
    models: tuple[ModelSpec, ...] = Field((), description="Robots and objects.")
    environment: tuple[EnvironmentSpec, ...] = Field((), description="Static geometry around them.")
    contact: ContactSettings = Field(ContactSettings(), description="Settings of contact.")
    solver: SolverSettings = Field(SolverSettings(), description="How each step is solved.")
    actuators: tuple[ActuatorSpec, ...] = Field((), description="Drives of joints.")
    grippers: tuple[GripperSpec, ...] = Field((), description="Fingers that close on something.")
    commands: tuple[CommandSpec, ...] = Field((), description="What grippers and joints are told, over time.")
    sensors: tuple[SensorChoice, ...] = Field((), description="What links carry that measures.")
    report: ReportSettings = Field(
        ReportSettings(), description="Settings of the data published besides the state."
    )

    @model_validator(mode="after")
    def _damping_fits_solver(self) -> SceneSpec:
        law, damping = self.solver.choice.law, self.contact.damping
        if damping is not None and damping not in law.damping:
            mend = f"leave contact.damping out, write {' or '.join(law.damping)}, or choose other friction"
            raise conflict(f"friction {law.name} has no law of {damping} damping", mend)
        return self

    @model_validator(mode="after")
    def _representation_is_read(self) -> SceneSpec:
        choice = self.solver.choice
        if self.contact.representation == "triangle" and choice.method is None:
            problem = f"contact.representation triangle does nothing with integrator {choice.integrator.name}"
            raise conflict(problem, "leave contact.representation out, or choose another integrator")
        return self

    @property
    def damping(self) -> Literal["hunt_crossley", "linear"]:
        """Damping law: the given one, or the default of the friction law."""
        return self.contact.damping or self.solver.choice.law.damping[0]
