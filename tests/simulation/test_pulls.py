"""Links are pulled by springs: what follows is that of Newton, of Hooke and of an implicit step, for every solver."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.simulation.world.pulls import PULL_FREQUENCY, Pull

CONVEX = ("lagged", "similar", "sap", "tamsi")
TARGET = np.array([0.1, -0.05, 0.2])
POINT = np.array([0.02, 0.01, -0.03])
MASS = 0.5


def free_body(solver="lagged", gravity=0.0, time_step=1e-3, **body):
    scene = hs.SceneBuilder(gravity=(0, 0, -gravity), solver=solver, time_step=time_step)
    body = {"mass": MASS, "inertia": (0.01, 0.01, 0.01)} | body
    scene.add_body("body", **body).add_shape("sphere", radius=0.05)
    return hs.World(scene.build())


def arm(solver="lagged", time_step=1e-3):
    """Two links that turn, a third that mimics the second, and a tip that is no body of its own."""
    scene = hs.SceneBuilder(gravity=(0, 0, -9.81), solver=solver, time_step=time_step)
    model = scene.add_model("arm", positions={"shoulder": 0.4, "elbow": -0.9})
    model.add_link("base")
    for name in ("upper", "lower", "hand"):
        model.add_link(name, mass=1.0).add_shape("capsule", radius=0.03, length=0.3, xyz=(0, 0, 0.15))
    model.add_link("tip")
    model.add_joint("shoulder", "continuous", "base", "upper", rpy=(0.3, 0, 0), axis=(0, 1, 0))
    model.add_joint("elbow", "continuous", "upper", "lower", xyz=(0, 0, 0.3), axis=(1, 0, 0))
    model.add_joint(
        "wrist", "continuous", "lower", "hand", xyz=(0, 0, 0.3), axis=(0, 1, 0), mimic="elbow", multiplier=0.5
    )
    model.add_joint("flange", "fixed", "hand", "tip", xyz=(0.05, 0, 0.3), rpy=(0.2, 0.1, 0))
    return hs.World(scene.build())


def force_on(world, link):
    (pull,) = (pull for pull in world.pulls if pull.link == link)
    row = world.frame_names.index(link)
    return pull.force(world.frame_poses()[row], world.frame_twists()[row])


def point_jacobian(world, link, point):
    """Jacobian (3, nv) of a point of a link: that of the link's origin, and the turn about it."""
    J, arm = world.frame_jacobian(link), world.frame_pose(link)[:3, :3] @ point
    return J[3:] - np.cross(arm, J[:3].T).T


