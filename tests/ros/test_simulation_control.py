"""What clients can do to a simulation, without messages: on a real runner, in this process."""

from __future__ import annotations

import gc
import json
import math
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from std_srvs.srv import Trigger

from hydro_sim import node as node_module
from hydro_sim import optional
from hydro_sim.parameters import Parameters
from hydro_sim.simulation_control.catalogue import robot_file, spawnables, world_file, worlds
from hydro_sim.simulation_control.control import SimulationControl, SimulationState
from hydro_sim.simulation_control.conversions import has_tags, resource_of, volume
from hydro_sim.simulation_control.refusals import Reason, Refused
from hydro_sim.simulation_control.services import ClientServices
from hydro_sim.simulation_control.spawning import SpawnRequest
from hydro_sim_core.description.poses import pose
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, World, load_scene
from hydro_sim_core.simulation.scenes import shipped_robots, shipped_scene
from support.ros.spawned_models import BALL

FAR = pose((0, 0, 30))


class Host:
    """A runner with what the node does around it left out."""

    def __init__(self, world):
        self.fits = True
        self._use(world)

    def _use(self, world):
        self.runner = FixedRateRunner(world, math.inf, start_paused=True)
        self.runner.start()

    def exchange_world(self, world, *, carry_over):
        settle = (lambda old, new: new.take_over(old)) if carry_over else None
        self.runner.exchange(world, settle, anew=not carry_over)

    def replace_world(self, world):
        if not self.fits:
            raise InputError("parameters", "command_joints", "cannot be commanded", "leave it out")
        self.runner.stop()
        self._use(world)


class Simulation:
    """A control whose coroutines are run to their end at once."""

    def __init__(self, scene: str | Path = "drop_box") -> None:
        async def wait(future):
            return future.result(600.0)

        self.quitted = False
        world = load_scene(scene if isinstance(scene, Path) else shipped_scene(scene))
        world.step()  # the first step ever compiles
        world.reset()
        self.host = Host(world)
        self.control = SimulationControl(self.host, wait, self._quit, "map")

    def _quit(self):
        self.quitted = True

    def __getattr__(self, operation):
        def run(*args, **kwargs):
            coroutine = getattr(self.control, operation)(*args, **kwargs)
            try:
                coroutine.send(None)
            except StopIteration as end:
                return end.value
            raise AssertionError("it waits for something that nobody does")

        return run

    def refused(self, operation, *args, **kwargs):
        """Reason and message of an operation that must leave everything as it is."""
        before = (
            self.control.world,
            self.control.state,
            self.control.snapshot.q.tolist(),
            list(self.control.spawned),
        )
        with pytest.raises(Refused) as refusal:
            getattr(self.control, operation)(*args, **kwargs).send(None)
        after = (
            self.control.world,
            self.control.state,
            self.control.snapshot.q.tolist(),
            list(self.control.spawned),
        )
        assert after == before
        message = str(refusal.value)
        assert message
        assert len(message) <= 500
        assert "\n" not in message
        assert "Traceback" not in message
        return refusal.value.reason, message

    def refused_late(self, operation, *args):
        """Reason of an operation that is refused while the simulation runs."""
        world = self.control.world
        with pytest.raises(Refused) as refusal:
            getattr(self.control, operation)(*args).send(None)
        assert self.control.world is world
        return refusal.value.reason

    @property
    def names(self):
        return self.control.world.entities.names


@pytest.fixture
def simulation():
    simulation = Simulation()
    yield simulation
    simulation.host.runner.stop()


# --- states


