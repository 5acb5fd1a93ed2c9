"""100 bodies that fall into a crate and come to rest: ours beside Drake's pressure fields and MuJoCo's points.

Each takes the same steps of 2 ms, with one thread. Drake has the same shapes, moduli, friction and dissipation, and
meshes as fine; MuJoCo has friction only. Wall times of a step are told for each part of the run, and how high the
centre of the lowest body is at its end: what has come through the table shows there.

    python benchmarks/heap_peers.py
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import mujoco
import numpy as np
from heap import CONTACT, MASS, Part, heap, parts
from measure import make_parser, write
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    Cylinder,
    ProximityProperties,
    Sphere,
)
from pydrake.math import RigidTransform, RollPitchYaw
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
)
from pydrake.multibody.tree import SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from scipy.spatial.transform import Rotation

#: Pa.
MODULI = (1e6, 1e7)
#: Length of a step, s; end of each part of the run, s, by what the bodies do meanwhile; steps between two looks.
TIME_STEP = 2e-3
PARTS = {"they fall": 0.2, "the heap forms": 0.8, "it settles": 1.2, "it is at rest": 1.6}
STEPS = 20


class Peer(NamedTuple):
    """A simulation of the heap: how to take steps, and the heights of all bodies, m."""

    step: Callable[[int], None]
    heights: Callable[[], np.ndarray]


def ours(modulus: float) -> Peer:
    """The scene of ``heap.py``."""
    world = heap(modulus=modulus)
    world.machine.is_helped = False
    links = [f"body{i}" for i in range(len(world.v) // 6)]
    return Peer(world.step, lambda: np.array([world.frame_pose(link)[2, 3] for link in links]))


def drake(modulus: float) -> Peer:
    """Drake's discrete plant with its lagged approximation, and points where two geometries are rigid."""
    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, TIME_STEP)
    plant.set_contact_model(ContactModel.kHydroelasticWithFallback)
    plant.set_discrete_contact_approximation(DiscreteContactApproximation.kLagged)
    plant.SetUseSampledOutputPorts(False)
    walls, falling = parts()
    plant.RegisterCollisionGeometry(
        plant.world_body(),
        RigidTransform(_vector((0, 0, -0.05))),
        Box(3, 3, 0.1),
        "table",
        _properties(None),
    )
    for i, wall in enumerate(walls):
        plant.RegisterCollisionGeometry(
            plant.world_body(), _pose(wall), _drake_shape(wall), f"wall{i}", _properties(modulus)
        )
    bodies = []
    for i, part in enumerate(falling):
        body = plant.AddRigidBody(f"body{i}", SpatialInertia(MASS, _vector(3 * (0,)), _unit_inertia(part)))
        plant.RegisterCollisionGeometry(
            body, RigidTransform(), _drake_shape(part), f"shape{i}", _properties(modulus)
        )
        plant.SetDefaultFloatingBaseBodyPose(body, _pose(part))
        bodies.append(body)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    simulator.Initialize()
    context = plant.GetMyContextFromRoot(simulator.get_context())

    def step(steps: int) -> None:
        taken = round(simulator.get_context().get_time() / TIME_STEP)
        simulator.AdvanceTo((taken + steps) * TIME_STEP)

    def heights() -> np.ndarray:
        return np.array([plant.EvalBodyPoseInWorld(context, body).translation()[2] for body in bodies])

    return Peer(step, heights)


def _properties(modulus: float | None) -> ProximityProperties:
    """Of a shape with this modulus, Pa; rigid without one."""
    properties = ProximityProperties()
    friction = CoulombFriction(CONTACT["friction"], CONTACT["friction"])
    AddContactMaterial(dissipation=CONTACT["dissipation"], friction=friction, properties=properties)
    if modulus is None:
        AddRigidHydroelasticProperties(CONTACT["resolution_hint"], properties)
    else:
        AddCompliantHydroelasticProperties(CONTACT["resolution_hint"], modulus, properties)
    return properties


def _pose(part: Part) -> RigidTransform:
    return RigidTransform(RollPitchYaw(*part.rpy), _vector(part.xyz))


def _vector(numbers: Any) -> Any:
    """An array; the stubs of pydrake ask for a type that NumPy's do not promise."""
    return np.array(numbers, dtype=float)


