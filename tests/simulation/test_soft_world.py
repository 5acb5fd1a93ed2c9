"""A World with ``solver: {model: soft}`` against the array form, closed forms and its own copies."""

import pickle

import numpy as np
import pytest
import trimesh
import yaml

from hydro_sim_core import InputError, load_scene
from hydro_sim_core.contact.laws import SOFT_MINIMUM
from hydro_sim_core.drawing.focus import Focus
from hydro_sim_core.simulation.integrators.soft_friction import longest_friction_step
from hydro_sim_core.simulation.soft import soft_system

BOX = """<robot name="box"><link name="box"><inertial><mass value="0.2"/>
<inertia ixx="0.0005" iyy="0.0008" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><box size="0.2 0.15 0.08"/></geometry></collision></link></robot>"""
ARM = """<robot name="arm"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 0.15"/><mass value="0.5"/>
<inertia ixx="0.004" iyy="0.004" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial>
<collision name="tip"><origin xyz="0 0 0.3"/><geometry><sphere radius="0.03"/></geometry></collision></link>
<joint name="swing" type="revolute"><parent link="base"/><child link="rod"/><origin xyz="-0.25 0 0.3" rpy="0 2.6 0"/>
<axis xyz="0 1 0"/><dynamics damping="0.01"/><limit lower="-3" upper="3" effort="9" velocity="9"/></joint></robot>"""
WEIGHT = 0.2 * 9.81
SOFT = {"points": 24, "stiffness": 5e3}


@pytest.fixture
def scene(tmp_path):
    """Write a scene with a box on the ground, and the arm beside it if asked for; return its path."""

    def write(arm=False, solver=None, **changes):
        (tmp_path / "box.urdf").write_text(BOX)
        (tmp_path / "arm.urdf").write_text(ARM)
        models = [{"name": "box", "urdf": "box.urdf", "base": "floating", "pose": {"xyz": [0, 0, 0.041]}}]
        if arm:
            models.append({"name": "arm", "urdf": "arm.urdf"})
        content = {
            "name": "soft",
            "time_step": 0.001,
            "models": models,
            "environment": [{"name": "ground", "shape": {"half_space": {}}}],
            "solver": solver or {"model": "soft", "soft": SOFT},
            **changes,
        }
        path = tmp_path / "scene.yaml"
        path.write_text(yaml.safe_dump(content))
        return path

    return write


@pytest.mark.parametrize("scheme", ["euler", "rk4"])
def test_steps_are_those_of_the_array_form(scene, scheme):
    solver = {"model": "soft", "soft": {**SOFT, "scheme": scheme}}
    world = load_scene(scene(arm=True, solver=solver))
    system = soft_system(world)
    assert len(system.pairs) == 3
    rng = np.random.default_rng(1)
    for _ in range(4):
        q, v = world.q.copy(), rng.standard_normal(len(world.v))
        q[:7] += 0.02 * rng.standard_normal(7)
        q[:4] /= np.linalg.norm(q[:4])
        world.set_state(q, v)
        world.step()
        expected = system.step(q, v, np.zeros(len(v)), world.time_step, scheme)
        assert np.abs(world.v - v).max() > 0.01
        np.testing.assert_allclose(world.q, expected[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(world.v, expected[1], rtol=1e-12, atol=1e-12 * np.abs(world.v).max())


def test_a_box_rests_on_the_softplus_spring(scene):
    # As many as lie evenly beside the edges, so that the box is level.
    world = load_scene(scene(solver={"model": "soft", "soft": {**SOFT, "points": 22}}))
    world.step(600)
    (contact,) = world.contacts
    assert contact.law == SOFT_MINIMUM
    assert (contact.name_a, contact.name_b) in (("box", "ground"), ("ground", "box"))
    sign = 1.0 if contact.name_b == "box" else -1.0
    np.testing.assert_allclose(sign * contact.force_on_b, [0.0, 0.0, WEIGHT], atol=1e-4)
    gap, factor = world.q[6] - 0.04, 1.0 + 0.1**2 / 24
    np.testing.assert_allclose(5e3 * factor * 1e-3 * np.log1p(np.exp(-gap / 1e-3)), WEIGHT, rtol=1e-4)
    # Cells of the bottom, with their shares of the force.
    np.testing.assert_allclose(contact.centroids[:, 2], gap, atol=5e-5)
    np.testing.assert_allclose(np.abs(contact.normals[:, 2]), 1.0, atol=1e-6)
    np.testing.assert_allclose(contact.area, 0.2 * 0.15, rtol=1e-6)
    np.testing.assert_allclose(contact.areas @ contact.pressures, WEIGHT, rtol=1e-3)


def two_boxes(xyz):
    """Models of a box on the ground and one more with this place of its middle."""
    places = {"lower": [0.0, 0.0, 0.041], "other": xyz}
    return [
        {"name": name, "urdf": "box.urdf", "base": "floating", "prefix": f"{name}_", "pose": {"xyz": place}}
        for name, place in places.items()
    ]


@pytest.mark.parametrize("points", [24, 96, 256])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.02, 0.006)])
def test_a_box_stands_on_a_box(scene, points, shift):
    """Nothing but regularised friction lets it creep; with other clouds and twice the smoothing it fell off."""
    soft = {"model": "soft", "soft": {"points": points}}
    world = load_scene(scene(models=two_boxes([*shift, 0.1215]), solver=soft))
    world.step(800)
    np.testing.assert_allclose(world.q[11:13], shift, atol=1.2e-3)
    np.testing.assert_allclose(world.q[13], 0.122, atol=1e-3)
    before = world.q
    world.step(200)
    assert np.linalg.norm(world.q[11:13] - before[11:13]) < 1e-4


