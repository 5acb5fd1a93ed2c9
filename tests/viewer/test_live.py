"""A running simulation on a page: what it shows is the state, and what it commands reaches the World."""

import threading
from pathlib import Path

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.simulation import FixedRateRunner
from hydro_sim_core.viewer.live import LiveView, RunnerControls
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions
from support.viewer.pages import open_page, wait_until

SCENES = Path(__file__).parents[2] / "config" / "scenes"
SCALE = PressureScale(20e3)


@pytest.fixture(scope="module")
def world():
    """The gripper on its arm, and the spatula; compiled."""
    world = hs.load_scene(SCENES / "spatula_slip.yaml")
    world.step(2)
    return world


@pytest.fixture(scope="module")
def live(world):
    """Runner and viewer of the world."""
    runner = FixedRateRunner(world)
    viewer = Viewer(ViewerOptions(port=0))
    viewer.start()
    view = LiveView(runner, viewer, SCALE, RunnerControls(runner))
    view.start()
    runner.start()
    yield runner, viewer
    runner.stop()
    view.stop()
    viewer.close()


@pytest.fixture
def runner(live):
    """The runner, running from the start."""
    runner = live[0]
    runner.reset()
    runner.set_pace(1.0)
    runner.resume()
    return runner


@pytest.fixture
def page(live, runner):
    with open_page(live[1]) as page:
        yield page


def in_stepping_thread(runner, look):
    """What ``look`` sees of the world between two steps."""
    seen = []
    done = threading.Event()

    def act(world):
        seen.append(look(world))
        done.set()

    runner.submit(act)
    assert done.wait(20.0)
    return seen[0]


def target(runner, joint, row=0):
    """What a joint's drive is told."""
    return in_stepping_thread(
        runner, lambda world: world.drive_targets()[row, world.actuated_joint_names.index(joint)]
    )


def test_frames_follow_the_simulation(page, runner):
    first = page.wait_for_frame()
    second = page.wait_for_frame(lambda frame: frame["step"] >= first["step"] + 100)
    assert second["time"] == pytest.approx(second["step"] * 1e-3)
    assert not second["paused"]
    assert second["speed"] == 1.0
    assert {(patch["a"], patch["b"]) for patch in second["patches"]} == {
        ("left_finger", "spatula"),
        ("right_finger", "spatula"),
    }
    paced = page.wait_for_frame(lambda frame: frame["pace"] is not None)
    assert paced["pace"]["rtf"] > 0.0
    assert paced["pace"]["step_p99"] > 0.0


def test_a_joint_slider_moves_the_joint(page, runner, world):
    start = page.wait_for_frame()["joints"]
    row = world.joint_names.index("joint_1")
    page.send(type="joint", name="joint_1", position=0.3)
    moved = page.wait_for_frame(lambda frame: frame["joints"][row] > 0.25)
    assert target(runner, "joint_1") == 0.3
    others = np.delete(np.array(moved["joints"]) - start, row)
    assert np.abs(others[:6]).max() < 0.05


def test_the_grip_slider_changes_force_and_pressure(page, runner):
    page.send(type="grip", name="gripper", force=2.0)
    weak = page.wait_for_frame(
        lambda frame: frame["patches"] and frame["grip_forces"]["gripper"] == pytest.approx(2.0, rel=0.02)
    )
    page.send(type="grip", name="gripper", force=20.0)
    firm = page.wait_for_frame(lambda frame: frame["grip_forces"]["gripper"] == pytest.approx(20.0, rel=0.02))
    assert max(p["max_pressure"] for p in firm["patches"]) > 1.5 * max(
        p["max_pressure"] for p in weak["patches"]
    )
    assert sum(p["area"] for p in firm["patches"]) > sum(p["area"] for p in weak["patches"])


def test_pause_steps_and_resume(page, runner):
    page.send(type="pause", paused=True)
    stood = page.wait_for_frame(lambda frame: frame["paused"])
    step = runner.snapshot().step
    page.send(type="step", steps=7)
    page.wait_for_frame(lambda frame: frame["step"] == step + 7)
    assert runner.snapshot().step == step + 7
    assert runner.paused
    assert stood["step"] <= step
    page.send(type="pause", paused=False)
    assert not page.wait_for_frame(lambda frame: frame["step"] > step + 7)["paused"]


def test_steps_are_for_a_simulation_that_is_paused(page, runner):
    page.send(type="step", steps=1)
    page.wait_for(lambda: page.rejections)
    assert "is not paused" in page.rejections[0]["reason"]


def test_reset_begins_anew(page, runner):
    before = page.wait_for_frame(lambda frame: frame["step"] > 200)
    page.send(type="reset")
    after = page.wait_for_frame(lambda frame: frame["epoch"] > before["epoch"])
    assert after["step"] < before["step"]