def test_states_and_transitions(simulation):
    """Playing, paused and stopped; a stop is a pause and a reset; nobody goes where he is already."""
    control = simulation.control
    assert control.state is SimulationState.PAUSED
    simulation.set_state(SimulationState.PLAYING)
    assert control.state is SimulationState.PLAYING
    assert control.snapshot.epoch == 0
    assert simulation.refused_late("set_state", SimulationState.PLAYING) is Reason.ALREADY_IN_TARGET_STATE
    simulation.set_state(SimulationState.STOPPED)
    assert control.state is SimulationState.STOPPED
    assert control.snapshot.time == 0.0
    simulation.set_entity_state("box", "", FAR, None)  # does not end the stop
    assert control.state is SimulationState.STOPPED
    simulation.set_state(SimulationState.PAUSED)
    assert control.state is SimulationState.PAUSED
    simulation.step(3)
    assert control.snapshot.step == 3
    simulation.set_state(SimulationState.STOPPED)
    simulation.step(1)  # by a client that knows no stop
    assert control.state is SimulationState.PAUSED
    simulation.set_state(SimulationState.QUITTING)
    assert simulation.quitted
    assert control.state is SimulationState.QUITTING


def test_impossible_transitions(simulation):
    for target in (SimulationState.NO_WORLD, SimulationState.LOADING_WORLD):
        assert simulation.refused("set_state", target)[0] is Reason.INCORRECT_TRANSITION
    simulation.host.runner.stop()
    reason, message = simulation.refused("set_state", SimulationState.PLAYING)
    assert reason is Reason.STATE_TRANSITION_ERROR
    assert "activate" in message
    for paused in (False, True):
        with pytest.raises(Refused, match="activate"):
            simulation.control.pause(paused)


def test_steps(simulation):
    """Only while paused; broken off by whatever exchanges the world, and answered."""
    simulation.step(5)
    assert simulation.control.snapshot.step == 5
    simulation.set_state(SimulationState.PLAYING)
    assert simulation.refused_late("step", 5) is Reason.OPERATION_FAILED
    simulation.set_state(SimulationState.PAUSED)
    runner = simulation.host.runner
    under_way = runner.begin_steps(10_000_000)
    simulation.spawn(SpawnRequest(text=BALL, X_FE=FAR))
    assert under_way.result(10.0) < 10_000_000
    assert not simulation.control.stepping


# --- what comes and goes


def test_a_name_that_shares_topics_with_another_is_refused(simulation):
    """Of ``a-b`` and ``a_b`` the wrenches on the box would come on one topic."""
    simulation.spawn(SpawnRequest(text=BALL, name="a-b", X_FE=FAR))
    reason, message = simulation.refused("spawn", SpawnRequest(text=BALL, name="a_b", X_FE=FAR))
    assert reason is Reason.NAME_NOT_UNIQUE
    assert "links 'a-b/ball' and 'a_b/ball': would share the topic ~/wrench/" in message
    simulation.delete("a-b")
    simulation.spawn(SpawnRequest(text=BALL, name="a_b", X_FE=FAR))


def test_spawn_and_delete(simulation):
    """Under its full name, with its links; what is deleted can come again."""
    assert simulation.spawn(SpawnRequest(text=BALL, X_FE=FAR)) == ("ball", "")
    name, _ = simulation.spawn(SpawnRequest(text=BALL, namespace="/lab/a", X_FE=FAR))
    assert name == "lab/a/ball"
    assert simulation.names == ("box", "ball", "lab/a/ball", "ground")
    assert simulation.control.world.frame_names == ("box", "ball/ball", "lab/a/ball/ball")
    simulation.delete("ball")
    simulation.delete("ground")
    assert simulation.names == ("box", "lab/a/ball")
    simulation.spawn(SpawnRequest(text=BALL, X_FE=FAR))
    assert simulation.control.spawned == ["lab/a/ball", "ball"]
    assert simulation.refused("delete", "nobody")[0] is Reason.NOT_FOUND