@pytest.mark.parametrize(
    ("time_step", "stiction_velocity", "is_told"),
    [(1e-3, 0.01, True), (1e-3, 0.02, True), (5e-4, 0.02, False), (1e-3, 0.05, False)],
)
def test_steps_too_long_for_friction_are_told(scene, caplog, time_step, stiction_velocity, is_told):
    """Five boxes: the lowest bears five weights on the ground and four above, on 1/2 kg of (5 + 4 + 4) mu g / v_s."""
    models = [
        {"name": f"b{i}", "urdf": "box.urdf", "base": "floating", "prefix": f"b{i}_"}
        | {"pose": {"xyz": [0.0, 0.0, 0.041 + 0.081 * i]}}
        for i in range(5)
    ]
    soft = {"points": 96, "scheme": "euler", "stiction_velocity": stiction_velocity}
    solver = {"model": "soft", "soft": soft}
    world = load_scene(scene(models=models, solver=solver, time_step=time_step))
    world.step(round(0.9 / time_step))
    speeds = []
    for _ in range(20):
        world.step()
        speeds.append(np.abs(world.v).max())
    told = [one.getMessage() for one in caplog.records if "friction under smooth" in one.getMessage()]
    longest = longest_friction_step(world.machine)
    if is_told:
        (words,) = told
        assert "give a shorter time_step" in words
    else:
        assert told == []
        assert max(speeds) < 4e-3
        mu = world.soft_pairs.parameters[0, 1]
        np.testing.assert_allclose(longest, 2.0 * stiction_velocity / (13.0 * mu * 9.81), rtol=0.1)


@pytest.mark.parametrize("points", [26, 96, 256])
def test_boxes_apart_leave_each_other_alone(scene, points):
    """Two boxes on the ground whose sides are 10 mm apart."""
    soft = {"model": "soft", "soft": {"points": points}}
    world = load_scene(scene(models=two_boxes([0.21, 0.0, 0.041]), solver=soft))
    world.step(200)
    np.testing.assert_allclose(world.q[[4, 5, 11, 12]], [0.0, 0.0, 0.21, 0.0], atol=1e-4)
    (between,) = (c for c in world.contacts if "ground" not in (c.name_a, c.name_b))
    assert np.linalg.norm(between.force_on_b) < 1e-3


