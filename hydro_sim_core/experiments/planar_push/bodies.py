"""A T on a table and a finger that slides over it, in hydro-sim and in MuJoCo."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import trimesh
from numpy.typing import NDArray

from hydro_sim_core.description import SceneBuilder
from hydro_sim_core.simulation import World

Array = NDArray[np.float64]

#: Outline (8, 2) of the T about its centre of mass, m, counter-clockwise: 25 x 20 cm, as in the paper.
_BAR, _STEM, _THICK = 0.25, 0.20, 0.06
_CENTRE = (0.5 * _THICK * _BAR * _THICK + (_THICK + 0.5 * (_STEM - _THICK)) * _THICK * (_STEM - _THICK)) / (
    _BAR * _THICK + _THICK * (_STEM - _THICK)
)
OUTLINE = np.array(
    [
        [0.5 * _BAR, _CENTRE - _THICK],
        [0.5 * _BAR, _CENTRE],
        [-0.5 * _BAR, _CENTRE],
        [-0.5 * _BAR, _CENTRE - _THICK],
        [-0.5 * _THICK, _CENTRE - _THICK],
        [-0.5 * _THICK, _CENTRE - _STEM],
        [0.5 * _THICK, _CENTRE - _STEM],
        [0.5 * _THICK, _CENTRE - _THICK],
    ]
)
HEIGHT, MASS, FRICTION, GRAVITY = 0.04, 0.5, 0.4, 9.81
RADIUS, FINGER_MASS, KP, KD = 0.02, 0.3, 600.0, 27.0
#: Compliance of the finger and of the table in the pressure field, Pa and m.
_MODULUS, _SLAB = 1e6, 0.05
#: The soft model's parameters, the same at all steps, up to 16 ms.
SOFT: dict[str, Any] = {
    "stiffness": 1e3,
    "dissipation_velocity": 0.15,
    "stiction_velocity": 0.05,
    "epsilon2": 5e-3,
    "epsilon3": 5e-3,
}
#: Most that the mean over planes smooths, the root of its temperature, m.
MOST_SMOOTHED = 0.01


class Pushing(Protocol):
    """The T and the finger in motion; the T lies at the origin at the start."""

    def reset(self, finger: Array) -> None:
        """Go back to the start, with the finger (2,) at rest somewhere else, m."""

    def step(self, target: Array) -> None:
        """Take a step with the finger's drives at a target (2,), m."""

    def pose(self) -> Array:
        """Place and heading (3,) of the T, m and rad."""

    def finger(self) -> Array:
        """Place (2,) of the finger, m."""


def t_surface() -> trimesh.Trimesh:
    """Closed surface of the T about its centre of mass, m."""
    flat = [[0, 1, 7], [1, 2, 4], [1, 4, 7], [2, 3, 4], [4, 5, 7], [5, 6, 7]]
    count, half = len(OUTLINE), 0.5 * HEIGHT
    low, high = (np.column_stack([OUTLINE, np.full(count, z)]) for z in (-half, half))
    top = [[i + count for i in face] for face in flat]
    bottom = [face[::-1] for face in flat]
    around = [(i, (i + 1) % count) for i in range(count)]
    sides = [face for i, j in around for face in ([i, j, j + count], [i, j + count, i + count])]
    return trimesh.Trimesh(np.vstack([low, high]), top + bottom + sides, process=False)


def inertia() -> Array:
    """Inertia (3, 3) of the T about its centre of mass, kg m^2."""
    surface = t_surface()
    surface.density = MASS / surface.volume
    return np.asarray(surface.moment_inertia)


class OurPushing:
    """The task in hydro-sim, by the contact that a solver has."""

    def __init__(self, solver: Mapping[str, Any] | None, time_step: float) -> None:
        contact = {"friction": FRICTION, "compliance": "rigid"}
        scene = SceneBuilder(
            "planar push",
            time_step=time_step,
            gravity=(0.0, 0.0, -GRAVITY),
            solver=solver,
            contact=contact,
        )
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "t.obj"
            _write_obj(path, t_surface())
            body = scene.add_body("T", MASS, None, (0.0, 0.0, 0.0), inertia(), xyz=(0.0, 0.0, 0.5 * HEIGHT))
            body.add_shape("mesh", path=str(path))
            _add_finger(scene)
            scene.add_ground(compliance="compliant", modulus=_MODULUS, slab_thickness=_SLAB)
            scene.exclude_contact("finger", "ground")
            self.world = World(scene.build())

    def reset(self, finger: Array) -> None:
        """Go back to the start; see ``Pushing``."""
        self.world.reset()
        self.world.set_joint_positions({"along_x": float(finger[0]), "along_y": float(finger[1])})

    def step(self, target: Array) -> None:
        """Take a step; see ``Pushing``."""
        self.world.set_command({"along_x": float(target[0]), "along_y": float(target[1])}, "position")
        self.world.step()

    def pose(self) -> Array:
        """Place and heading of the T."""
        return planar(self.world.frame_pose("T"))

    def finger(self) -> Array:
        """Place of the finger."""
        return np.array(self.world.frame_pose("finger")[:2, 3])