def test_names(simulation):
    """Taken and impossible ones are refused, unless another may be given."""
    for _ in range(2):
        name, _ = simulation.spawn(SpawnRequest(text=BALL, name="box", allow_renaming=True, X_FE=FAR))
    assert name == "box_2"
    name, _ = simulation.spawn(SpawnRequest(text=BALL, name="my ball/..", allow_renaming=True, X_FE=FAR))
    assert name == "my_ball_.."
    taken = SpawnRequest(text=BALL, name="box", X_FE=FAR)
    assert simulation.refused("spawn", taken)[0] is Reason.NAME_NOT_UNIQUE
    for bad in ("a b", "a/b", "ü", "x" * 101, "../x", "a\n"):
        assert simulation.refused("spawn", SpawnRequest(text=BALL, name=bad))[0] is Reason.NAME_INVALID
    for bad in ("1a", "a b", "a//b", "x" * 300, "a-b"):
        assert (
            simulation.refused("spawn", SpawnRequest(text=BALL, namespace=bad))[0] is Reason.NAMESPACE_INVALID
        )


def test_what_floats_and_what_stands(simulation):
    """A root link called world stands, and so does what has no mass."""
    welded = BALL.replace(
        "</robot>", '<joint name="w" type="fixed"><parent link="world"/><child link="ball"/></joint></robot>'
    )
    plate = BALL[: BALL.index("<inertial>")] + BALL[BALL.index("<collision>") :]
    for name, text in (("welded", welded), ("plate", plate)):
        simulation.spawn(SpawnRequest(name=name, text=text, X_FE=pose((1, 2, 3))))
        assert simulation.control.world.entities[name].is_static
        assert simulation.control.snapshot.entities.pose(name)[:3, 3].tolist() == [1, 2, 3]
    simulation.spawn(SpawnRequest(text=BALL, X_FE=FAR))
    assert simulation.control.world.entities["ball"].joint == "ball/ball_base"


def test_overlaps_are_told(simulation):
    """Spawning into something is done, and said."""
    _, message = simulation.spawn(SpawnRequest(text=BALL, X_FE=pose((0, 0, 0.1))))
    assert message == "its box meets those of box"


@pytest.mark.parametrize(
    ("uri", "text", "reason"),
    [
        ("", "", Reason.NO_RESOURCE),
        ("", "not xml", Reason.RESOURCE_PARSE_ERROR),
        ("", "<robot name='a'/>", Reason.RESOURCE_PARSE_ERROR),
        ("", "<robot name='a'><link name='b'/><link name='c'/></robot>", Reason.RESOURCE_PARSE_ERROR),
        ("", "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]>" + BALL, Reason.RESOURCE_PARSE_ERROR),
        ("", BALL.replace("0.05", "nan"), Reason.RESOURCE_PARSE_ERROR),
        ("", BALL.replace("0.05", "-1"), Reason.RESOURCE_PARSE_ERROR),
        (
            "",
            BALL.replace('<sphere radius="0.05"/>', "<mesh filename='file:///no.stl'/>"),
            Reason.MISSING_ASSETS,
        ),
        (
            "",
            BALL.replace('<sphere radius="0.05"/>', "<mesh filename='file:///a.exe'/>"),
            Reason.UNSUPPORTED_ASSETS,
        ),
        (
            "",
            BALL.replace('<sphere radius="0.05"/>', "<mesh filename='../a.stl'/>"),
            Reason.RESOURCE_PARSE_ERROR,
        ),
        ("", "x" * (2**24 + 1), Reason.RESOURCE_PARSE_ERROR),
        ("file:///no/such.urdf", "", Reason.NOT_FOUND),
        ("file:///etc/passwd", "", Reason.UNSUPPORTED_FORMAT),
        ("model.sdf", "", Reason.UNSUPPORTED_FORMAT),
        ("relative.urdf", "", Reason.OPERATION_FAILED),
        ("package://nowhere/a.urdf", "", Reason.OPERATION_FAILED),
        ("http://example.org/a.urdf", "", Reason.OPERATION_FAILED),
        ("/" + 5000 * "a" + ".urdf", "", Reason.NOT_FOUND),
        ("/a\0b.urdf", "", Reason.NOT_FOUND),
    ],
)
def test_bad_descriptions(simulation, uri, text, reason):
    """One line with what is wrong; the running world is left alone."""
    assert simulation.refused("spawn", SpawnRequest(uri=uri, text=text))[0] is reason