def test_wrenches_balance_momentum(scene):
    """The mean wrenches of a step are what changes the momentum, also in the four stages of Runge and Kutta."""
    world = load_scene(scene())
    world.set_state([1.0, 0.01, 0.02, 0.0, 0.0, 0.0, 0.0405], [0.1, 0.2, 0.3, 0.1, -0.1, -0.3])
    before = world.v
    world.step()
    (contact,) = world.contacts
    sign = 1.0 if contact.name_b == "box" else -1.0
    change = 0.2 * (world.v - before)[3:]
    expected = 1e-3 * (sign * contact.force_on_b - [0.0, 0.0, WEIGHT])
    assert np.linalg.norm(change) > 1e-4
    np.testing.assert_allclose(change, expected, atol=1e-12)


def test_it_presses_before_it_touches_and_is_told_no_contact_beyond_reach(scene):
    world = load_scene(scene())
    world.set_state([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.045], np.zeros(6))
    world.step()
    assert 0.0 < np.linalg.norm(world.contacts[0].force_on_b) < 0.2
    world.set_state([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.1], np.zeros(6))
    world.step()
    assert world.contacts == []


def test_copies_and_pickles_go_on_alike(scene):
    world = load_scene(scene(arm=True))
    world.step(30)
    others = [world.copy(), pickle.loads(pickle.dumps(world))]
    for _ in range(20):
        world.step()
    for other in others:
        other.step(20)
        np.testing.assert_array_equal(other.q, world.q)
        np.testing.assert_array_equal(other.v, world.v)


def test_pairs_have_parameters_of_their_own(scene):
    own = {"links": ["rod", "box"], "stiffness": 800.0, "epsilon1": 3e-4}
    world = load_scene(scene(arm=True, solver={"model": "soft", "soft": {**SOFT, "pairs": [own]}}))
    found = {
        frozenset(world.built.colliders[i].link for i in pair): parameters
        for pair, parameters in zip(world.built.model.pairs, world.soft_pairs.parameters, strict=True)
    }
    assert found[frozenset(("rod", "box"))][[0, 4]].tolist() == [800.0, 3e-4]
    assert found[frozenset(("ground", "box"))][0] == 5e3


def test_drives_and_loads_act(scene):
    world = load_scene(scene(arm=True, actuators=[{"joints": ["swing"], "mode": "effort"}]))
    world.set_state([1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.2, 0.0], np.zeros(7))
    still = world.copy()
    world.set_command([0.5], "effort", ["swing"])
    world.apply_wrench("box", [0.0, 0.0, 0.0, 0.0, 0.5, 0.0])
    world.step(5)
    still.step(5)
    change = world.v - still.v
    np.testing.assert_allclose(change[4], 0.5 / 0.2 * 5e-3, rtol=1e-6)
    inertia = 0.004 + 0.5 * 0.15**2
    np.testing.assert_allclose(change[6], 0.5 / inertia * 5e-3, rtol=1e-2)


def test_markers_show_weights(scene):
    from hydro_sim_core.drawing.pressure_scale import PressureScale
    from hydro_sim_core.messages.contact_markers import ContactMarkers

    world = load_scene(scene())
    world.set_state([1.0, 0.0, 0.02, 0.0, 0.0, 0.0, 0.043], np.zeros(6))
    world.step()
    (contact,) = world.contacts
    markers = ContactMarkers(PressureScale(1e4), "world", Focus(np.zeros(3), 0.3))
    marker = markers._weight_marker("box on ground", [contact])
    alpha = marker.colours[: contact.num_faces, 3]
    shares = contact.areas * contact.pressures
    np.testing.assert_allclose(alpha, shares / shares.max(), rtol=1e-6)
    assert alpha.min() < 0.5  # tilted, so that one side presses more
    assert (marker.colours[contact.num_faces :, 3] == 0.0).all()
    assert b"weights/" in markers.encode([contact], (0, 0))


def test_a_cloud_too_coarse_for_its_body_is_told(scene, tmp_path, caplog):
    """Above a plate of 2 mm the nearest point is mostly one below if they lie farther apart than it is thick."""
    plate = scene(arm=True, solver={"model": "soft", "soft": {**SOFT, "points": 100}})
    (tmp_path / "box.urdf").write_text(BOX.replace("0.2 0.15 0.08", "0.2 0.2 0.002"))
    load_scene(plate)
    (record,) = (one for one in caplog.records if one.name.endswith("soft_pairs"))
    words = record.getMessage()
    assert "scene.yaml: " in words
    assert "'box'" in words
    assert "(100 points)" in words
    assert "outside an edge, a tip or something thin" in words
    assert "raise solver.soft.points" in words
    assert "rod" not in words


