"""A Kinova Gen3 with a Robotiq 2F-85, from the files of their drivers, picks a block up as a client of ROS commands it.

    python benchmarks/official_gen3.py FOLDER_OF_ros2_kortex FOLDER_OF_ros2_robotiq_gripper [--spawn]

The node simulates the robot, a block of 50 mm and a ground. A client opens the gripper, moves the arm over the block
and down by ``follow_joint_trajectory``, closes by ``gripper_cmd`` with the effort that is 20 N at each finger tip, and
lifts. With ``--spawn`` the node starts without the robot, which comes by ``~/spawn``. It tells how far the joints are
from their goals, and the forces of the finger tips on the block. It needs the workspace (``make workspace``), and
neither the files nor its result are part of the repository.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

import numpy as np
import rclpy
from builtin_interfaces.msg import Duration
from control_msgs.action import FollowJointTrajectory, GripperCommand
from geometry_msgs.msg import WrenchStamped
from measure import make_parser, write
from rclpy.action import ActionClient
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

import hydro_sim_core as hs
from hydro_sim_core.manipulation import inverse_kinematics

FORCE, SIZE, MASS = 20.0, 0.05, 0.1
PLACE = (0.45, 0.0, 0.0249)
FILE = "kortex_description/robots/kinova.urdf.xacro"
ARGUMENTS = {"name": "gen3", "arm": "gen3", "dof": 7, "gripper": "robotiq_2f_85", "use_fake_hardware": True}
JOINTS = tuple(f"joint_{i}" for i in range(1, 8))
KNUCKLE, PALM = "robotiq_85_left_knuckle_joint", "robotiq_85_base_link"
TIPS = tuple(f"robotiq_85_{side}_finger_tip_link" for side in ("left", "right"))
#: Distance of the palm from the block's middle as it is gripped, and how far it is lifted, m.
REACH, LIFT = 0.145, 0.1
#: Simulated time of each motion, and until what is held rests, s.
SECONDS, REST = 3, 1.0


def write_files(folder: Path, packages: Sequence[Path], with_robot: bool) -> Path:
    """The scene with the block, and with or without the robot."""
    inertia = MASS * SIZE**2 / 6.0
    (folder / "block.urdf").write_text(
        f'<robot name="block"><link name="block"><inertial><mass value="{MASS}"/><inertia ixx="{inertia}" '
        f'iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
        f'<box size="{SIZE} {SIZE} {SIZE}"/></geometry></collision></link></robot>'
    )
    robot = {
        "name": "gen3",
        "urdf": str(packages[0] / FILE),
        "package_dirs": [str(one) for one in packages],
        "xacro_args": ARGUMENTS,
        "drives": "all",
    }
    block = {"name": "block", "urdf": "block.urdf", "base": "floating", "pose": {"xyz": list(PLACE)}}
    ground = {"name": "ground", "shape": {"half_space": {}}, "proximity": {"compliance": "rigid"}}
    scene = {"name": "pick", "models": [robot, block] if with_robot else [block], "environment": [ground]}
    path = folder / ("robot.yaml" if with_robot else "block.yaml")
    path.write_text(json.dumps(scene))
    return path


def plan(world: hs.World) -> tuple[dict[str, dict[str, float]], float]:
    """Joint positions (rad) over and at the block and above it, and the effort (N m) of 20 N at each tip.

    The effort is the power of both forces at unit speed of the knuckle, where the pads are as far apart as the block
    is wide.
    """
    world = world.copy()
    X = np.eye(4)
    X[:3, :3] = np.diag([1.0, -1.0, -1.0])
    places = {}
    for name, height in (("over", LIFT), ("at", 0.0), ("lifted", LIFT)):
        X[:3, 3] = (*PLACE[:2], PLACE[2] + REACH + height)
        places[name] = inverse_kinematics(world, PALM, X, joints=JOINTS)
        world.set_joint_positions(places[name])
    world.set_joint_positions(places["at"] | {KNUCKLE: 0.0})
    bench = world.copy()
    bench.set_command(places["at"], "position")
    for position in np.linspace(0.0, 0.7, 700):
        bench.set_gripper("robotiq_gripper", position=float(position), max_force=0.2)
        bench.step(2)
    column = bench.velocity_names.index(KNUCKLE)
    rates = []
    for contact in bench.contacts:
        tip = next((name for name in (contact.name_a, contact.name_b) if name in TIPS), None)
        if tip is not None and "block" in (contact.name_a, contact.name_b):
            J = bench.frame_jacobian(tip)[:, column]
            p = np.average(contact.centroids, axis=0, weights=contact.areas) - bench.frame_pose(tip)[:3, 3]
            rates.append(abs(float((J[3:] + np.cross(J[:3], p))[0])))
    return places, FORCE * sum(rates)


class Client:
    """A program that commands the arm and its gripper.

    Args:
        prefix: What the robot's names begin with.
    """

    def __init__(self, prefix: str) -> None:
        self.node = Node("official_gen3")
        self.prefix = prefix
        self.positions: dict[str, float] = {}
        self.stamp = 0.0
        self.forces: dict[str, float] = {}
        self.node.create_subscription(JointState, "joint_states", self._hear, 10)
        for tip in TIPS:
            own = (prefix + tip).replace("/", "_")
            for pair in (f"{own}_on_block", f"block_on_{own}"):  # as the models follow each other
                topic = f"/hydro_sim/wrench/{pair}"
                self.node.create_subscription(WrenchStamped, topic, partial(self._feel, tip), 10)

    def _hear(self, message: JointState) -> None:
        self.positions = dict(zip(message.name, message.position, strict=True))
        self.stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec

    def _feel(self, tip: str, message: WrenchStamped) -> None:
        f = message.wrench.force
        self.forces[tip] = float(np.linalg.norm((f.x, f.y)))

    def wait(self, done: Any, what: str, seconds: float = 120.0) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            if time.monotonic() > deadline:
                raise SystemExit(f"waited in vain for {what}")
            rclpy.spin_once(self.node, timeout_sec=0.05)

    def rest(self, seconds: float) -> None:
        start = self.stamp
        self.wait(lambda: self.stamp >= start + seconds, "simulated time")

    def call(self, kind: type, name: str, request: Any) -> Any:
        client = self.node.create_client(kind, name)
        self.wait(client.service_is_ready, name)
        answer = client.call_async(request)
        self.wait(answer.done, name)
        return answer.result()

    def act(self, kind: type, name: str, goal: Any) -> Any:
        client = ActionClient(self.node, kind, name)
        self.wait(client.server_is_ready, name)
        handle = client.send_goal_async(goal)
        self.wait(handle.done, name)
        if not handle.result().accepted:
            raise SystemExit(f"{name} rejected its goal")
        result = handle.result().get_result_async()
        self.wait(result.done, f"the result of {name}")
        return result.result().result

    def go(self, goal: dict[str, float]) -> float:
        """Move the arm; the largest distance of a joint from its goal when it rests, rad."""
        point = JointTrajectoryPoint(
            positions=list(goal.values()),
            velocities=[0.0] * len(goal),
            time_from_start=Duration(sec=SECONDS),
        )
        names = [self.prefix + joint for joint in goal]
        trajectory = JointTrajectory(joint_names=names, points=[point])
        where = "joint_trajectory_controller/follow_joint_trajectory"
        result = self.act(FollowJointTrajectory, where, FollowJointTrajectory.Goal(trajectory=trajectory))
        if result.error_code:
            raise SystemExit(result.error_string)
        self.rest(REST)
        return max(abs(self.positions[self.prefix + joint] - position) for joint, position in goal.items())

    def grip(self, position: float, effort: float = 0.0) -> Any:
        goal = GripperCommand.Goal()
        goal.command.position, goal.command.max_effort = position, effort
        return self.act(GripperCommand, f"{self.prefix}robotiq_gripper_controller/gripper_cmd", goal)


def spawn(client: Client, packages: Sequence[Path]) -> str:
    from hydro_sim_msgs.srv import Spawn

    request = Spawn.Request(
        name="gen3",
        urdf=str(packages[0] / FILE),
        xacro_args=[f"{name}:={value}" for name, value in ARGUMENTS.items()],
        package_dirs=[str(one) for one in packages],
        base="fixed",
    )
    answer = client.call(Spawn, "/hydro_sim/spawn", request)
    if not answer.success:
        raise SystemExit(answer.message)
    return f"{answer.name}/"


def main() -> None:
    parser = make_parser(__doc__.partition("\n")[0], "official_gen3")
    parser.add_argument(
        "packages", type=Path, nargs=2, help="folders of ros2_kortex and ros2_robotiq_gripper"
    )
    parser.add_argument("--spawn", action="store_true", help="let the robot come by ~/spawn")
    options = parser.parse_args()
    packages = [folder.absolute() for folder in options.packages]
    with tempfile.TemporaryDirectory() as folder:
        places, effort = plan(hs.load_scene(write_files(Path(folder), packages, with_robot=True)))
        scene = write_files(Path(folder), packages, with_robot=not options.spawn)
        command = [
            sys.executable,
            "-m",
            "hydro_sim",
            "--ros-args",
            "-p",
            f"scene:={scene}",
            "-p",
            "wrench_topics:=['all']",
            "-p",
            "viewer:=false",
        ]
        node = subprocess.Popen(command)
        rclpy.init()
        try:
            client = Client("")
            if options.spawn:
                client = Client(spawn(client, packages))
            client.wait(lambda: client.prefix + JOINTS[0] in client.positions, "joint_states")
            data = pick(client, places, effort)
        finally:
            rclpy.shutdown()
            node.send_signal(signal.SIGINT)
            node.wait(30)
    print(json.dumps(data, indent=2))
    write(options.out, data)


def pick(client: Client, places: dict[str, dict[str, float]], effort: float) -> dict[str, Any]:
    """What is measured while the robot picks the block up."""
    client.grip(0.0)
    errors = {name: client.go(places[name]) for name in ("over", "at")}
    closed = client.grip(0.8, effort)
    client.rest(REST)
    squeezed = dict(client.forces)
    errors["lifted"] = client.go(places["lifted"])
    entities = json.loads(client.call(Trigger, "/hydro_sim/entities", Trigger.Request()).message)
    return {
        "joints_from_goal_rad": errors,
        "effort_asked_nm": effort,
        "effort_told_nm": closed.effort,
        "stalled": closed.stalled,
        "knuckle_rad": closed.position,
        "force_asked_n": FORCE,
        "forces_on_the_ground_n": squeezed,
        "forces_lifted_n": dict(client.forces),
        "block_height_m": entities["block"]["position"][2],
    }


if __name__ == "__main__":
    main()