def test_a_package_is_not_left(simulation, tmp_path, monkeypatch):
    """A package:// uri reaches the files of its package, and none beside it."""
    package = tmp_path / "toys"
    package.mkdir()
    (package / "ball.urdf").write_text(BALL)
    (tmp_path / "secret.urdf").write_text(BALL)
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path))
    simulation.spawn(SpawnRequest(uri="package://toys/ball.urdf", X_FE=FAR))
    for path in ("../secret.urdf", "%2e%2e/secret.urdf"):
        reason, message = simulation.refused("spawn", SpawnRequest(uri=f"package://toys/{path}"))
        assert reason is Reason.OPERATION_FAILED
        assert "outside the package" in message


@pytest.mark.parametrize("bad", [math.nan, math.inf, 1e300])
def test_bad_poses(simulation, bad):
    for index in ((0, 3), (1, 1)):
        X = np.eye(4)
        X[index] = bad
        if index == (0, 3) or not math.isfinite(bad):
            assert simulation.refused("spawn", SpawnRequest(text=BALL, X_FE=X))[0] is Reason.INVALID_POSE
            assert simulation.refused("set_entity_state", "box", "", X, None)[0] is Reason.INVALID_POSE
    twist = np.array([0, 0, 0, 0, 0, bad])
    assert simulation.refused("set_entity_state", "box", "", None, twist)[0] is Reason.OPERATION_FAILED
    assert simulation.refused("set_entity_state", "box", "nowhere", FAR, None)[0] is Reason.INVALID_POSE
    assert simulation.refused("spawn", SpawnRequest(text=BALL, frame="nowhere"))[0] is Reason.INVALID_POSE


@settings(max_examples=60, deadline=None)
@given(
    name=st.text(max_size=20),
    namespace=st.text(max_size=20),
    uri=st.text(max_size=30),
    text=st.one_of(st.text(max_size=50), st.integers(0, len(BALL)).map(lambda i: BALL[:i] + BALL[i + 1 :])),
    renaming=st.booleans(),
    frame=st.text(max_size=5),
)
def test_whatever_is_asked_is_answered(shared, name, namespace, uri, text, renaming, frame):
    """Any request is carried out or refused; nothing else is raised, and a refusal changes nothing."""
    request = SpawnRequest(name, renaming, uri, text, namespace, frame, FAR)
    names = shared.names
    try:
        spawned, _ = shared.spawn(request)
    except Refused:
        assert shared.names == names
        return
    assert set(shared.names) == {*names, spawned}
    shared.delete(spawned)


@pytest.fixture(scope="module")
def shared():
    simulation = Simulation()
    yield simulation
    simulation.host.runner.stop()


# --- states of entities


def test_entities_are_put_somewhere(simulation):
    """Floating ones at once, fixed ones too but without speed, in the world or beside a link."""
    states = lambda: simulation.control.snapshot.entities  # noqa: E731
    simulation.set_entity_state("box", "map", FAR, np.array([0, 0, 1.0, 0.5, 0, 0]))
    np.testing.assert_allclose(states().pose("box"), FAR, atol=1e-12)
    simulation.spawn(SpawnRequest(text=BALL, frame="box", X_FE=pose((0, 1, 0))))
    np.testing.assert_allclose(states().pose("ball")[:3, 3], (0, 1, 30), atol=1e-12)
    # At rest beside a turning box: it goes round with it.
    simulation.set_entity_state("ball", "box", None, np.zeros(6))
    np.testing.assert_allclose(states().twist("ball"), (0, 0, 1, -0.5, 0, 0), atol=1e-12)
    simulation.set_entity_state("ground", "", pose((0, 0, -1)), None)
    assert states().pose("ground")[2, 3] == -1.0
    assert (
        simulation.refused("set_entity_state", "ground", "", None, np.ones(6))[0] is Reason.OPERATION_FAILED
    )
    simulation.set_entity_state("ground", "", None, np.zeros(6))


