"""Groups of gripper fingers by the coordinate that moves them."""

from __future__ import annotations

from dataclasses import dataclass

from hydro_sim_core.description.scene_drives import GripperSpec
from hydro_sim_core.dynamics import Assembly, ScalarJoint


@dataclass(frozen=True)
class FingerGroup:
    """The fingers of a gripper that move with one coordinate x: each stands at ``scale * x + offset``.

    Attributes:
        master: Joint whose coordinate x is.
        fingers: Finger joints and their closing directions; includes the master only if it is a finger.
    """

    master: str
    fingers: tuple[tuple[ScalarJoint, int], ...]

    @property
    def closing(self) -> float:
        """Closing of all fingers together per unit of x, m/m or m/rad."""
        return sum(sign * joint.scale for joint, sign in self.fingers)

    @property
    def stiffness(self) -> float:
        """Stiffness along x for unit stiffness of each finger."""
        return sum(joint.scale**2 for joint, _ in self.fingers)

    def coordinate(self, positions: dict[str, float]) -> float:
        """Value of x at which the sum of the fingers' closings is that at ``positions`` (m)."""
        closed = sum(sign * (positions[joint.name] - joint.offset) for joint, sign in self.fingers)
        return closed / self.closing


def finger_groups(gripper: GripperSpec, assembly: Assembly) -> tuple[FingerGroup, ...]:
    """Group the fingers of a gripper by the coordinate that moves them."""
    groups: dict[int, list[tuple[ScalarJoint, int]]] = {}
    for joint in assembly.scalar_joints:
        if joint.name in gripper.joints:
            groups.setdefault(joint.v_index, []).append((joint, gripper.joints[joint.name]))
    return tuple(FingerGroup(assembly.velocity_names[i], tuple(group)) for i, group in groups.items())
