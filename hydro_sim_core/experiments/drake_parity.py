"""Single steps of Drake and of ours from the same random states, in three scenes.

An oracle for ``solver: {parity: drake}``, and for how far a step of either is from finer ones
(``benchmarks/drake_parity.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydrake.geometry import (
    AddCompliantHydroelasticProperties,
    AddContactMaterial,
    AddRigidHydroelasticProperties,
    Box,
    Cylinder,
    ProximityProperties,
    Shape,
    Sphere,
)
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.plant import (
    AddMultibodyPlantSceneGraph,
    ContactModel,
    CoulombFriction,
    DiscreteContactApproximation,
)
from pydrake.multibody.tree import PrismaticJoint, SpatialInertia, UnitInertia
from pydrake.systems.analysis import Simulator
from pydrake.systems.framework import DiagramBuilder

import hydro_sim_core as hs

STICTION_SPEED = 1e-3
RELAXATION_TIME = 0.02
APPROXIMATIONS = {
    "lagged": DiscreteContactApproximation.kLagged,
    "similar": DiscreteContactApproximation.kSimilar,
    "sap": DiscreteContactApproximation.kSap,
}


@dataclass(frozen=True)
class Part:
    """A body of one shape.

    Attributes:
        name: Name.
        shape: ``box``, ``sphere`` or ``cylinder``.
        size: Its lengths, m: three, the radius, or radius and length.
        modulus: Modulus, Pa; None for a rigid shape.
        mass: Mass, kg; 0 for a static shape.
        inertia: Moments of inertia about the centre of mass, kg m^2.
        center: Centre of mass in the body, m.
        slide: Axis of the joint that ties it to the world; None for a free body.
        friction: Its coefficient.
        dissipation: Hunt-Crossley dissipation, s/m.
    """

    name: str
    shape: str
    size: tuple[float, ...]
    modulus: float | None
    mass: float = 0.0
    inertia: tuple[float, float, float] = (0.0, 0.0, 0.0)
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)
    slide: tuple[float, float, float] | None = None
    friction: float = 0.5
    dissipation: float = 5.0


SCENES = {
    "ball on a box": (
        Part("table", "box", (0.6, 0.6, 0.1), None),
        Part("ball", "sphere", (0.05,), 2e5, 0.5, (4e-4, 5e-4, 6e-4), (0.004, -0.002, 0.003), friction=0.8),
    ),
    "two boxes on a box": (
        Part("table", "box", (0.6, 0.6, 0.1), None),
        Part("left", "box", (0.1, 0.12, 0.08), 3e5, 1.0, (1.7e-3, 1.4e-3, 2.1e-3), friction=0.4),
        Part("right", "box", (0.14, 0.1, 0.08), 1e6, 1.5, (1.9e-3, 3.2e-3, 3.6e-3), (0.01, 0.0, -0.005)),
    ),
    "rod between fingers": (
        Part("left", "box", (0.02, 0.06, 0.06), 1e5, 0.2, (1e-4, 2e-4, 3e-4), slide=(1.0, 0.0, 0.0)),
        Part("right", "box", (0.02, 0.06, 0.06), 3e5, 0.3, (1e-4, 2e-4, 3e-4), slide=(1.0, 0.0, 0.0)),
        Part(
            "rod", "cylinder", (0.015, 0.2), None, 0.4, (1.4e-3, 1.4e-3, 5e-5), (0.0, 0.0, 0.03), friction=0.7
        ),
    ),
}
RESOLUTION = 0.02
#: Where parts are placed before they are moved at random, m, and by how much at most.
PLACES = {
    "ball on a box": {"ball": ((0.0, 0.0, 0.098), 0.002)},
    "two boxes on a box": {
        "left": ((-0.059, 0.0, 0.0895), 0.0008),
        "right": ((0.0598, 0.01, 0.0895), 0.0008),
    },
    "rod between fingers": {
        "left": ((-0.0235, 0.0, 0.0), 0.001),
        "right": ((0.0235, 0.0, 0.0), 0.001),
        "rod": ((0.0, 0.0, 0.0), 0.001),
    },
}
TURNS = {"ball on a box": 3.0, "two boxes on a box": 0.004, "rod between fingers": 0.1}


@dataclass(frozen=True)
class Start:
    """Pose (quaternion w, x, y, z; position, m) and twist (angular first) of each part, or displacement and rate."""

    poses: dict[str, tuple[NDArray[np.float64], NDArray[np.float64]]]
    twists: dict[str, NDArray[np.float64]]


def random_start(scene: str, rng: np.random.Generator) -> Start:
    """Parts near their places, that come together or apart, slide and turn."""
    poses, twists = {}, {}
    for part in SCENES[scene]:
        if part.mass == 0.0:
            continue
        place, room = PLACES[scene][part.name]
        position = np.array(place) + rng.uniform(-room, room, 3) * (1.0 if part.slide is None else part.slide)
        turn = rng.normal(size=3) * TURNS[scene] if part.slide is None else np.zeros(3)
        angle = np.linalg.norm(turn)
        axis = turn / angle if angle > 0.0 else np.zeros(3)
        quaternion = np.concatenate([[np.cos(angle / 2.0)], np.sin(angle / 2.0) * axis])
        poses[part.name] = quaternion, position
        speed = 10.0 ** rng.uniform(-3.0, 0.0)
        twists[part.name] = np.concatenate([rng.normal(size=3) * speed * 5.0, rng.normal(size=3) * speed])
    return Start(poses, twists)


class OurStep:
    """One step of ours after any start."""

    def __init__(self, scene: str, law: str, time_step: float, **solver: Any) -> None:
        self._parts = [part for part in SCENES[scene] if part.mass > 0.0]
        builder = hs.SceneBuilder(
            "parity",
            time_step=time_step,
            contact={"relaxation_time": RELAXATION_TIME / 2.0} if law == "sap" else {},
            solver={"friction": law, "stiction_speed": STICTION_SPEED, **solver},
        )
        for part in SCENES[scene]:
            _add_ours(builder, part)
        self.world = hs.World(builder.build())

    def __call__(self, start: Start, steps: int = 1) -> NDArray[np.float64]:
        """Velocities after a step, or more: the twists of free parts (6) and the rates of others, part after part."""
        poses = [(part, *start.poses[part.name]) for part in self._parts]
        q = [np.concatenate([turn, p]) if part.slide is None else [p @ part.slide] for part, turn, p in poses]
        self.world.set_state(np.concatenate(q), self.before(start))
        self.world.step(steps)
        return np.array(self.world.v)

    def before(self, start: Start) -> NDArray[np.float64]:
        """Velocities before the step, in the order of those after it."""
        twists = [(part, start.twists[part.name]) for part in self._parts]
        return np.concatenate([V if part.slide is None else [V[3:] @ part.slide] for part, V in twists])

    def residual(self, v: NDArray[np.float64]) -> float:
        """Residual of the momentum balance of the last step at other velocities after it, relative to the momenta.

        That is what Drake's solves end by.
        """
        machine = self.world._machine
        problem, scratch = machine.scratch.problem, machine.scratch.solver
        scratch.v[:] = v[problem.islands.order]
        problem.islands.keeps[:] = False
        # Without an iteration a solve only evaluates.
        machine.solve(problem, machine.model.options._replace(max_iterations=0), scratch)
        weight = 1.0 / np.sqrt(np.diag(problem.A))
        momenta = problem.A @ scratch.v, problem.momentum, scratch.impulse
        scale = max(np.linalg.norm(weight * momentum) for momentum in momenta)
        return float(np.linalg.norm(weight * scratch.residual) / scale)


def _add_ours(builder: hs.SceneBuilder, part: Part) -> None:
    material: dict[str, Any] = {
        "friction": part.friction,
        "dissipation": part.dissipation,
        "margin": 0.0,
        **({"modulus": part.modulus} if part.modulus is not None else {"compliance": "rigid"}),
    }
    if part.shape == "box":
        measures: dict[str, Any] = {"size": part.size}
    else:
        measures = {"radius": part.size[0], "resolution_hint": RESOLUTION}
        if part.shape == "cylinder":
            measures["length"] = part.size[1]
    if part.mass == 0.0:
        builder.add_static(part.name, part.shape, **measures, **material)
        return
    inertia: dict[str, Any] = {"mass": part.mass, "center_of_mass": part.center, "inertia": part.inertia}
    if part.slide is None:
        builder.add_body(part.name, **inertia).add_shape(part.shape, **measures, **material)
        return
    model = builder.add_model(part.name)
    model.add_link(f"{part.name} rail")
    model.add_link(part.name, **inertia).add_shape(part.shape, **measures, **material)
    model.add_joint(
        f"{part.name} slide",
        "prismatic",
        f"{part.name} rail",
        part.name,
        axis=part.slide,
        lower=-1.0,
        upper=1.0,
    )


class DrakeStep:
    """One step of Drake's after any start; built once, because that takes longer than a step."""

    def __init__(self, scene: str, law: str, time_step: float) -> None:
        self._parts = [part for part in SCENES[scene] if part.mass > 0.0]
        builder = DiagramBuilder()
        self._plant, _ = AddMultibodyPlantSceneGraph(builder, time_step)
        plant = self._plant
        plant.set_contact_model(ContactModel.kHydroelastic)
        plant.set_discrete_contact_approximation(APPROXIMATIONS[law])
        plant.set_stiction_tolerance(STICTION_SPEED)
        for part in SCENES[scene]:
            _add_to_drake(plant, part)
        plant.set_sap_near_rigid_threshold(1.0)
        plant.Finalize()
        self._simulator = Simulator(builder.Build())
        self._context = self._simulator.get_mutable_context()

    def __call__(self, start: Start) -> NDArray[np.float64]:
        """Velocities as from ``OurStep``."""
        plant = self._plant
        of_plant = plant.GetMyMutableContextFromRoot(self._context)
        for part in self._parts:
            body = plant.GetBodyByName(part.name)
            (quaternion, position), twist = start.poses[part.name], start.twists[part.name]
            if part.slide is None:
                of_body = np.concatenate([quaternion, position, twist])
                first = body.floating_positions_start(), body.floating_velocities_start_in_v()
                q, v = plant.GetPositions(of_plant), plant.GetVelocities(of_plant)
                q[first[0] : first[0] + 7], v[first[1] : first[1] + 6] = of_body[:7], of_body[7:]
                plant.SetPositions(of_plant, q)
                plant.SetVelocities(of_plant, v)
            else:
                joint = plant.GetJointByName(f"{part.name} slide")
                joint.set_translation(of_plant, float(position @ part.slide))
                joint.set_translation_rate(of_plant, float(twist[3:] @ part.slide))
        self._context.SetTime(0.0)
        self._simulator.Initialize()
        # The update of time zero is the step.
        self._simulator.AdvanceTo(0.5 * plant.time_step())
        of_velocities = plant.GetVelocities(of_plant)
        found = []
        for part in self._parts:
            if part.slide is None:
                first = plant.GetBodyByName(part.name).floating_velocities_start_in_v()
                found.append(of_velocities[first : first + 6])
            else:
                first = plant.GetJointByName(f"{part.name} slide").velocity_start()
                found.append(of_velocities[first : first + 1])
        return np.concatenate(found)