def test_a_kinematic_model_is_led_by_its_twist(tmp_path):
    """Put somewhere, it goes on from there as it is told, and is neither fixed nor floating."""
    (tmp_path / "ball.urdf").write_text(BALL)
    lift = {"name": "lift", "urdf": "ball.urdf", "base": "kinematic"}
    path = tmp_path / "lift.json"
    path.write_text(json.dumps({"name": "lift", "models": [lift]}))
    simulation = Simulation(path)
    try:
        simulation.set_entity_state("lift", "", pose((0, 0, 1)), np.array([0, 0, 0, 0, 0, 0.5]))
        simulation.step(200)
        states = simulation.control.snapshot.entities
        np.testing.assert_allclose(states.pose("lift")[:3, 3], (0, 0, 1.1), atol=1e-13)
        assert states.twist("lift").tolist() == [0, 0, 0, 0, 0, 0.5]
        entity = simulation.control.world.entities["lift"]
        assert entity.is_kinematic
        assert not entity.is_static
    finally:
        simulation.host.runner.stop()


# --- resets


def test_reset_scopes(simulation):
    """Time, states and what was spawned go back each by themselves; a full reset brings back what was there."""
    control = simulation.control
    simulation.spawn(SpawnRequest(text=BALL, X_FE=FAR))
    simulation.step(20)
    simulation.reset(time=True, state=False, spawned=False)
    assert control.snapshot.time == 0.0
    assert control.snapshot.entities.pose("ball")[2, 3] < 29.999
    simulation.step(20)
    simulation.reset(time=False, state=True, spawned=False)
    assert control.snapshot.step == 20
    assert control.snapshot.entities.pose("ball")[2, 3] == 30.0
    simulation.step(5)
    q = control.snapshot.q[:7]
    simulation.reset(time=False, state=False, spawned=True)
    assert simulation.names == ("box", "ground")
    assert control.snapshot.step == 25
    np.testing.assert_array_equal(control.snapshot.q, q)
    simulation.delete("ground")
    simulation.set_entity_state("box", "", FAR, None)
    simulation.spawn(SpawnRequest(text=BALL, X_FE=FAR))
    simulation.reset_all()
    assert simulation.names == ("box", "ground")
    assert control.snapshot.step == 0
    assert control.snapshot.entities.pose("box")[2, 3] == pytest.approx(0.145)
    assert control.spawned == []


def test_an_edit_that_comes_second_is_made_anew(simulation):
    """Two changes at once are both carried out, whichever is ready first."""
    control = simulation.control
    inner = control._make
    interrupted = []

    async def meanwhile(build, base):
        if not interrupted:
            interrupted.append(True)
            simulation.spawn(SpawnRequest(text=BALL, name="quick", X_FE=FAR))
        return await inner(build, base)

    control._make = meanwhile
    simulation.spawn(SpawnRequest(text=BALL, name="slow", X_FE=pose((0, 5, 30))))
    assert simulation.names == ("box", "quick", "slow", "ground")


# --- worlds


def test_worlds(simulation):
    """Another scene, stopped; a bad one leaves the present one; an empty one stands still until the next."""
    control = simulation.control
    simulation.spawn(SpawnRequest(text=BALL, X_FE=FAR))
    simulation.set_state(SimulationState.PLAYING)
    assert simulation.refused_late("load_world", "no_such.yaml") is Reason.OPERATION_FAILED
    assert simulation.refused_late("load_world", "/no/such.yaml") is Reason.NOT_FOUND
    assert control.state is SimulationState.PLAYING
    simulation.host.fits = False
    assert simulation.refused_late("load_world", "cylinder_grasp") is Reason.OPERATION_FAILED
    assert control.state is SimulationState.PLAYING
    simulation.host.fits = True
    simulation.load_world("cylinder_grasp")
    assert control.state is SimulationState.STOPPED
    assert control.world.name == "cylinder_grasp"
    assert control.spawned == []
    simulation.unload_world()
    assert control.state is SimulationState.NO_WORLD
    assert simulation.names == ()
    assert simulation.refused("spawn", SpawnRequest(text=BALL))[0] is Reason.INCORRECT_STATE
    assert simulation.refused("reset_all")[0] is Reason.INCORRECT_STATE
    assert simulation.refused("step", 1)[0] is Reason.INCORRECT_STATE
    assert simulation.refused("unload_world")[0] is Reason.NO_WORLD_LOADED
    assert simulation.refused("set_state", SimulationState.PLAYING)[0] is Reason.INCORRECT_TRANSITION
    simulation.load_world(str(shipped_scene("drop_box")))
    simulation.set_state(SimulationState.PLAYING)
    assert control.state is SimulationState.PLAYING


