"""The spatula of the tasks, as urdf/turner.urdf.xacro has it, and how it is held."""

from __future__ import annotations

import math

import numpy as np

from hydro_sim_core.description.poses import pose
from hydro_sim_core.manipulation import Grasp
from hydro_sim_core.tasks.robot import Gripper

#: Soft-bubble fingers of a JACO.
GRIPPER = Gripper(
    "gripper", ("left_finger_joint", "right_finger_joint"), ("left_finger", "right_finger"), (-1.0, 1.0)
)
#: Middle of the bubbles in the palm, m, whose fingers point along -z.
MIDDLE = pose([0.0, 0.0, -0.182])
#: Handle in the spatula, whose frame is in the middle of the blade, x towards the tip; x along it towards the blade.
X_SH = pose([-0.200, 0.0, 0.080], [0.0, math.radians(25.0), 0.0])
#: The fingers along the handle, which is between them.
ALONG = Grasp(
    "along", X_SH, pose(rpy=[0.0, -math.pi / 2.0, 0.0]) @ np.linalg.inv(MIDDLE), np.array([0.0, 0.0, -1.0])
)
