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

from hydro_sim import node as node_module
from hydro_sim.simulation_control.catalogue import robot_file, spawnables, world_file, worlds
from hydro_sim.simulation_control.control import SimulationControl, SimulationState
from hydro_sim.simulation_control.refusals import Reason, Refused
from hydro_sim.simulation_control.spawning import SpawnRequest
from hydro_sim_core.assets import shipped_robots
from hydro_sim_core.description.poses import pose
from hydro_sim_core.description.scene_urdf import scene_urdf
from hydro_sim_core.simulation.scenes import shipped_scene
from support.ros.meanwhile import do_meanwhile
from support.ros.simulation_bench import Simulation
from support.ros.spawned_models import BALL, WHEEL

FAR = pose((0, 0, 30))


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


def test_what_is_spawned_is_whole_in_the_description(simulation, capfd):
    """Also in shapes that URDF lacks: urdfdom, which drops them, says nothing and has a mesh instead."""
    pin = pytest.importorskip("pinocchio")
    shape = '<geometry><drake:ellipsoid a="0.02" b="0.03" c="0.04"/></geometry>'
    skin = f'<link name="rim"><visual>{shape}</visual><collision>{shape}</collision>'
    text = WHEEL.replace('<link name="rim">', skin).replace("<robot ", '<robot xmlns:drake="x" ', 1)
    simulation.spawn(SpawnRequest(text=text, name="cart", X_FE=FAR))
    description = scene_urdf(simulation.control.world.scene, "world", collisions=True)
    model = pin.buildModelFromXML(description)
    assert model.existFrame("cart/rim")
    shapes = [pin.buildGeomFromUrdfString(model, description, kind) for kind in (pin.VISUAL, pin.COLLISION)]
    for found in shapes:
        (mesh,) = (each for each in found.geometryObjects if each.name.startswith("cart/rim"))
        mesh.geometry.computeLocalAABB()
        np.testing.assert_allclose(mesh.geometry.aabb_local.max_, (0.02, 0.03, 0.04), rtol=1e-3)
    assert capfd.readouterr() == ("", "")


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


def test_a_description_names_its_srdf(simulation, tmp_path):
    """A request has no place for one; what it disables does not touch, under the names that spawning gives."""
    srdf = tmp_path / "ball.srdf"
    srdf.write_text('<robot name="ball"><disable_default_collisions link="ball"/></robot>')
    text = BALL.replace(
        "</robot>", f'<hydro:srdf xmlns:hydro="urn:hydro-sim" filename="{srdf.as_uri()}"/></robot>'
    )
    simulation.spawn(SpawnRequest(text=text, name="ghost", X_FE=FAR))
    assert simulation.control.world.scene.robots[-1].srdf.quiet == ("ghost/ball",)
    missing = text.replace("ball.srdf", "none.srdf")
    reason, message = simulation.refused("spawn", SpawnRequest(text=missing, name="other", X_FE=FAR))
    assert reason is Reason.MISSING_ASSETS
    assert "none.srdf' names no file" in message


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


def test_reset_may_let_the_time_go_on():
    """Everything else is at its start, in an epoch of its own; whoever asks for the time gets it back."""
    went_back = []
    simulation = Simulation()
    control = simulation.control = SimulationControl(
        *(simulation.host, simulation.wait, lambda: None, "map"), lambda: False, went_back.append
    )
    try:
        simulation.delete("ground")
        simulation.step(20)
        epoch = control.snapshot.epoch
        simulation.reset_all()
        assert simulation.names == ("box", "ground")
        assert (control.snapshot.step, control.snapshot.epoch) == (20, epoch + 1)
        assert control.snapshot.entities.pose("box")[2, 3] == pytest.approx(0.145)
        simulation.step(5)
        simulation.reset_all()
        assert (control.snapshot.step, control.snapshot.epoch) == (25, epoch + 2)
        assert control.snapshot.entities.pose("box")[2, 3] == pytest.approx(0.145)
        assert went_back == []
        simulation.reset_all(time=True)
        assert (control.snapshot.step, control.snapshot.epoch) == (0, epoch + 3)
        assert went_back == [pytest.approx(0.025)]
    finally:
        simulation.host.runner.stop()


def test_an_edit_that_comes_second_is_made_anew(simulation):
    """Two changes at once are both carried out, whichever is ready first."""
    do_meanwhile(
        simulation.control, lambda: simulation.spawn(SpawnRequest(text=BALL, name="quick", X_FE=FAR))
    )
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


@pytest.mark.heavy(3)
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
    assert ("interrupted while loading" in capsys.readouterr().out) == building


def test_a_spawned_robot_leaves_nothing_for_the_collector(simulation):
    """Its XML points at itself; of many robots the collector would stop the stepping thread for tens of ms."""
    gc.collect()
    simulation.spawn(SpawnRequest(uri="gen3_7dof_soft_bubble", allow_renaming=True))
    assert gc.collect() < 1000