def test_catalogue(tmp_path):
    """Shipped files and those of folders, which are named where they are none."""
    (tmp_path / "toy.urdf").write_text(BALL)
    (tmp_path / "notes.txt").write_text("")
    found, problems = spawnables([str(tmp_path), tmp_path.as_uri(), "nowhere", "/no/such"])
    assert {*shipped_robots(), "toy"} == {resource.name for resource in found}
    assert len(problems) == 2
    assert robot_file(next(r.uri for r in found if r.name == "toy")) == tmp_path / "toy.urdf"
    found, problems = worlds([])
    assert problems == []
    assert world_file("drop_box") in {resource.path for resource in found}


@pytest.mark.parametrize("name", ["box", "mug", "plate", "table", "cylinder"])
def test_shipped_objects_can_be_spawned(shared, name):
    spawned, _ = shared.spawn(SpawnRequest(uri=name, name=f"a_{name}", X_FE=FAR))
    assert Path(shared.control.world.entities[spawned].source).name.startswith(name)
    shared.delete(spawned)


def test_making_a_world_is_told_of():
    """Who ends the process meanwhile must not wait for the compiler, nor pull the interpreter from under it."""
    simulation, go_on, seen = Simulation(), Event(), []

    async def wait(future):
        seen.append(simulation.control.building)
        go_on.set()
        return future.result(600.0)

    def build():
        assert go_on.wait(60.0)
        return simulation.control.world

    simulation.control._wait = wait
    simulation._make(build, simulation.control.world)
    assert seen == [True]
    simulation.control._builders[-1].join(60.0)
    assert not simulation.control.building
    simulation.host.runner.stop()


@pytest.mark.parametrize("building", [False, True])
def test_the_process_leaves_a_compiler_behind(monkeypatch, capsys, building):
    """After its report, without the interpreter's own end."""
    left = []
    made = SimpleNamespace(
        simulation=SimpleNamespace(building=building), destroy_node=lambda: None, get_logger=lambda: None
    )
    monkeypatch.setattr(node_module, "_init", lambda _: None)
    monkeypatch.setattr(node_module, "SimulationNode", lambda *_: made)
    monkeypatch.setattr(node_module, "_serve", lambda *_: None)
    monkeypatch.setattr(node_module.os, "_exit", left.append)
    monkeypatch.setattr(node_module.sys, "setswitchinterval", lambda _: None)
    assert node_module.run([], Event()) == 0
    assert left == ([0] if building else [])
    assert ("interrupted while compiling" in capsys.readouterr().out) == building


# --- answers


@pytest.fixture
def answer_to(simulation, monkeypatch):
    """Answers of the services to a request, without a middleware; and what was logged as an error."""
    handlers, errors = {}, []
    node = SimpleNamespace(
        create_service=lambda _, name, handler, **__: handlers.__setitem__(name, handler),
        get_logger=lambda: SimpleNamespace(error=errors.append),
    )
    for packages in ("hydro_sim_srvs", "simulation_interfaces"):
        monkeypatch.setattr(optional, packages, None)
    ClientServices(node, simulation.control, Parameters(), SimpleNamespace(group=None))

    def call(name):
        coroutine = handlers[name](Trigger.Request(), Trigger.Response())
        with pytest.raises(StopIteration) as end:
            coroutine.send(None)
        return end.value.value, errors

    return call