def test_speed(page, runner):
    page.send(type="speed", factor=0.25)
    assert page.wait_for_frame(lambda frame: frame["speed"] == 0.25)
    page.send(type="speed", factor=None)
    assert page.wait_for_frame(lambda frame: frame["speed"] is None)
    assert runner.real_time_factor == np.inf


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"type": "joint", "name": "joint_2", "position": 99.0}, "joint 'joint_2': 99 is outside its limits"),
        ({"type": "joint", "name": "nobody", "position": 0.0}, "joint 'nobody': cannot be driven"),
        ({"type": "joint", "name": "joint_1", "position": float("nan")}, "finite"),
        ({"type": "joint", "name": "joint_1", "position": float("inf")}, "finite"),
        ({"type": "grip", "name": "gripper", "force": float("nan")}, "finite"),
        ({"type": "grip", "name": "gripper", "force": -1.0}, "out of range"),
        ({"type": "grip", "name": "gripper", "force": 1e300}, "out of range"),
        ({"type": "grip", "name": "hand", "force": 1.0}, "gripper 'hand'"),
        ({"type": "seek", "time": 1.0}, "no time line"),
        ({"type": "pull", "link": "spoon", "point": [0, 0, 0], "target": [0, 0, 0]}, "link 'spoon'"),
        ({"type": "pull", "link": "world", "point": [0, 0, 0], "target": [0, 0, 0]}, "link 'world'"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_and_changes_nothing(page, runner, message, reason):
    writes = in_stepping_thread(runner, lambda world: world.drive_writes)
    page.send(**message)
    page.wait_for(lambda: page.rejections)
    (line,) = page.rejections[0]["reason"].splitlines()
    assert reason in line
    assert in_stepping_thread(runner, lambda world: world.drive_writes) == writes
    step = page.frames[-1]["step"] if page.frames else 0
    page.wait_for_frame(lambda frame: frame["step"] > step)  # the simulation goes on


def pull(page, target=(0.4, 0.2, 0.7)):
    page.send(type="pull", link="spatula", point=[0.01, 0.0, 0.0], target=target)


def pulls(runner):
    return in_stepping_thread(runner, lambda world: world.pulls)


def test_a_page_pulls_a_link_and_all_see_with_what_force(live, runner):
    runner.pause()
    with open_page(live[1]) as page, open_page(live[1]) as other:
        page.wait_for(lambda: page.scenes)
        assert "spatula" in page.scenes[0]["pullable"]
        assert "world" not in page.scenes[0]["pullable"]
        pull(page)
        runner.resume()  # it waits while the simulation is paused
        frame = other.wait_for_frame(lambda frame: frame["pulls"])
        (told,) = frame["pulls"]
        (held,) = pulls(runner)
        assert told["link"] == held.link == "spatula"
        assert told["target"] == list(held.target) == [0.4, 0.2, 0.7]
        along = np.subtract(told["target"], told["point"])
        assert np.dot(told["force"], along) > 0.0
        page.send(type="let_go", link="spatula")
        other.wait_for_frame(lambda frame: not frame["pulls"])


def test_a_page_that_is_gone_pulls_no_longer(live, runner):
    with open_page(live[1]) as other:
        with open_page(live[1]) as page:
            pull(page)
            other.wait_for_frame(lambda frame: frame["pulls"])
        other.wait_for_frame(lambda frame: not frame["pulls"])
    assert pulls(runner) == ()


def test_a_reset_ends_a_pull(page, runner):
    pull(page)
    page.wait_for_frame(lambda frame: frame["pulls"])
    page.send(type="reset")
    page.wait_for_frame(lambda frame: not frame["pulls"])
    assert pulls(runner) == ()


def test_a_server_that_is_killed_and_a_view_that_ends_let_go(world):
    for end in ("kill", "stop"):
        runner, viewer = FixedRateRunner(world.copy()), Viewer(ViewerOptions(port=0))
        viewer.start()
        view = LiveView(runner, viewer, SCALE, RunnerControls(runner))
        view.start()
        runner.start()
        try:
            with open_page(viewer) as page:
                pull(page)
                wait_until(lambda runner=runner: pulls(runner))
                if end == "kill":
                    viewer._process.kill()
                else:
                    view.stop()
                wait_until(lambda runner=runner: not pulls(runner))
        finally:
            runner.stop()
            view.stop()
            viewer.close()


def test_one_page_commands_and_all_see_it(live, runner):
    with open_page(live[1]) as one, open_page(live[1]) as other:
        one.send(type="pause", paused=True)
        other.wait_for_frame(lambda frame: frame["paused"])
        one.wait_for_frame(lambda frame: frame["paused"])


def test_a_page_that_comes_while_paused_sees_the_state(live, runner):
    runner.pause()
    wait_until(lambda: live[1].watching == 0)
    runner.step(5)
    with open_page(live[1]) as page:
        page.wait_for_frame(lambda frame: frame["paused"] and frame["step"] == runner.snapshot().step)


def test_another_world_is_another_scene(page, runner, world):
    """Frames that come after the new scene are of the new world, and pages come to no harm."""
    page.wait_for_frame()
    other = hs.load_scene(SCENES / "drop_box.yaml")
    runner.exchange(other)
    try:
        page.wait_for(lambda: page.scenes[-1]["name"] == "drop_box")
        frame = page.wait_for_frame()
        assert len(frame["joints"]) == len(other.joint_names)
        page.send(type="grip", name="gripper", force=1.0)
        page.wait_for(lambda: page.rejections)
    finally:
        runner.exchange(world)
    page.wait_for(lambda: page.scenes[-1]["name"] == "spatula_slip")


class _Unwatched:
    """Stands for a viewer."""

    alive = True
    watching = 0

    def __init__(self):
        self.scenes, self.frames = [], []
        self.show_scene, self.show = self.scenes.append, self.frames.append

    def let_go(self):
        pass


def test_nothing_is_built_while_nobody_watches_or_nothing_changes(world):
    viewer = _Unwatched()
    runner = FixedRateRunner(world.copy(), start_paused=True)  # the other runner goes on stepping the world
    built = []
    view = LiveView(runner, viewer, SCALE)
    view.start()
    runner.start()
    try:
        for _ in range(5):
            runner.step()
            built.append("contacts" in vars(runner.snapshot()))
        assert not any(built)
        assert viewer.frames == []

        viewer.watching = 1
        wait_until(lambda: viewer.frames)
        shown = len(viewer.frames)
        assert viewer.frames[-1].step == runner.snapshot().step
        threading.Event().wait(0.2)  # six frames' time
        assert len(viewer.frames) == shown
        runner.step()
        wait_until(lambda: len(viewer.frames) > shown)
    finally:
        runner.stop()
        view.stop()


def test_no_frame_mixes_two_worlds(world, monkeypatch):
    """The runner may change worlds between two looks at it."""
    viewer = _Unwatched()
    viewer.watching = 1
    runner = FixedRateRunner(world, start_paused=True)
    other = hs.load_scene(SCENES / "drop_box.yaml")
    look = runner.snapshot

    def exchange_and_look():
        if viewer.frames and runner.world is world:
            runner.exchange(other)
        return look()

    monkeypatch.setattr(runner, "snapshot", exchange_and_look)
    view = LiveView(runner, viewer, SCALE)
    view.start()
    try:
        wait_until(lambda: len(viewer.frames) > 1)
    finally:
        view.stop()
    assert [scene.name for scene in viewer.scenes] == ["spatula_slip", "drop_box"]
    joints = [len(frame.joint_positions) for frame in viewer.frames]
    assert joints == [len(world.joint_names), len(other.joint_names)]


def test_a_view_without_controls_obeys_nobody(world):
    runner = FixedRateRunner(world, start_paused=True)
    viewer = Viewer(ViewerOptions(port=0))
    viewer.start()
    view = LiveView(runner, viewer, SCALE)
    view.start()
    try:
        with open_page(viewer) as page:
            page.send(type="pause", paused=False)
            page.wait_for(lambda: page.rejections and page.scenes)
            assert "takes no commands" in page.rejections[0]["reason"]
            assert not page.scenes[0]["takes_commands"]
            assert not any(joint["commandable"] for joint in page.scenes[0]["joints"])
        assert runner.paused
    finally:
        view.stop()
        viewer.close()


def test_coarse_contact_is_told_with_its_patch():
    """What ``hydro-sim run`` warns of stands beside the patch."""
    world = hs.load_scene(SCENES / "mug_on_plate.yaml")
    runner = FixedRateRunner(world, start_paused=True)
    runner.start()
    viewer = _Unwatched()
    viewer.watching = 1
    view = LiveView(runner, viewer, SCALE)
    runner.step(20)
    view.start()
    try:
        wait_until(lambda: viewer.frames)
        expected = {}
        for warning in runner.snapshot().contact_summary.warnings:
            expected.setdefault(warning.bodies, warning.problem)
        told = {f"{p.name_a} on {p.name_b}": p.problem for p in viewer.frames[-1].patches}
        assert told
        assert told == {bodies: expected.get(bodies) for bodies in told}
    finally:
        runner.stop()
        view.stop()