def test_clouds_are_judged_by_the_temperature_of_their_pairs(scene, caplog):
    """What is averaged over more than a body is wide has lost its sides."""
    load_scene(scene())
    assert caplog.records == []
    load_scene(scene(solver={"model": "soft", "soft": {**SOFT, "epsilon1": 0.3**2}}))
    assert "wrong sign" in caplog.text


@pytest.mark.parametrize(
    ("solver", "words"),
    [
        ({"model": "soft", "soft": {"points": 3}}, "points"),
        ({"model": "soft", "soft": {"epsilon1": 0.0}}, "epsilon1"),
        ({"model": "soft", "soft": {"epsilon2": -1.0}}, "epsilon2"),
        ({"model": "soft", "soft": {"damping_blend": 1.0}}, "damping_blend"),
        ({"model": "soft", "soft": {"damping_blend": 1e-320}}, "give 0, or 1e-06 to 0.999"),
        ({"model": "soft", "soft": {"epsilon1": 5e-324}}, "solver.soft.epsilon1"),
        ({"model": "soft", "soft": {"epsilon1": 1e300}}, "solver.soft.epsilon1"),
        ({"model": "soft", "soft": {"epsilon3": 1e-320}}, "solver.soft.epsilon3"),
        (
            {"model": "soft", "soft": {"pairs": [{"links": ["box", "ground"], "epsilon2": 1e-320}]}},
            "epsilon2",
        ),
        ({"model": "soft", "soft": {"stiction_velocity": 1e-200}}, "solver.soft.stiction_velocity"),
        ({"model": "soft", "stiction_speed": 1e-3}, "stiction_velocity"),
        ({"model": "soft", "accuracy": 1e-4}, "accuracy"),
        ({"soft": {"points": 30}}, "soft does nothing with integrator fixed"),
        ({"model": "soft", "soft": {"pairs": [{"links": ["box", "nothing"]}]}}, "'nothing' is no link"),
        (
            {"model": "soft", "soft": {"pairs": [{"links": ["box", "box"]}]}},
            "pairs.0: pairs 'box' with itself",
        ),
        (
            {
                "model": "soft",
                "soft": {"pairs": [{"links": ["box", "ground"]}, {"links": ["ground", "box"]}]},
            },
            "pairs.1: has 'ground' and 'box' again; keep one; the other is in pairs.0",
        ),
        ({"model": "soft", "soft": {"points": 5}}, "6 regions"),
    ],
)
def test_bad_settings_are_named(scene, solver, words):
    with pytest.raises(InputError) as error:
        load_scene(scene(solver=solver))
    assert words in str(error.value)


def test_a_mesh_with_a_part_inside_out_is_refused(scene, tmp_path):
    """One that lies in no other part; the mesh as a whole has a positive volume."""
    path = scene(contact={"defaults": {"compliance": "rigid"}})
    cubes = [trimesh.creation.box((side, side, side)) for side in (0.1, 0.05)]
    cubes[1].apply_translation([0.2, 0.0, 0.0])
    cubes[1].invert()
    trimesh.util.concatenate(cubes).export(tmp_path / "two.stl")
    (tmp_path / "box.urdf").write_text(BOX.replace('box size="0.2 0.15 0.08"', 'mesh filename="two.stl"'))
    with pytest.raises(InputError, match=r"'box', .*inside out in a part about \(0\.2, 0, 0\) m"):
        load_scene(path)


def test_an_overflow_stops_at_the_last_good_step(scene):
    world = load_scene(scene(solver={"model": "soft", "soft": {**SOFT, "stiffness": 1e12}}))
    world.set_state([1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.03], np.zeros(6))
    with pytest.raises(FloatingPointError, match=r"lower solver\.soft\.stiffness"):
        world.step(2000)
    assert np.isfinite(world.q).all()
    assert np.isfinite(world.v).all()


def test_the_array_form_of_another_world_is_refused(scene):
    with pytest.raises(InputError, match="is not soft"):
        soft_system(load_scene(scene(solver={"model": "lagged"})))
