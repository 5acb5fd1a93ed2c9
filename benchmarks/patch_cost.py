"""What a patch costs: a pinch and a grasp in hydro-sim, with some hundred faces, and in MuJoCo, with its points.

The pinch is that of MuJoCo's issue 3328: a capsule of 45 g between two pads that press with 4.56 N. The grasp is that
of ``face_scaling.py``, an arm of seven joints with Soft-bubble fingers around a free cylinder. MuJoCo has ellipsoids
for the bubbles and everything else by its defaults, but the integrator that stiff drives ask for, and elliptic cones
with a ratio of impedances that holds what is gripped. Both step in one process in turns, many steps a call; a figure is
the median of the turns, processor time of the one thread that steps.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple
from xml.etree import ElementTree

import mujoco
import numpy as np
import xacro
from measure import make_parser, write
from rich.console import Console
from rich.progress import track
from rich.table import Table

from hydro_sim_core import SceneBuilder, World
from hydro_sim_core.experiments.cylinder_grasp import MESHES, grasp_scene

TIME_STEP, TURNS, STEPS, SETTLE = 1e-3, 24, 400, 1000
#: MuJoCo's ratio of the impedances of friction and pressure: with its default of 1 what is held slides out within
#: seconds.
IMPRATIO = 100.0
#: The pinch: radius and half the length of the capsule, m, its mass, kg, friction, force, N; half the sides of a pad,
#: m, its mass, kg, and its compliance, Pa; edge lengths of the capsule's mesh, m.
RADIUS, HALF, MASS, MU, FORCE = 0.012, 0.03, 0.045, 0.7, 4.56
PAD, PAD_MASS, MODULUS = (0.012, 0.005, 0.012), 0.05, 1e6
HINTS = (0.002, 0.001, 0.0005)
SIDES = {"left": -1.0, "right": 1.0}
#: The grasp: Soft bubbles as in ``urdf/macros/wsg50_soft_bubble.xacro``, and the cylinder; m, kg.
BUBBLE, BUBBLE_AT = (0.04165, 0.04165, 0.0625), (0.0, 0.041665, -0.1095)
CYLINDER = (0.03, 0.1, 0.2)


class Side(NamedTuple):
    """A simulator of a scene.

    Attributes:
        step: Takes a number of steps.
        contacts: Number of faces or points, on average over the last turn.
        height: Of what is held, m.
    """

    step: Callable[[int], None]
    contacts: Callable[[], int]
    height: Callable[[], float]


def main() -> None:
    """Measure both scenes, print the table and write the results."""
    arguments = make_parser(__doc__.splitlines()[0], "patch_cost").parse_args()
    scenes = {
        f"pinch, edges of {1e3 * hint:g} mm": (lambda hint=hint: _our_pinch(hint), _pinch) for hint in HINTS
    }
    scenes |= {f"grasp, {faces} faces": (lambda faces=faces: _our_grasp(faces), _grasp) for faces in MESHES}
    rows = [_row(name, ours(), theirs()) for name, (ours, theirs) in track(scenes.items(), "scenes")]
    Console(width=110).print(_table(rows))
    write(arguments.out, {"rows": rows})


def _row(name: str, ours: Side, theirs: Side) -> dict[str, Any]:
    times: list[list[float]] = []
    for side in (ours, theirs):
        side.step(SETTLE)
    before = ours.height(), theirs.height()
    for _ in range(TURNS):
        times.append([_time(side) for side in (ours, theirs)])
    sunk = [
        1e6 * (was - side.height()) / (TURNS * STEPS * TIME_STEP)
        for was, side in zip(before, (ours, theirs), strict=True)
    ]
    a, b = np.median(times, axis=0)
    ratio = float(np.median([one / other for one, other in times]))
    return {
        "scene": name,
        "faces": ours.contacts(),
        "points": theirs.contacts(),
        "us": a,
        "mujoco_us": b,
        "ratio": ratio,
        "sinks_um_s": sunk[0],
        "mujoco_sinks_um_s": sunk[1],
    }


def _time(side: Side) -> float:
    began = time.thread_time()
    side.step(STEPS)
    return 1e6 * (time.thread_time() - began) / STEPS


# --- The pinch


def _our_pinch(hint: float) -> Side:
    contact = {"friction": MU, "compliance": "rigid", "modulus": MODULUS, "margin": 0.0}
    scene = SceneBuilder("pinch", time_step=TIME_STEP, contact=contact)
    held = scene.add_body("held", MASS, rpy=(0.0, 0.5 * np.pi, 0.0))
    held.add_shape("capsule", radius=RADIUS, length=2.0 * HALF, resolution_hint=hint)
    gripper = scene.add_model(
        "gripper", positions={f"{name}_joint": side * RADIUS for name, side in SIDES.items()}
    )
    gripper.add_link("frame")
    for name, side in SIDES.items():
        pad = gripper.add_link(name).set_inertia(PAD_MASS, None, (0.0, 0.0, 0.0), np.full(3, 1e-5))
        pad.add_shape(
            "box", size=[2.0 * half for half in PAD], xyz=(0.0, side * PAD[1], 0.0), compliance="compliant"
        )
        gripper.add_joint(f"{name}_joint", "prismatic", "frame", name, axis=(0, 1, 0), lower=-1, upper=1)
    closing = {f"{name}_joint": -int(side) for name, side in SIDES.items()}
    scene.add_gripper("gripper", closing, max_force=FORCE, kp=1.0, kd=0.0)
    scene.add_command(FORCE, gripper="gripper", mode="force")
    world = World(scene.build())
    return Side(world.step, lambda: _num_faces(world), lambda: float(world.frame_pose("held")[2, 3]))


def _pinch() -> Side:
    pads = "".join(
        f"""<body name="{name}" pos="0 {side * RADIUS} 0"><joint name="{name}" type="slide" axis="0 1 0"/>
        <inertial pos="0 0 0" mass="{PAD_MASS}" diaginertia="1e-5 1e-5 1e-5"/>
        <geom type="box" pos="0 {side * PAD[1]} 0" size="{PAD[0]} {PAD[1]} {PAD[2]}"/></body>"""
        for name, side in SIDES.items()
    )
    motors = "".join(f'<motor joint="{name}" ctrlrange="-99 99"/>' for name in SIDES)
    model = mujoco.MjModel.from_xml_string(
        f"""<mujoco><option timestep="{TIME_STEP}" cone="elliptic" impratio="{IMPRATIO}"/>
        <default><geom friction="{MU} 0.005 0.0001"/></default><worldbody>
        <body name="held"><freejoint/><geom type="capsule" size="{RADIUS} {HALF}" euler="0 90 0" mass="{MASS}"/></body>
        {pads}</worldbody><actuator>{motors}</actuator></mujoco>"""
    )
    data = mujoco.MjData(model)
    data.ctrl[:] = [-side * FORCE for side in SIDES.values()]
    return _of_mujoco(model, data, lambda number: None)


# --- The grasp


def _our_grasp(faces: int) -> Side:
    world = World(grasp_scene(faces))
    return Side(world.step, lambda: _num_faces(world), lambda: float(world.frame_pose("cylinder")[2, 3]))


def _grasp() -> Side:
    """The arm from its own description, with ellipsoids for the bubbles; drives and the square wave as in the scene."""
    loaded = grasp_scene(min(MESHES))
    scene = loaded.spec
    arm, cylinder = scene.models
    spec = mujoco.MjSpec.from_string(_without_shapes(loaded.robots[0].source))
    spec.option.timestep = scene.time_step
    spec.option.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone, spec.option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, IMPRATIO
    spec.compiler.fusestatic = False
    for body in spec.bodies:
        body.gravcomp = 1.0
    for name, side in SIDES.items():
        at = [BUBBLE_AT[0], side * BUBBLE_AT[1], BUBBLE_AT[2]]
        kind = mujoco.mjtGeom.mjGEOM_ELLIPSOID
        spec.body(f"{name}_finger").add_geom(type=kind, size=BUBBLE, pos=at, friction=[1.0, 0.005, 0.0001])
    held = spec.worldbody.add_body(name="held", pos=np.subtract(cylinder.pose.xyz, arm.pose.xyz))
    held.add_freejoint()
    size = [CYLINDER[0], 0.5 * CYLINDER[1], 0.0]
    held.add_geom(type=mujoco.mjtGeom.mjGEOM_CYLINDER, size=size, mass=CYLINDER[2])
    for actuators in scene.actuators:
        for joint in actuators.joints:
            drive = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            drive.set_to_position(kp=actuators.kp, kv=actuators.kd)
    (gripper,) = scene.grippers
    for joint in gripper.joints:
        motor = spec.add_actuator(name=joint, target=joint, trntype=mujoco.mjtTrn.mjTRN_JOINT)
        motor.set_to_motor()
    model = spec.compile()
    data = mujoco.MjData(model)
    for joint, position in arm.positions.items():
        data.joint(joint).qpos[:] = position
        data.actuator(joint).ctrl[:] = position
    (command,) = scene.commands

    def squeeze(number: int) -> None:
        force = command.signal.at(number * scene.time_step)
        for joint, sign in gripper.joints.items():
            data.actuator(joint).ctrl[:] = sign * force

    return _of_mujoco(model, data, squeeze)


def _without_shapes(path: Any) -> str:
    """Text of a robot with its joints and masses alone."""
    root = ElementTree.fromstring(xacro.process_file(str(path)).toxml())
    for link in root.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    return ElementTree.tostring(root, encoding="unicode")


# --- Both


def _num_faces(world: World) -> int:
    return sum(patch.num_faces for patch in world.contacts)


def _of_mujoco(model: Any, data: Any, command: Callable[[int], None]) -> Side:
    taken = 0

    def step(count: int) -> None:
        nonlocal taken
        command(taken)
        mujoco.mj_step(model, data, nstep=count)
        taken += count

    return Side(step, lambda: int(data.ncon), lambda: float(data.body("held").xpos[2]))


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(title="What a patch costs: processor time of a step, and how fast what is held sinks")
    for name in ("scene", "faces", "us", "points", "MuJoCo, us", "ratio", "sinks, um/s", "MuJoCo's"):
        table.add_column(name, justify="left" if name == "scene" else "right")
    for row in rows:
        times = (f"{row['us']:.1f}", str(row["points"]), f"{row['mujoco_us']:.1f}", f"{row['ratio']:.1f}")
        sunk = (f"{row['sinks_um_s']:.3g}", f"{row['mujoco_sinks_um_s']:.3g}")
        table.add_row(row["scene"], str(row["faces"]), *times, *sunk)
    return table


if __name__ == "__main__":
    main()
