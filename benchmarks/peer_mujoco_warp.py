"""The grasp of ``peer_scenes`` in MuJoCo Warp: contact at points between the same box and cylinder shapes.

Its contact has no modulus, so that no exact force or depth is known; its solver takes the settings of Newton's engine:
Newton's method, elliptic cones, implicitfast; the ratio of impedances is one that holds what is gripped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import mujoco
import mujoco_warp
import numpy as np
import peer_scenes as scenes
import warp as wp
from peer_timing import Graph, timed

#: As in ``patch_cost.py``: with MuJoCo's default of 1 what is held slides out within seconds.
IMPRATIO = 100.0
CONTACTS = 32


def versions() -> dict[str, str]:
    """Of what is measured."""
    return {
        "mujoco_warp": mujoco_warp.__version__,
        "mujoco": mujoco.__version__,
        "warp": wp.config.version,
    }


def grasp() -> mujoco.MjModel:
    """The grasp as MuJoCo knows it."""
    at = scenes.RADIUS - scenes.exact_depth("grasp")
    half = scenes.PAD
    pads = "".join(
        f"""<body name="{name}" pos="0 {side * at} 0"><joint name="{name}" type="slide" axis="0 1 0"/>
        <inertial pos="0 0 0" mass="{scenes.PAD_MASS}" diaginertia="1e-4 1e-4 1e-4"/>
        <geom type="box" pos="0 {side * half[1]} 0" size="{half[0]} {half[1]} {half[2]}"/></body>"""
        for name, side in scenes.SIDES.items()
    )
    motors = "".join(f'<motor joint="{name}"/>' for name in scenes.SIDES)
    return mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{scenes.TIME_STEP}" cone="elliptic" impratio="{IMPRATIO}"
        integrator="implicitfast" solver="Newton" iterations="15" ls_iterations="100"/>
        <default><geom friction="{scenes.FRICTION} 0 0"/></default><worldbody>
        <body name="held"><freejoint/><geom type="cylinder" size="{scenes.RADIUS} {0.5 * scenes.LENGTH}"
        mass="{scenes.MASS}"/></body>{pads}</worldbody><actuator>{motors}</actuator></mujoco>"""
    )


class MujocoWarpScene:
    """Worlds of the grasp.

    Args:
        n: Number of worlds.
        device: Warp's name of where they run.
    """

    def __init__(self, n: int, device: str) -> None:
        self.n, self._device = n, device
        model = grasp()
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        with wp.ScopedDevice(device):
            self._model = mujoco_warp.put_model(model)
            self.data = mujoco_warp.put_data(
                model, data, nworld=n, nconmax=CONTACTS, njmax=3 * CONTACTS + model.nv
            )
            ways = scenes.ways(n)
            sides = -np.array(list(scenes.SIDES.values()))
            self.data.ctrl.assign((scenes.GRIP * ways.force[:, None] * sides).astype(np.float32))
            speed = np.zeros((n, model.nv), dtype=np.float32)
            speed[:, :6] = ways.velocity
            self.data.qvel.assign(speed)
        self.graph = Graph(self._two_steps)

    def _two_steps(self) -> None:
        for _ in range(2):
            mujoco_warp.step(self._model, self.data)

    def step(self, number: int) -> None:
        """Take an even number of steps."""
        with wp.ScopedDevice(self._device):
            self.graph.step(number, wp)

    def wait(self) -> None:
        """Wait for the device."""
        wp.synchronize_device(self._device)

    def counts(self) -> dict[str, float]:
        """Contact points per world, and the depth of the deepest of all, m."""
        num = int(self.data.nacon.numpy()[0])
        return {"contacts": num / self.n, "depth": -float(self.data.contact.dist.numpy()[:num].min())}

    def height(self) -> np.ndarray:
        """(n,) height of the cylinder, m."""
        return np.asarray(self.data.qpos.numpy()[:, 2])


def force_errors(device: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """None: there is no exact value."""
    return iter(())


def rates(device: str, worlds: list[int], seconds: float) -> Iterator[Callable[[], dict[str, Any]]]:
    """Measurements of the rate of the grasp."""

    def measured(n: int) -> dict[str, Any]:
        scene = MujocoWarpScene(n, device)
        row = {"worlds": n} | timed(scene, seconds) | scene.counts()
        return row | {"sunk": float(np.max(np.abs(scene.height()))), "no_graph": scene.graph.failed}

    for n in worlds:
        yield partial(measured, n)
