"""The scenes of ``peer_scenes`` in Newton, with its hydroelastic contact on voxels of signed distances.

Newton knows no rigid body in this contact: both are compliant, with twice the stiffness, as all are alike in its
examples. A ratio of 1000 left the forces of grasp and ball within 2 per cent of these, but made those of the cube up to
30 times too large. Settings are those of its example ``robot_panda_hydro``: MuJoCo Warp's Newton solver on reduced
contacts, elliptic cones, 15 iterations, explicit broad phase. It finds contacts in every second step; both are tried.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import newton
import numpy as np
import peer_scenes as scenes
import warp as wp
from newton.geometry import HydroelasticSDF
from peer_timing import Graph, timed

#: Voxels along the longest side of a shape; that of the example, and coarser and finer ones.
RESOLUTIONS = (64, 32, 16)
FINE = 128
#: Distances between which voxels are kept, and gap from which contacts are found, m.
BAND, GAP = (-0.01, 0.01), 0.002
#: Room for contacts, per world.
CONTACTS = 160
#: Steps until the force is taken at rest: its contacts are damped so that it creeps there for seconds.
SETTLE = 8000
STIFFNESS = {"punch": scenes.SLAB_STIFFNESS, "ball": scenes.BALL_STIFFNESS}


def versions() -> dict[str, str]:
    """Of what is measured."""
    return {"newton": newton.__version__, "warp": wp.config.version}


class NewtonScene:
    """Worlds of a scene.

    Args:
        name: ``punch``, ``ball`` or ``grasp``.
        n: Number of worlds.
        resolution: Voxels along the longest side of a shape.
        device: Warp's name of where it runs.
        collide_every: Steps from one search for contacts to the next.
        buffers: Share of the memory that Newton would take for its lists of voxels and faces.
    """

    def __init__(
        self,
        name: str,
        n: int,
        resolution: int,
        device: str,
        *,
        collide_every: int = 1,
        buffers: float = 1.0,
    ) -> None:
        self.name, self.n, self.device = name, n, device
        self._every = collide_every
        world = _grasp(resolution) if name == "grasp" else _flat(name, resolution)
        builder = newton.ModelBuilder()
        builder.replicate(world, n)
        with wp.ScopedDevice(device):
            self.model = builder.finalize(device=device)
            config = HydroelasticSDF.Config(
                buffer_fraction=buffers, buffer_mult_broad=math.ceil(1.0 / buffers)
            )
            self.pipeline = newton.CollisionPipeline(
                self.model,
                reduce_contacts=True,
                rigid_contact_max=CONTACTS * n,
                broad_phase="explicit",
                sdf_hydroelastic_config=config,
                verify_buffers=False,
            )
            self.contacts = self.pipeline.contacts()
            self.solver = newton.solvers.SolverMuJoCo(
                self.model,
                use_mujoco_contacts=False,
                disable_sensors=True,
                solver="newton",
                integrator="implicitfast",
                cone="elliptic",
                njmax=3 * CONTACTS + 32,
                nconmax=CONTACTS,
                iterations=15,
                ls_iterations=100,
                impratio=1000.0,
            )
            self._states = [self.model.state(), self.model.state()]
            self.control = self.model.control()
            self._differ()
            newton.eval_fk(self.model, self.model.joint_q, self.model.joint_qd, self.state)
        self.graph = Graph(lambda: self._steps(2))

    @property
    def state(self) -> Any:
        """The present state."""
        return self._states[0]

    def _differ(self) -> None:
        """Give the worlds of the grasp their forces and velocities."""
        if self.name != "grasp":
            return
        ways = scenes.ways(self.n)
        force = np.zeros((self.n, 8), dtype=np.float32)
        force[:, 6:] = np.array([1.0, -1.0]) * scenes.GRIP * ways.force[:, None]
        self.control.joint_f.assign(force.reshape(-1))
        speed = np.zeros((self.n, 8), dtype=np.float32)
        if self.n > 1:
            speed[:, :6] = ways.velocity
        for array in (self.model.joint_qd, self.state.joint_qd):
            array.assign(speed.reshape(-1))

    def _steps(self, number: int) -> None:
        """Take steps: an even number, so that the present state is where it was."""
        for i in range(number):
            self._states[0].clear_forces()
            if i % self._every == 0:
                self.pipeline.collide(self._states[0], self.contacts)
            self.solver.step(self._states[0], self._states[1], self.control, self.contacts, scenes.TIME_STEP)
            self._states.reverse()

    def step(self, number: int) -> None:
        """Take an even number of steps."""
        with wp.ScopedDevice(self.device):
            self.graph.step(number, wp)

    def wait(self) -> None:
        """Wait for the device."""
        wp.synchronize_device(self.device)

    def collide(self) -> None:
        """Find the contacts of the present state."""
        with wp.ScopedDevice(self.device):
            self.pipeline.collide(self.state, self.contacts)

    def depth(self) -> float:
        """Depth of the contact in the first world, m; of the grasp, the mean of both."""
        place = self.state.body_q.numpy()
        if self.name == "punch":
            return float(0.5 * scenes.CUBE - place[0, 2])
        if self.name == "ball":
            return float(scenes.BALL - place[0, 2])
        return float(scenes.RADIUS - 0.5 * (place[2, 1] - place[1, 1]))

    def height(self) -> np.ndarray:
        """(n,) height of the first body of every world, m."""
        places = self.state.body_q.numpy()
        return np.asarray(places[:: len(places) // self.n, 2])

    def force(self) -> float:
        """Force (N) along the load that the contacts of the present state ask the solver for, in the first world."""
        contacts = self.contacts
        num = min(int(contacts.rigid_contact_count.numpy()[0]), contacts.rigid_contact_max)
        fields = ("shape0", "shape1", "point0", "point1", "normal", "stiffness", "margin0", "margin1")
        of = {name: getattr(contacts, f"rigid_contact_{name}").numpy()[:num] for name in fields}
        body, place = self.model.shape_body.numpy(), self.state.body_q.numpy()
        total = 0.0
        for i in range(num):
            ends = [
                _moved(place[body[shape]], point) if body[shape] >= 0 else point
                for shape, point in ((of["shape0"][i], of["point0"][i]), (of["shape1"][i], of["point1"][i]))
            ]
            distance = float(of["normal"][i] @ (ends[1] - ends[0])) - of["margin0"][i] - of["margin1"][i]
            share = abs(of["normal"][i][1 if self.name == "grasp" else 2])
            total += max(-distance, 0.0) * float(of["stiffness"][i]) * share
        return float(total) / (2.0 if self.name == "grasp" else 1.0)

    def counts(self) -> dict[str, float]:
        """Faces, reduced contacts and voxels per world, and the largest fill of the lists."""
        hydro = self.pipeline.hydroelastic_sdf
        voxels = [int(count.numpy()[0]) for count in hydro.iso_buffer_counts]
        faces = int(hydro.contact_reduction.contact_count.numpy()[0])
        room = [hydro.max_num_blocks_broad, *hydro.iso_max_dims]
        # The first list holds all tiles of a shape; only the others are shortened.
        fills = [count / most for count, most in zip(voxels, room, strict=True)][1:]
        return {
            "faces": faces / self.n,
            "contacts": int(self.contacts.rigid_contact_count.numpy()[0]) / self.n,
            "voxels": voxels[-1] / self.n,
            "fill": max(*fills, faces / hydro.max_num_face_contacts),
        }


def _moved(pose: np.ndarray, point: np.ndarray) -> np.ndarray:
    """(3,) a point of a body in the world; poses are place and quaternion (x, y, z, w)."""
    axis, real = pose[3:6], pose[6]
    turn = 2.0 * np.cross(axis, point)
    return np.asarray(pose[:3] + point + real * turn + np.cross(axis, turn))


def _shape(resolution: int, stiffness: float) -> Any:
    return newton.ModelBuilder.ShapeConfig(
        density=0.0,
        is_hydroelastic=True,
        kh=stiffness,
        mu=scenes.FRICTION,
        mu_torsional=0.0,
        mu_rolling=0.0,
        gap=GAP,
        sdf_max_resolution=resolution,
        sdf_narrow_band_range=BAND,
    )


def _at(x: float, y: float, z: float) -> Any:
    return wp.transform(wp.vec3(x, y, z), wp.quat_identity())


def _ball_inertia(mass: float, radius: float) -> Any:
    return wp.mat33(*(0.4 * mass * radius**2 * np.eye(3)).reshape(-1).tolist())


def _flat(name: str, resolution: int) -> Any:
    """World of the cube on the slab, or of the ball on the flat."""
    builder = newton.ModelBuilder()
    depth = scenes.exact_depth(name, both_yield=True)
    shape = _shape(resolution, 2.0 * STIFFNESS[name])
    half, size = scenes.SLAB, 0.5 * scenes.CUBE if name == "punch" else scenes.BALL
    mass = scenes.LOADS[name] / scenes.GRAVITY
    body = builder.add_body(
        xform=_at(0.0, 0.0, size - depth), mass=mass, inertia=_ball_inertia(mass, size), lock_inertia=True
    )
    flat = {"hx": half[0], "hy": half[1], "hz": half[2], "xform": _at(0.0, 0.0, -half[2])}
    if name == "punch":
        builder.add_shape_box(-1, cfg=shape, **flat)
        builder.add_shape_box(body, hx=size, hy=size, hz=size, cfg=shape)
    else:
        builder.add_shape_box(-1, cfg=shape, **flat)
        builder.add_shape_sphere(body, radius=size, cfg=shape)
    return builder


def _grasp(resolution: int) -> Any:
    """World of the grasp."""
    builder = newton.ModelBuilder()
    shape = _shape(resolution, 2.0 * scenes.PAD_STIFFNESS)
    at = scenes.RADIUS - scenes.exact_depth("grasp", both_yield=True)
    inertia = _cylinder_inertia()
    held = builder.add_body(mass=scenes.MASS, inertia=inertia, lock_inertia=True, label="held")
    builder.add_shape_cylinder(held, radius=scenes.RADIUS, half_height=0.5 * scenes.LENGTH, cfg=shape)
    pads = []
    for name, side in scenes.SIDES.items():
        link = builder.add_link(
            xform=_at(0.0, side * at, 0.0),
            mass=scenes.PAD_MASS,
            inertia=wp.mat33(*(1e-4 * np.eye(3)).reshape(-1).tolist()),
            lock_inertia=True,
            label=name,
        )
        half = scenes.PAD
        xform = _at(0.0, side * half[1], 0.0)
        pads.append(builder.add_shape_box(link, xform=xform, hx=half[0], hy=half[1], hz=half[2], cfg=shape))
        joint = builder.add_joint_prismatic(-1, link, axis=newton.Axis.Y, target_ke=0.0, target_kd=0.0)
        builder.add_articulation([joint])
        builder.joint_q[-1] = side * at
    builder.add_shape_collision_filter_pair(*pads)
    return builder


def _cylinder_inertia() -> Any:
    across = scenes.MASS * (3.0 * scenes.RADIUS**2 + scenes.LENGTH**2) / 12.0
    along = 0.5 * scenes.MASS * scenes.RADIUS**2
    return wp.mat33(across, 0.0, 0.0, 0.0, across, 0.0, 0.0, 0.0, along)


def force_errors(device: str) -> Iterator[Callable[[], dict[str, Any]]]:
    """Measurements of the error of the force, one for every scene and resolution."""
    for name in scenes.LOADS:
        for resolution in (FINE, *RESOLUTIONS):
            yield partial(_force_error, name, resolution, device)


def _force_error(name: str, resolution: int, device: str) -> dict[str, Any]:
    scene = NewtonScene(name, 1, resolution, device)
    scene.collide()
    load = scenes.LOADS[name]
    row = {"scene": name, "resolution": resolution, "error": scene.force() / load - 1.0} | scene.counts()
    if name == "grasp":
        scene.step(SETTLE)
        depth = scene.depth()
        scene.collide()
        row |= {
            "depth_at_rest": depth,
            "error_at_rest": scenes.error_at_rest(name, depth, both_yield=True),
            "unrest": scene.force() / load - 1.0,
        }
    return row


def rates(device: str, worlds: list[int], seconds: float) -> Iterator[Callable[[], dict[str, Any]]]:
    """Measurements of the rate of the grasp."""
    fills: dict[int, float] = {}

    def measured(resolution: int, n: int, every: int) -> dict[str, Any]:
        wanted = fills.get(resolution)
        buffers = 1.0 if wanted is None else min(1.0, 1.5 * wanted)
        scene = NewtonScene("grasp", n, resolution, device, collide_every=every, buffers=buffers)
        row = {"resolution": resolution, "worlds": n, "collide_every": every, "buffers": buffers}
        row |= timed(scene, seconds)
        counts = scene.counts()
        fills[resolution] = max(fills.get(resolution, 0.0), counts["fill"] * buffers)
        return row | counts | {"sunk": float(np.max(np.abs(scene.height()))), "no_graph": scene.graph.failed}

    for resolution in RESOLUTIONS:
        for n in worlds:
            for every in (1, 2) if resolution == RESOLUTIONS[0] else (1,):
                yield partial(measured, resolution, n, every)
