"""Sections of scene files about drives: actuators of joints and grippers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from hydro_sim_core.description.scene_fields import (
    CommandMode,
    Name,
    NonNegative,
    Number,
    Positive,
    conflict,
    unit,
)
from hydro_sim_core.description.yaml_source import Section


class ActuatorSpec(Section):
    """Drives of some joints; all have the same gains."""

    joints: tuple[Name, ...] = Field(
        min_length=1, description="Joints driven; of one with several coordinates joint/x and so on."
    )
    mode: CommandMode = Field("position", description="What a command means until another mode is commanded.")
    kp: NonNegative = Field(0.0, description="Position gain.", json_schema_extra=unit("N m/rad or N/m"))
    kd: NonNegative = Field(0.0, description="Velocity gain.", json_schema_extra=unit("N m s/rad or N s/m"))
    effort_limit: Positive | None = Field(
        None, description="Largest effort; without it, the URDF's.", json_schema_extra=unit("N m or N")
    )

    @model_validator(mode="after")
    def _gains_fit_mode(self) -> ActuatorSpec:
        if self.mode == "position" and self.kp == 0.0:
            raise conflict("a position actuator without kp", "add kp above 0")
        if self.mode == "velocity" and self.kd == 0.0:
            raise conflict("a velocity actuator without kd", "add kd above 0")
        return self


class GripperSpec(Section):
    """Fingers that close on something.

    A finger with closing direction ``s`` that stands at ``q`` is open by ``s * (closed - q)``, and the gap
    of the gripper is the sum over its fingers. Fingers may share a coordinate: a mimic joint is listed like
    any other, and force, gains and opening are those of each finger all the same. A linkage has one joint
    that drives every finger by mimic joints, such as the knuckle of a Robotiq 2F-85; what it is told is the
    position of that joint and the effort there.
    """

    name: Name = Field(description="Unique name in the scene.")
    kind: Literal["fingers", "linkage"] = Field(
        "fingers",
        description="fingers: prismatic joints, moved to a gap, m. linkage: one joint that drives every finger by "
        "mimic joints, revolute too, moved to a position of that joint, rad or m.",
    )
    joints: dict[Name, Literal[1, -1]] = Field(
        min_length=1,
        description="Prismatic joints, mimic joints too, with the sign of the direction that closes; of a linkage the "
        "one joint that drives it.",
    )
    closed: dict[Name, Number] = Field(
        {}, description="Position of a joint when the gap is 0; 0 by default.", json_schema_extra=unit("m")
    )
    max_force: Positive = Field(
        description="Largest force a finger; of a linkage the largest effort at its joint. It holds in place of the "
        "effort limits in the robot's file, and what is above one is told.",
        json_schema_extra=unit("N, or N m"),
    )
    kp: Positive | None = Field(
        None,
        description="Position gain of each finger: fingers need it. Of a linkage's joint it follows from inertia where "
        "neither it nor kd is given.",
        json_schema_extra=unit("N/m, or N m/rad"),
    )
    kd: NonNegative | None = Field(
        None,
        description="Velocity gain likewise: fingers need it, and a linkage has both gains or neither.",
        json_schema_extra=unit("N s/m, or N m s/rad"),
    )

    @model_validator(mode="after")
    def _fits_its_kind(self) -> GripperSpec:
        if (self.kp is None) != (self.kd is None) or (self.kp is None and not self.is_linkage):
            raise conflict("a gripper without kp or kd", "give both; a linkage may leave both out")
        if self.is_linkage and len(self.joints) != 1:
            raise conflict(
                f"a linkage with {len(self.joints)} joints",
                "name the one that drives it; the others have to mimic it, or write kind: fingers",
            )
        if self.is_linkage and self.closed:
            raise conflict("closed beside kind: linkage", "remove closed: its position is that of its joint")
        return self

    @property
    def is_linkage(self) -> bool:
        """Whether one joint drives every finger; position and force are then that joint's own."""
        return self.kind == "linkage"

    def gap(self, positions: dict[str, float]) -> float:
        """Opening (m) at joint ``positions`` (rad or m); of a linkage the position of its joint (rad or m)."""
        if self.is_linkage:
            (joint,) = self.joints
            return positions[joint]
        return sum(
            sign * (self.closed.get(joint, 0.0) - positions[joint]) for joint, sign in self.joints.items()
        )

    def positions(self, gap: float) -> dict[str, float]:
        """Position of each joint at a ``gap``, as ``gap()`` gives it; fingers share it evenly."""
        if self.is_linkage:
            return dict.fromkeys(self.joints, gap)
        each = gap / len(self.joints)
        return {joint: self.closed.get(joint, 0.0) - sign * each for joint, sign in self.joints.items()}