def _drake_shape(part: Part) -> Any:
    shape = part.shape
    makes = {
        "box": lambda: Box(*shape["size"]),
        "sphere": lambda: Sphere(shape["radius"]),
        "cylinder": lambda: Cylinder(shape["radius"], shape["length"]),
    }
    return makes[shape["kind"]]()


def _unit_inertia(part: Part) -> UnitInertia:
    shape = part.shape
    makes = {
        "box": lambda: UnitInertia.SolidBox(*shape["size"]),
        "sphere": lambda: UnitInertia.SolidSphere(shape["radius"]),
        "cylinder": lambda: UnitInertia.SolidCylinder(shape["radius"], shape["length"], _vector((0, 0, 1))),
    }
    return makes[shape["kind"]]()


def mujoco_points(modulus: float) -> Peer:
    """MuJoCo with its defaults but for friction: its points know no modulus."""
    walls, falling = parts()
    friction = f'friction="{CONTACT["friction"]}"'
    scene = [f'<mujoco><option timestep="{TIME_STEP}"/><worldbody>']
    scene.append(f'<geom type="box" pos="0 0 -0.05" size="1.5 1.5 0.05" {friction}/>')
    scene += [f'<geom pos="{_joined(wall.xyz)}" {_mujoco_shape(wall)} {friction}/>' for wall in walls]
    for part in falling:
        quaternion = Rotation.from_euler("xyz", part.rpy).as_quat(scalar_first=True)
        scene.append(f'<body pos="{_joined(part.xyz)}" quat="{_joined(quaternion)}"><freejoint/>')
        scene.append(f'<geom {_mujoco_shape(part)} mass="{MASS}" {friction}/></body>')
    model = mujoco.MjModel.from_xml_string("".join([*scene, "</worldbody></mujoco>"]))
    data = mujoco.MjData(model)
    return Peer(lambda steps: mujoco.mj_step(model, data, steps), lambda: data.xpos[1:, 2].copy())


def _mujoco_shape(part: Part) -> str:
    shape = part.shape
    if shape["kind"] == "box":
        size = [0.5 * length for length in shape["size"]]
    else:
        size = [shape["radius"], 0.5 * shape.get("length", 0.0)]
    return f'type="{shape["kind"]}" size="{_joined(size)}"'


def _joined(numbers: Any) -> str:
    return " ".join(repr(float(number)) for number in numbers)


def measured(peer: Peer, progress: Progress, name: str) -> dict[str, dict[str, float]]:
    """Mean wall time of a step in each part of the run, s, and the least height of a body at the end of it, m."""
    taken, told = 0, {}
    bar = progress.add_task(name, total=round(max(PARTS.values()) / TIME_STEP))
    for part, end in PARTS.items():
        begin, seconds = taken, 0.0
        while taken < round(end / TIME_STEP):
            began = time.perf_counter()
            peer.step(STEPS)
            seconds += time.perf_counter() - began
            taken += STEPS
            progress.update(bar, completed=taken)
        told[part] = {"seconds": seconds / (taken - begin), "lowest": float(np.min(peer.heights()))}
    return told


def main() -> None:
    """Measure, print tables, write the results."""
    parser = make_parser(__doc__.splitlines()[0], "heap_peers")
    parser.add_argument("--modulus", type=float, nargs="+", default=MODULI, help="of all but the table, Pa")
    arguments = parser.parse_args()
    ours(arguments.modulus[0]).step(STEPS)  # compiled code is loaded
    told = []
    for modulus in arguments.modulus:
        rows = {}
        with Progress() as progress:
            for name, make in PEERS.items():
                rows[name] = measured(make(modulus), progress, name)
        Console().print(_table(modulus, rows))
        told.append({"modulus": modulus, "rows": rows})
        write(arguments.out, {"heaps": told}, quiet=modulus != arguments.modulus[-1])


def _table(modulus: float, rows: dict[str, dict[str, dict[str, float]]]) -> Table:
    table = Table("", *rows, title=f"{modulus:g} Pa: a step, ms; height of the lowest body, mm")
    for part in PARTS:
        of_part = [rows[name][part] for name in rows]
        table.add_row(part, *(f"{1e3 * one['seconds']:.1f}; {1e3 * one['lowest']:.1f}" for one in of_part))
    return table


#: Simulations of the heap by their names.
PEERS: dict[str, Callable[[float], Peer]] = {
    "hydro-sim": ours,
    "Drake, lagged": drake,
    "MuJoCo, points": mujoco_points,
}

if __name__ == "__main__":
    main()
