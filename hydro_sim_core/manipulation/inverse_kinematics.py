"""Joint positions at which a frame has a pose, within the joints' limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from hydro_sim_core.contact.poses import as_pose
from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.manipulation.arm import Arm, is_reached, off_by, size_of
from hydro_sim_core.simulation import World


def inverse_kinematics(
    world: World,
    frame: str,
    X_WF: ArrayLike,
    *,
    joints: Sequence[str] | None = None,
    preferred: Mapping[str, float] | None = None,
) -> dict[str, float]:
    """Find joint positions at which a link's frame has a pose, near those that the joints have now.

    The sum of squares of the pose's error is minimised within the limits of the joints, from the present positions and,
    if these lead nowhere, from twenty others, which are always the same. The world is not changed:
    ``world.set_joint_positions`` and ``world.set_command`` take the result.

    Args:
        world: World whose robots stand where the frame's base shall be.
        frame: Name of the link.
        X_WF: (4, 4) pose that it shall have in the world.
        joints: Joints that may move; all that move the frame by default.
        preferred: Positions (rad or m) that joints shall be near to as far as the pose leaves them free, by name. An
            arm with more joints than it needs moves within itself from the positions found for the pose towards them,
            as long as it comes nearer; it does not leave for another way around that would come nearer still. Of
            joints that turn without end the same angle counts, of the nearest turn.

    Returns:
        Positions (rad or m) of the joints that may move, by name. Joints that turn without end stay within half a turn
        of where they are.

    Raises:
        InputError: There is no such frame or joint, no joint moves the frame, the pose or a preferred position is none,
            or no positions within the limits reach the pose.
    """
    target = as_pose(X_WF, "inverse_kinematics", "X_WF")
    arm = Arm("inverse_kinematics", world, frame, joints)
    goal = arm.goal({} if preferred is None else preferred)
    least = np.full(6, np.inf)
    for start in arm.starts():
        q = arm.nearest(start, target)
        least = min(least, arm.error(q, target), key=size_of)
        if is_reached(least):
            break
    else:
        raise InputError(
            "inverse_kinematics",
            f"frame '{shortened(frame)}'",
            f"stays {off_by(least)} off the pose within the limits of {', '.join(arm.names)}",
            "give a pose that is in reach",
        )
    if goal:
        q = arm.wound(q, arm.present)
        q = arm.drawn(q, target, arm.wound_goal(goal, q))
    return arm.by_name(q)
