"""Goals of actions always end: whatever the link, a reset or the end of the simulation does to them."""

from types import SimpleNamespace

import pytest
from rclpy.action import GoalResponse

from hydro_sim.controllers import goals
from hydro_sim_core.errors import InputError
from support.ros.link_bench import LinkBench


class Handle:
    """The server's handle of a goal; notes what becomes of it."""

    def __init__(self, number):
        self.goal_id = SimpleNamespace(uuid=bytes([number] * 16))
        self.ends = []
        self.abort, self.succeed, self.canceled = (
            lambda end=end: self.ends.append(end) for end in ("aborted", "succeeded", "canceled")
        )

    def execute(self):
        pass


class Server:
    """Instead of the middleware's: the test is the client, and the executor that carries coroutines on."""

    def __init__(self, node, action_type, name, **callbacks):
        node.server = self
        self.callbacks = callbacks
        self.there = True

    def destroy(self):
        self.there = False


class DoorBench(LinkBench):
    """An action on a link; ``begun`` are the goals that reached the World."""

    def __init__(self, monkeypatch, **parameters):
        super().__init__(**parameters)
        monkeypatch.setattr(goals, "ActionServer", Server)
        self.begun, self.cancelled, self._under_way, self._tasks = [], [], {}, []
        self.runner.running = True
        self.refused_by_the_world = None
        self.node.resolve_service_name = lambda name: f"/{name}"
        self.node.create_guard_condition = lambda *_, **__: SimpleNamespace(trigger=lambda: None)
        self.node.executor = SimpleNamespace(create_task=lambda make: self._tasks.append(make()))
        parts = lambda request: self._begin, lambda world, goal: self.cancelled.append(goal), str.upper
        rest = self.runner, self.link, self.rejections
        self.goal_server = goals.GoalServer(self.node, None, "arm/follow", "joint", *parts, *rest)

    def _begin(self, world, goal):
        if self.refused_by_the_world is not None:
            raise self.refused_by_the_world
        self.begun.append(goal)

    def send_goal(self):
        """Send a goal; its handle, or None if it is rejected."""
        callbacks = self.node.server.callbacks
        if callbacks["goal_callback"](None) == GoalResponse.REJECT:
            return None
        handle = Handle(len(self._under_way))
        callbacks["handle_accepted_callback"](handle)
        self._under_way[handle] = callbacks["execute_callback"](handle)
        return handle

    def outcome(self, handle):
        """What the client hears: the end and the result; None as long as it hears nothing."""
        self.spin()
        try:
            self._under_way[handle].send(None)
        except StopIteration as end:
            self.spin()
            return *handle.ends, end.value
        return None

    def spin(self):
        for task in list(self._tasks):
            try:
                task.send(None)
            except StopIteration:
                self._tasks.remove(task)


@pytest.fixture
def make(monkeypatch):
    return lambda **parameters: DoorBench(monkeypatch, **parameters)


def test_goal_that_the_link_loses_is_aborted(make):
    bench = make(link_loss=1.0)
    assert bench.outcome(bench.send_goal()) == ("aborted", "LOST ON THE LINK")
    assert bench.begun == []


def test_goal_that_is_under_way_at_a_reset_is_aborted(make):
    bench = make(link_delay=0.05)
    handle = bench.send_goal()
    assert bench.outcome(handle) is None
    bench.epoch, bench.world.time = 1, 0.0
    bench.step(10)
    assert bench.begun == []
    assert bench.outcome(handle) == ("aborted", "THE SIMULATION WAS RESET BEFORE IT ARRIVED")


def test_goal_that_no_step_waits_for_is_aborted(make):
    bench = make(mode="lock_step", lock_step_interface="joint")
    bench.runner.waiting_for_permit = False
    end, reason = bench.outcome(bench.send_goal())
    assert end == "aborted"
    assert "LOCK-STEP" in reason


def test_goal_that_the_world_refuses_is_aborted(make):
    bench = make()
    bench.refused_by_the_world = InputError("goal", "'joint_1'", "is no longer there", "reset")
    end, reason = bench.outcome(bench.send_goal())
    assert end == "aborted"
    assert "IS NO LONGER THERE" in reason


def test_open_goals_end_with_the_door(make):
    """Their clients hear of it before the server goes; nothing is kept."""
    bench = make()
    first, second = bench.send_goal(), bench.send_goal()
    bench.begun[0].finish("succeeded", "done")
    assert bench.outcome(first) == ("succeeded", "done")
    assert bench.outcome(second) is None
    bench.runner.running = False
    bench.goal_server.close()
    bench.spin()
    assert bench.node.server.there
    assert bench.goal_server.open_goals == 1
    assert bench.send_goal() is None
    assert bench.outcome(second) == ("aborted", "THE SIMULATION HAS ENDED")
    assert bench.goal_server.open_goals == 0
    assert not bench.node.server.there


def test_door_without_open_goals_closes_at_once(make):
    bench = make()
    bench.goal_server.close()
    assert not bench.node.server.there


def test_stopped_simulation_rejects_goals_and_aborts_those_it_has(make):
    """As joint_trajectory_controller does when it is deactivated; their motion ends too."""
    bench = make()
    handle = bench.send_goal()
    bench.runner.running = False
    bench.goal_server.abort("the node was deactivated")
    assert bench.outcome(handle) == ("aborted", "THE NODE WAS DEACTIVATED")
    assert bench.cancelled == bench.begun
    assert bench.send_goal() is None
    assert bench.warnings
    bench.runner.running = True
    assert bench.outcome(bench.send_goal()) is None
    assert len(bench.begun) == 2