@pytest.mark.parametrize(
    ("error", "is_fault"),
    [
        (Refused(Reason.NOT_FOUND, "there is none"), False),
        (InputError("scene", "arm", "is unknown", "correct it"), False),
        (FloatingPointError("no finite result"), False),
        (KeyError("finger_joint"), True),
    ],
)
def test_every_request_is_answered(simulation, answer_to, monkeypatch, error, is_fault):
    """With the reason; a fault of ours is told in the log too."""

    async def fail():
        raise error

    monkeypatch.setattr(simulation.control, "reset_all", fail)
    answer, errors = answer_to("~/reset")
    assert not answer.success
    assert str(error) in answer.message
    assert len(errors) == is_fault


def test_a_reset_that_kills_the_stepping_thread_is_answered(simulation, answer_to, monkeypatch):
    def fail(*_, **__):
        raise KeyError("finger_joint")

    monkeypatch.setattr(World, "reset", fail)
    answer, errors = answer_to("~/reset")
    assert not answer.success
    assert "finger_joint" in errors[0]
    assert isinstance(simulation.host.runner.error, KeyError)


# --- messages


def bounds(kind, *points):
    """Stands in for a ``Bounds`` message."""
    corners = [SimpleNamespace(x=x, y=y, z=z) for x, y, z in points]
    types = {"TYPE_EMPTY": 0, "TYPE_BOX": 1, "TYPE_CONVEX_HULL": 2, "TYPE_SPHERE": 3}
    return SimpleNamespace(type=kind, points=corners, **types)


def test_volumes_of_messages():
    """The upper corner of a box comes first; what encloses nothing is refused."""
    assert volume(bounds(0)) is None
    box = volume(bounds(1, (1, 2, 3), (0, 0, 0)))
    assert (box.lower.tolist(), box.upper.tolist()) == ([0, 0, 0], [1, 2, 3])
    ball = volume(bounds(3, (1, 2, 3), (4, 0, 0)))
    assert (ball.centre.tolist(), ball.radius) == ([1, 2, 3], 4.0)
    assert len(volume(bounds(2, (1, 0, 0), (0, 1, 0), (0, 0, 1))).points) == 3
    for bad in (
        bounds(1, (0, 0, 0), (1, 2, 3)),
        bounds(1, (0, 0, 0)),
        bounds(2, (0, 0, 0)),
        bounds(3, (0, 0, 0), (-1, 0, 0)),
        bounds(3, (math.nan, 0, 0), (1, 0, 0)),
        bounds(7),
    ):
        with pytest.raises(Refused):
            volume(bad)


@pytest.mark.parametrize(
    ("mode", "wanted", "passes"),
    [(0, [], True), (0, ["a", "x"], True), (0, ["x"], False), (1, ["a", "b"], True), (1, ["a", "x"], False)],
)
def test_tags_of_messages(mode, wanted, passes):
    """Any of them, or all."""
    wanted = SimpleNamespace(tags=wanted, filter_mode=mode, FILTER_MODE_ANY=0, FILTER_MODE_ALL=1)
    assert has_tags(["a", "b"], wanted) == passes


def test_resources_of_any_release():
    """Older releases have the uri in the message itself, or the world's under another name."""
    flat = SimpleNamespace(uri="a")
    assert resource_of(flat) is flat
    for name in ("entity_resource", "world_resource", "level_resource"):
        assert resource_of(SimpleNamespace(**{name: flat})) is flat


def test_a_spawned_robot_leaves_nothing_for_the_collector(simulation):
    """Its XML points at itself; of many robots the collector would stop the stepping thread for tens of ms."""
    gc.collect()
    simulation.spawn(SpawnRequest(uri="gen3_7dof_soft_bubble", allow_renaming=True))
    assert gc.collect() < 1000