def _add_to_drake(plant: Any, part: Part) -> None:
    properties = ProximityProperties()
    friction = CoulombFriction(part.friction, part.friction)
    AddContactMaterial(part.dissipation, None, friction, properties)
    properties.AddProperty("material", "relaxation_time", RELAXATION_TIME / 2.0)
    if part.modulus is None:
        AddRigidHydroelasticProperties(RESOLUTION, properties)
    else:
        AddCompliantHydroelasticProperties(RESOLUTION, part.modulus, properties)
    if part.mass == 0.0:
        body = plant.world_body()
    else:
        center: Any = np.array(part.center)
        unit: Any = np.array(part.inertia) / part.mass
        rotational = UnitInertia(*unit).ShiftFromCenterOfMass(center)
        body = plant.AddRigidBody(part.name, SpatialInertia(part.mass, center, rotational))
    if part.slide is not None:
        axis: Any = np.array(part.slide)
        frames = plant.world_frame(), body.body_frame()
        plant.AddJoint(PrismaticJoint(f"{part.name} slide", *frames, axis, -1.0, 1.0, 0.0))
    plant.RegisterCollisionGeometry(
        body, RigidTransform(RotationMatrix()), _shape(part), part.name, properties
    )


def _shape(part: Part) -> Shape:
    return {"box": Box, "sphere": Sphere, "cylinder": Cylinder}[part.shape](*part.size)


@cache
def drake_step(scene: str, law: str, time_step: float) -> DrakeStep:
    """The step of a scene, built once."""
    return DrakeStep(scene, law, time_step)