@pytest.mark.parametrize("solver", CONVEX)
@pytest.mark.parametrize(("stiffness", "damping"), [(30.0, 0.0), (30.0, 5.0), (1e7, 100.0)])
def test_a_free_body_moves_as_an_implicit_step_says(solver, stiffness, damping):
    """M a = F with the force at the end of the step, which is told: m (v1 - v0) = h (k (t - p1) - d v1)."""
    world, h = free_body(solver, time_step=0.01), 0.01
    world.place("body", V_WB=[0, 0, 0, 0.3, 0.1, -0.2])
    world.pull("body", (0, 0, 0), TARGET, stiffness, damping)
    p, v = np.zeros(3), world.v[3:]
    for _ in range(5):
        v = (MASS * v + h * stiffness * (TARGET - p)) / (MASS + h * (damping + h * stiffness))
        p = p + h * v
        before = world.v[3:]
        world.step()
        np.testing.assert_allclose(world.v[3:], v, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(world.frame_pose("body")[:3, 3], p, rtol=1e-9)
        moved = MASS * (world.v[3:] - before) / h
        np.testing.assert_allclose(force_on(world, "body"), moved, rtol=1e-6, atol=stiffness * 1e-9)
    assert not world.v[:3].any()


def test_without_look_ahead_it_is_the_oscillator_of_the_textbook():
    world = free_body("continuous")
    world.pull("body", (0, 0, 0), (0.1, 0, 0), 40.0, 0.0)
    for _ in range(3):
        world.step(100)
        w = np.sqrt(40.0 / MASS) * world.time
        expected = [0.1 - 0.1 * np.cos(w), 0.1 * np.sqrt(40.0 / MASS) * np.sin(w)]
        np.testing.assert_allclose([world.frame_pose("body")[0, 3], world.v[3]], expected, rtol=2e-4)


@pytest.mark.parametrize("solver", [*CONVEX, "continuous"])
@pytest.mark.parametrize("link", ["upper", "lower", "tip"])
def test_a_pull_acts_by_the_jacobian_of_its_point(solver, link):
    """From rest, M a + bias = J^T F; of a mimicking link too, and of one that is welded to it."""
    world = arm(solver)
    J = point_jacobian(world, link, POINT)
    p = world.frame_pose(link)[:3, 3] + world.frame_pose(link)[:3, :3] @ POINT
    world.pull(link, POINT, p + TARGET, 50.0, 0.0)
    np.testing.assert_allclose(force_on(world, link), 50.0 * TARGET, rtol=1e-12)
    expected = np.linalg.solve(world.mass_matrix(), J.T @ (50.0 * TARGET) - world.bias_forces())
    world.step()
    np.testing.assert_allclose(world.v / world.time_step, expected, rtol=3e-3, atol=1e-2)


def test_a_stiff_pull_is_a_part_of_the_step_matrix():
    """(M + h (d + h k) J^T J) v = h (J^T k (t - p) - bias): a step goes the way that a stiff spring leaves."""
    world, h, k, d = arm(time_step=0.01), 0.01, 1e6, 300.0
    J = point_jacobian(world, "tip", POINT)
    p = world.frame_pose("tip")[:3, 3] + world.frame_pose("tip")[:3, :3] @ POINT
    A, b = world.mass_matrix() + h * (d + h * k) * J.T @ J, world.bias_forces()
    world.pull("tip", POINT, p + 0.01 * TARGET, k, d)
    world.step()
    # Coriolis forces at the middle of the step are the rest.
    np.testing.assert_allclose(world.v, np.linalg.solve(A, h * (J.T @ (k * 0.01 * TARGET) - b)), rtol=1e-3)


@pytest.mark.parametrize("solver", ["lagged", "continuous"])
def test_a_weight_sags_by_m_g_over_k(solver):
    world = free_body(solver, gravity=9.81)
    world.pull("body", (0, 0, 0), (0, 0, 0), 100.0, 14.0)
    world.step(1200)
    assert world.frame_pose("body")[2, 3] == pytest.approx(-MASS * 9.81 / 100.0, rel=1e-5)
    np.testing.assert_allclose(force_on(world, "body"), [0, 0, MASS * 9.81], rtol=1e-4, atol=1e-9)


def test_by_default_every_mass_sags_alike():
    for mass in (0.01, 50.0):
        world = free_body(gravity=9.81, mass=mass, inertia=(0.02 * mass, 0.02 * mass, 0.02 * mass))
        world.pull("body", (0, 0, 0), (0, 0, 0))
        assert world.pulls[0].stiffness == pytest.approx(mass * PULL_FREQUENCY**2, rel=1e-12)
        world.step(1500)
        assert world.frame_pose("body")[2, 3] == pytest.approx(-9.81 / PULL_FREQUENCY**2, rel=1e-5)


def test_the_default_spring_is_that_of_the_mass_that_the_point_moves():
    world = arm()
    J = point_jacobian(world, "tip", POINT)
    mobility = np.trace(J @ np.linalg.solve(world.mass_matrix(), J.T)) / 3.0
    world.pull("tip", POINT, TARGET)
    assert world.pulls[0].stiffness == pytest.approx(PULL_FREQUENCY**2 / mobility, rel=1e-9)
    assert world.pulls[0].damping == pytest.approx(2.0 * PULL_FREQUENCY / mobility, rel=1e-9)
    # Beside the shoulder's axis a push moves next to nothing: the mass is then that of the arm.
    world.pull("upper", (0, 0, 1e-9), TARGET)
    assert world.pulls[0].stiffness == pytest.approx(PULL_FREQUENCY**2 * 3.0, rel=1e-12)


@pytest.mark.parametrize("stiffness", [1e2, 1e6, 1e11])
@pytest.mark.parametrize("make", [free_body, arm])
def test_steps_of_10_ms_with_any_stiffness_never_gain_energy(make, stiffness):
    """Without damping, from 0.2 m away: what a spring and a weight hold is not exceeded, and does not last."""
    world = make(time_step=0.01)
    link = world.frame_names[-1]
    p = world.frame_pose(link)[:3, 3] + world.frame_pose(link)[:3, :3] @ POINT
    world.pull(link, POINT, p + 0.2 * TARGET / np.linalg.norm(TARGET), stiffness, 0.0)
    spring = 0.5 * stiffness * 0.2**2
    weight = world.energies().potential
    for _ in range(300):
        world.step()
        energies = world.energies()
        assert energies.kinetic + energies.potential - weight < 1.001 * spring
    stretch = np.linalg.norm(force_on(world, link)) / stiffness
    assert 0.5 * stiffness * stretch**2 + energies.kinetic < spring


def test_spring_weight_and_motion_keep_their_energy():
    world = arm("continuous")
    p = world.frame_pose("tip")[:3, 3]
    world.pull("tip", (0, 0, 0), p + TARGET, 60.0, 0.0)
    held = []
    for _ in range(6):
        stretch = np.linalg.norm(force_on(world, "tip")) / 60.0
        held.append([world.energies().total, 0.5 * 60.0 * stretch**2])
        world.step(50)
    total = np.sum(held, axis=1)
    assert np.ptp(held, axis=0).min() > 0.3  # J that change hands
    np.testing.assert_allclose(total, total[0], atol=2e-3)


@pytest.mark.parametrize("solver", ["lagged", "continuous"])
def test_a_carried_link_stays_at_the_target_while_its_carrier_moves_on(solver):
    """The velocity that the carrier prescribes is a part of the point's: nothing lags behind."""
    scene = hs.SceneBuilder(gravity=(0, 0, 0), solver=solver)
    model = scene.add_model("cart", base="kinematic")
    model.add_link("rail").add_shape("box", size=(0.1, 0.1, 0.1))
    model.add_link("slider", mass=0.3).add_shape("box", size=(0.1, 0.1, 0.1))
    model.add_joint("slide", "prismatic", "rail", "slider", axis=(1, 0, 0), lower=-9, upper=9)
    world = hs.World(scene.build())
    world.move("cart", V_WB=[0, 0, 0, 0.4, 0, 0])
    world.pull("slider", (0, 0, 0), (0.1, 0, 0), 200.0, 15.0)
    world.step(800)
    assert world.frame_pose("rail")[0, 3] == pytest.approx(0.32, rel=1e-6)
    assert world.frame_pose("slider")[0, 3] == pytest.approx(0.1, abs=1e-6)


def test_a_pull_elsewhere_changes_nothing():
    """But the last digits of what the solver was left to guess, as for contacts elsewhere."""
    worlds = []
    for _ in range(2):
        scene = hs.SceneBuilder(gravity=(0, 0, 0))
        scene.add_body("body", mass=0.5, inertia=(0.01, 0.02, 0.03)).add_shape("sphere", radius=0.05)
        scene.add_body("other", mass=1.0, inertia=(1, 1, 1), xyz=(9, 0, 0)).add_shape("sphere", radius=0.05)
        worlds.append(hs.World(scene.build()))
        worlds[-1].place("body", V_WB=[0.1, 20, 0.1, 0, 0, 0])
    worlds[0].pull("other", (0, 0, 0), TARGET)
    for world in worlds:
        world.step(1000)
    np.testing.assert_allclose(*(world.frame_pose("body") for world in worlds), atol=1e-12)
    assert np.linalg.norm(worlds[0].frame_pose("other") - worlds[1].frame_pose("other")) > 1.0


def test_letting_go_ends_it():
    world = free_body()
    world.pull("body", POINT, TARGET)
    world.pull("body", POINT, 2 * TARGET)
    assert [pull.target for pull in world.pulls] == [tuple(2 * TARGET)]
    world.step(20)
    world.let_go("body")
    world.let_go("body")
    assert world.pulls == ()
    before = world.v[3:]
    world.step(20)
    np.testing.assert_allclose(world.v[3:], before, rtol=1e-9)


def test_copies_states_files_and_resets_have_it(tmp_path):
    world = arm()
    world.pull("tip", POINT, TARGET, 80.0, 1.0)
    world.step(5)
    saved = world.save_state()
    saved.write(tmp_path / "state.json")
    others = [world.copy(), pickle.loads(pickle.dumps(world)), arm()]
    others[2].load_state(tmp_path / "state.json")
    edited = arm()
    edited.take_over(world)
    world.step(20)
    for other in [*others, edited]:
        assert other.pulls == (Pull("tip", tuple(POINT), tuple(TARGET), 80.0, 1.0),)
        other.step(20)
        np.testing.assert_array_equal(other.q, world.q)
        other.let_go("tip")
    assert world.pulls
    end = world.q
    world.let_go("tip")
    world.restore_state(saved)
    world.step(20)
    np.testing.assert_array_equal(world.q, end)
    world.reset()
    assert world.pulls == ()


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('"num_pulls": [\n   1', '"num_pulls": [\n   0', r"loads\.num_pulls: does not fit"),
        ("80.0", "-80.0", r"loads\.pull: holds a negative"),
        ("80.0", "1e300", r"loads\.pull: holds 1e\+300"),
    ],
)
def test_a_file_with_an_impossible_spring_is_refused(tmp_path, old, new, says):
    world = arm()
    world.pull("tip", POINT, TARGET, 80.0, 1.0)
    world.save_state().write(tmp_path / "state.json")
    text = (tmp_path / "state.json").read_text()
    assert text.count(old) == 1
    (tmp_path / "state.json").write_text(text.replace(old, new))
    with pytest.raises(hs.InputError, match=says):
        arm().load_state(tmp_path / "state.json")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("tipp", POINT, TARGET), "link 'tipp': is not in the scene; did you mean 'tip'?"),
        (("base", POINT, TARGET), "link 'base': is fixed to the world"),
        (("tip", POINT[:2], TARGET), "point: has shape (2,)"),
        (("tip", POINT, [np.nan] * 3), "target: holds NaN"),
        (("tip", POINT, [0, 0, 2e6]), "is farther than 1e+06 m"),
        (("tip", POINT, TARGET, 0.0), "stiffness: is 0"),
        (("tip", POINT, TARGET, -1.0), "stiffness: is -1"),
        (("tip", POINT, TARGET, 1e13), "stiffness: is 1e+13"),
        (("tip", POINT, TARGET, np.inf), "stiffness: holds NaN or infinity"),
        (("tip", POINT, TARGET, 1.0, -1.0), "damping: is -1"),
        (("tip", POINT, TARGET, "hard"), "stiffness: is not an array"),
    ],
)
def test_what_pulls_nothing_is_refused(arguments, says):
    world = arm()
    for attempt in (world.check_pull, world.pull):
        with pytest.raises(hs.InputError) as caught:
            attempt(*arguments)
        assert says in str(caught.value)
    assert world.pulls == ()


def test_what_no_force_moves_is_not_pulled():
    scene = hs.SceneBuilder()
    scene.add_model("plate", base="kinematic").add_link("plate").add_shape("box", size=(1, 1, 0.1))
    scene.add_body("body", mass=1.0, xyz=(0, 0, 1)).add_shape("sphere", radius=0.05)
    world = hs.World(scene.build())
    assert world.pullable_links == ("body",)
    with pytest.raises(hs.InputError, match="link 'plate': moves as it is told"):
        world.pull("plate", POINT, TARGET)