def _add_finger(scene: SceneBuilder) -> None:
    model = scene.add_model("hand")
    model.add_link("rail")
    small = np.full(3, 1e-4)
    # What slides along x alone weighs as good as nothing, so that both directions are alike.
    model.add_link("slide").set_inertia(1e-6, None, (0.0, 0.0, 0.0), 1e-3 * small)
    finger = model.add_link("finger")
    finger.set_inertia(FINGER_MASS, None, (0.0, 0.0, 0.0), small)
    finger.add_shape("sphere", radius=RADIUS, compliance="compliant", modulus=_MODULUS)
    for name, parent, child, axis in (
        ("along_x", "rail", "slide", (1.0, 0.0, 0.0)),
        ("along_y", "slide", "finger", (0.0, 1.0, 0.0)),
    ):
        z = 0.5 * HEIGHT if parent == "rail" else 0.0
        model.add_joint(name, "prismatic", parent, child, xyz=(0.0, 0.0, z), axis=axis, lower=-2.0, upper=2.0)
    scene.add_actuators(["along_x", "along_y"], mode="position", kp=KP, kd=KD)


def soft_pushing(points: int, scheme: str, time_step: float) -> OurPushing:
    """The task under smooth contact.

    Args:
        points: Of each cloud.
        scheme: ``euler`` or ``rk4``.
        time_step: s.
    """
    spacing = math.sqrt(float(t_surface().area) / points)
    # Half a spacing, but far less than the T is wide.
    epsilon1 = min(0.5 * spacing, MOST_SMOOTHED) ** 2
    soft = {**SOFT, "points": points, "scheme": scheme, "epsilon1": epsilon1}
    return OurPushing({"model": "soft", "soft": soft}, time_step)


class MuJoCoPushing:
    """The task in MuJoCo: two boxes for the T, circular friction cones, all else as it is by default."""

    def __init__(self, time_step: float) -> None:
        # Only tests install MuJoCo.
        self._mujoco: Any = import_module("mujoco")
        self.model = self._mujoco.MjModel.from_xml_string(_mjcf(time_step))
        self.data = self._mujoco.MjData(self.model)

    def reset(self, finger: Array) -> None:
        """Go back to the start; see ``Pushing``."""
        self._mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[7:] = finger
        self.data.ctrl[:] = finger

    def step(self, target: Array) -> None:
        """Take a step; see ``Pushing``."""
        self.data.ctrl[:] = target
        self._mujoco.mj_step(self.model, self.data)

    def pose(self) -> Array:
        """Place and heading of the T."""
        q = self.data.qpos
        return np.array(
            [q[0], q[1], math.atan2(2 * (q[3] * q[6] + q[4] * q[5]), 1 - 2 * (q[5] ** 2 + q[6] ** 2))]
        )

    def finger(self) -> Array:
        """Place of the finger."""
        return np.array(self.data.qpos[7:])


def _mjcf(time_step: float) -> str:
    moments = inertia()
    half = 0.5 * HEIGHT
    low = OUTLINE[:, 1].min()
    boxes = (
        (0.0, _CENTRE - 0.5 * _THICK, 0.5 * _BAR, 0.5 * _THICK),
        (0.0, 0.5 * (low + _CENTRE - _THICK), 0.5 * _THICK, 0.5 * (_STEM - _THICK)),
    )
    geoms = "".join(
        f'<geom type="box" pos="{x} {y} 0" size="{a} {b} {half}" contype="1" conaffinity="1"/>'
        for x, y, a, b in boxes
    )
    tensor = " ".join(repr(float(moments[i, j])) for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)))
    return f"""<mujoco><option timestep="{time_step}" cone="elliptic" gravity="0 0 {-GRAVITY}"/>
<default><geom friction="{FRICTION} 0 0"/></default><worldbody>
<geom name="ground" type="plane" size="2 2 1" contype="0" conaffinity="1"/>
<body name="T" pos="0 0 {half}"><freejoint/><inertial pos="0 0 0" mass="{MASS}" fullinertia="{tensor}"/>{geoms}</body>
<body name="finger" pos="0 0 {half}">
<inertial pos="0 0 0" mass="{FINGER_MASS}" diaginertia="1e-4 1e-4 1e-4"/>
<joint name="along_x" type="slide" axis="1 0 0"/><joint name="along_y" type="slide" axis="0 1 0"/>
<geom name="finger" type="sphere" size="{RADIUS}" contype="2" conaffinity="1"/></body></worldbody>
<actuator><position joint="along_x" kp="{KP}" kv="{KD}"/><position joint="along_y" kp="{KP}" kv="{KD}"/></actuator>
</mujoco>"""


def planar(X_WB: Array) -> Array:
    """Place and heading (3,) of a pose (4, 4), m and rad."""
    return np.array([X_WB[0, 3], X_WB[1, 3], math.atan2(X_WB[1, 0], X_WB[0, 0])])


def miss(pose: Array, goal: Array) -> tuple[float, float]:
    """Distance, m, and angle, rad, between two places with headings (3,)."""
    turn = (pose[2] - goal[2] + math.pi) % (2.0 * math.pi) - math.pi
    return float(np.hypot(*(pose[:2] - goal[:2]))), abs(float(turn))


def _write_obj(path: Path, surface: trimesh.Trimesh) -> None:
    with path.open("w") as file:
        np.savetxt(file, surface.vertices, fmt="v %.17g %.17g %.17g")
        np.savetxt(file, surface.faces + 1, fmt="f %d %d %d")
