"""What controllers command is the same to the last bit whether Python or the compiled loop samples it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from geometry_msgs.msg import TwistStamped, Vector3
from std_msgs.msg import Float64MultiArray

import hydro_sim_core as hs
from hydro_sim.controllers.forward import ForwardController
from hydro_sim.controllers.gripper import GripperController
from hydro_sim.controllers.hold import HoldController
from hydro_sim.controllers.tolerances import JointTolerance
from hydro_sim.controllers.twist import TwistController
from hydro_sim.parameters import Parameters
from support.ros.arm_bench import ArmBench, Goal
from support.ros.arms import JOINTS, Bench, gen3
from support.ros.moves import SCENE
from support.ros.moves import Goal as Move
from support.ros.planned import Events, compared
from support.simulation.linkage_gripper import write_scene

#: Arms that are heavier than they know hang lower than they should.
WIDE = dict.fromkeys(JOINTS, JointTolerance(0.1, 0.1))


class Arm(ArmBench):
    """An arm with every controller that moves it."""

    def __init__(self, world: hs.World) -> None:
        super().__init__(world)
        self.goals: list[Goal] = []
        self.hold = self.add(HoldController(world, self.arbiter))
        self.twists = self.add(
            TwistController("end_effector_link", JOINTS, "world", world, self.arbiter, self.hold)
        )
        self.velocity = self.add(ForwardController("velocity", JOINTS[5:], world, self.arbiter))

    def twist(self, frame: str, *parts: float) -> None:
        message = TwistStamped()
        message.twist.linear = Vector3(x=parts[0], y=parts[1], z=parts[2])
        message.twist.angular = Vector3(x=parts[3], y=parts[4], z=parts[5])
        message.header.frame_id = frame
        self.twists.check_stamped(message)(self.world)

    def turn(self, *speeds: float) -> None:
        self.velocity.check(Float64MultiArray(data=list(speeds)))(self.world)

    def follow(self, seconds: float, positions: Mapping[str, float], **how: Any) -> None:
        self.goals.append(self.aim(seconds, **how, **positions))

    def told(self) -> list[Any]:
        return [
            (
                goal.ends,
                [(p.time, p.desired.positions.tolist(), p.actual.velocities.tolist()) for p in goal.progress],
            )
            for goal in self.goals
        ]


@pytest.fixture(scope="module", params=[True, False], ids=["compensated", "heavy"])
def arms(request: pytest.FixtureRequest) -> Callable[[], Arm]:
    world = gen3(gravity_compensation=request.param)
    return lambda: Arm(world.copy())


def dense(arm: Arm) -> None:
    """A trajectory with a point every other step, and one that starts later."""
    from support.ros.arm_bench import trajectory

    message = trajectory(0.2, joint_3=3.2)
    first = message.points[0]
    message.points = []
    for n in range(1, 101):
        point = type(first)(positions=[3.1 + 1e-3 * n], velocities=[0.5 if n < 100 else 0.0])
        point.time_from_start.nanosec = 2_000_000 * n
        message.points.append(point)
    arm.trajectories.follow(arm.trajectories.checked(message))


def test_trajectories(arms: Callable[[], Arm]) -> None:
    """Those of topics and of goals, side by side, with points close together, and one that is taken over."""
    events: Events = {
        5: lambda arm: arm.follow(0.15, {"joint_1": 0.2, "joint_2": 0.6}, goal=WIDE),
        20: dense,
        40: lambda arm: arm.go(0.3, joint_7=0.3),
        120: lambda arm: arm.follow(0.1, {"joint_7": 0.0}, stamp=0.15, goal=WIDE),
        420: lambda arm: arm.follow(
            0.1, {"joint_1": 0.6}, path={"joint_1": JointTolerance(4e-3)}
        ),  # too fast for it
    }
    planned, plain, heard = compared(arms, events, 600)
    assert planned.told() == plain.told()
    assert [goal.ends[0][0] for goal in planned.goals] == ["succeeded", "succeeded", "aborted"]
    assert [p.time for p in planned.published] == [p.time for p in plain.published]
    # Reports every 50 steps, starts, ends, and the steps between a motion's end and its goal are Python's.
    assert heard.by_loop > 540


def test_twists_and_set_points_that_move(arms: Callable[[], Arm]) -> None:
    """In the axes of the world and of a link that moves; into a stop; with a change on the way."""
    events: Events = {
        3: lambda arm: arm.hold.assume(arm.world, JOINTS, "hold"),
        30: lambda arm: arm.twist("", 0.05, 0.02, -0.03, 0.1, 0.0, 0.2),
        150: lambda arm: arm.twist("forearm_link", 0.0, 0.3, 0.0, 0.0, 0.4, 0.0),
        300: lambda arm: arm.turn(2.0, -0.3),
        400: lambda arm: arm.hold.assume(arm.world, JOINTS, "float"),
    }
    _, _, heard = compared(arms, events, 450)
    assert heard.by_loop > 435


class Hand(Bench):
    """A gripper with its controller."""

    def __init__(self, world: hs.World) -> None:
        super().__init__(world)
        parameters = Parameters(gripper_stall_timeout=0.1)
        self.gripper = self.add(GripperController("gripper", "gripper", world, self.arbiter, parameters))
        self.moves: list[Move] = []

    def move(self, gap: float, max_force: float = 0.0) -> None:
        self.moves.append(Move())
        self.gripper.move(self.world, *self.gripper.check_move(gap, max_force), self.moves[-1])


@pytest.mark.parametrize("kind", ["fingers", "linkage"])
def test_moves_of_grippers(kind: str, tmp_path: Path) -> None:
    """Onto something, with a force; and freely, which reaches the goal."""
    world = hs.load_scene(write_scene(tmp_path, 0.1) if kind == "linkage" else SCENE)
    closed, force, opened, turn = (0.8, 3.0, 0.1, 900) if kind == "linkage" else (0.0, 4.0, 0.06, 420)
    events: Events = {2: lambda hand: hand.move(closed, force), turn: lambda hand: hand.move(opened)}
    planned, plain, heard = compared(lambda: Hand(world.copy()), events, 2 * turn)
    assert [move.end[0] for move in planned.moves] == [move.end[0] for move in plain.moves]
    for one, other in zip(planned.moves, plain.moves, strict=True):
        assert one.end == other.end
        assert one.progress == other.progress
    assert [move.end[1].stalled for move in planned.moves] == [True, False]
    assert heard.by_loop > 1.9 * turn
