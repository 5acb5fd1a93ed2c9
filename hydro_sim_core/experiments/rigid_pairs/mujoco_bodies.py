"""Bodies in MuJoCo, with all its defaults: contact points of convex hulls, softened by ``solref`` and ``solimp``."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.experiments.rigid_pairs.bodies import GRAVITY, Body, BodyScene, Shape

Array = NDArray[np.float64]


class MuJoCoBodies:
    """The bodies of a scene in MuJoCo; its contact knows no Hunt-Crossley dissipation, so that is left out."""

    def __init__(self, scene: BodyScene, _: Path) -> None:
        # Only tests install MuJoCo, and the reference of all modules is made without it.
        self._mujoco: Any = import_module("mujoco")
        root = ElementTree.Element("mujoco")
        ElementTree.SubElement(
            root, "option", timestep=repr(scene.time_step), gravity=_text((0.0, 0.0, -GRAVITY))
        )
        assets = ElementTree.SubElement(root, "asset")
        world = ElementTree.SubElement(root, "worldbody")
        for body in scene.bodies:
            _add(assets, world, body, scene.friction)
        self.model = self._mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
        self.data = self._mujoco.MjData(self.model)
        for body in scene.free:
            self.data.joint(body.name).qvel[:3] = body.velocity
        self._mujoco.mj_forward(self.model, self.data)

    def step(self, n: int = 1) -> None:
        """Take ``n`` steps."""
        self._mujoco.mj_step(self.model, self.data, nstep=n)

    def pose(self, name: str) -> Array:
        """Pose (4, 4) of a body in the world."""
        self._mujoco.mj_kinematics(self.model, self.data)
        body, X = self.data.body(name), np.eye(4)
        X[:3, :3], X[:3, 3] = body.xmat.reshape(3, 3), body.xpos
        return X

    def twist(self, name: str) -> Array:
        """Angular and linear velocity (6,) of a body and its origin in the world, rad/s and m/s."""
        if self.model.body(name).jntnum[0] == 0:
            return np.zeros(6)
        v = self.data.joint(name).qvel
        return np.concatenate([self.pose(name)[:3, :3] @ v[3:], v[:3]])

    def force(self, a: str, b: str) -> Array:
        """Force (3,) that body ``a`` exerts on ``b``, N."""
        numbers = self.model.body(a).id, self.model.body(b).id
        total, wrench = np.zeros(3), np.zeros(6)
        for i in range(self.data.ncon):
            contact = self.data.contact[i]
            pair = tuple(self.model.geom_bodyid[contact.geom].tolist())
            if pair in (numbers, numbers[::-1]):
                self._mujoco.mj_contactForce(self.model, self.data, i, wrench)
                force = contact.frame.reshape(3, 3).T @ wrench[:3]
                total += force if pair == numbers else -force
        return total


def _add(assets: ElementTree.Element, world: ElementTree.Element, body: Body, friction: float) -> None:
    quaternion = body.rotation.as_quat()[[3, 0, 1, 2]]
    element = ElementTree.SubElement(
        world, "body", name=body.name, pos=_text(body.X_WB[:3, 3]), quat=_text(quaternion)
    )
    if body.is_free:
        ElementTree.SubElement(element, "freejoint", name=body.name)
        moments = body.inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        ElementTree.SubElement(
            element, "inertial", pos="0 0 0", mass=repr(body.mass), fullinertia=_text(moments)
        )
    for i, shape in enumerate(body.shapes):
        name = f"{body.name}_{i}"
        if shape.kind == "mesh":
            surface = shape.surface
            ElementTree.SubElement(
                assets,
                "mesh",
                name=name,
                vertex=_text(surface.vertices.ravel()),
                face=" ".join(map(str, surface.faces.ravel().tolist())),
            )
        ElementTree.SubElement(element, "geom", {"friction": repr(friction), **_geometry(shape, name)})


def _geometry(shape: Shape, name: str) -> dict[str, str]:
    lengths: Any = shape.lengths
    match shape.kind:
        case "box":
            return {"type": "box", "size": _text(0.5 * np.array(lengths["size"]))}
        case "sphere":
            return {"type": "sphere", "size": _text([lengths["radius"]])}
        case "cylinder":
            return {"type": "cylinder", "size": _text([lengths["radius"], 0.5 * lengths["length"]])}
        case _:
            return {"type": "mesh", "mesh": name}


def _text(numbers: Any) -> str:
    return " ".join(repr(float(number)) for number in numbers)
