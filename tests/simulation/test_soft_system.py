"""Forward and inverse dynamics, steps and rollouts under smooth contact, with derivatives by JAX."""

import subprocess
import sys
from dataclasses import replace

import array_api_strict
import numpy as np
import pytest

from hydro_sim_core import InputError, geometry, load_urdf
from hydro_sim_core.contact.soft_distance import (
    OrientedCloud,
    SoftContactModel,
    cloud_of_geometry,
    contact_wrench,
)
from hydro_sim_core.contact.soft_distance import cloud as cloud_module
from hydro_sim_core.contact.soft_distance.cloud import SMOOTHED
from hydro_sim_core.contact.soft_distance.force import PARAMETERS
from hydro_sim_core.description.scene_soft import SoftSettings
from hydro_sim_core.dynamics import TreeEvaluator
from hydro_sim_core.simulation.soft import SoftPair, SoftSystem
from support.contact_models.clouds import sphere_cloud
from support.contact_models.memory import peak_memory

ARM = """<robot name="arm"><link name="base"/>
<link name="upper"><inertial><origin xyz="0 0 0.1"/><mass value="0.6"/>
  <inertia ixx="0.004" iyy="0.004" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="tip"><inertial><origin xyz="0 0 0.1"/><mass value="0.3"/>
  <inertia ixx="0.003" iyy="0.003" izz="0.001" ixy="0.0002" ixz="0" iyz="0"/></inertial></link>
<link name="box"><inertial><mass value="0.4"/>
  <inertia ixx="0.001" iyy="0.0012" izz="0.0008" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
  <dynamics damping="0.05"/><limit lower="-3" upper="3" effort="99" velocity="99"/></joint>
<joint name="elbow" type="revolute"><parent link="upper"/><child link="tip"/><origin xyz="0 0 0.2"/><axis xyz="1 0 0"/>
  <limit lower="-3" upper="3" effort="99" velocity="99"/></joint>
<joint name="free" type="floating"><parent link="base"/><child link="box"/></joint></robot>"""
PUSH = SoftContactModel(3e3, 0.5, 0.4, 0.05, 4e-4, 2e-3, 2e-3)
GROUND = SoftContactModel(6e3, 0.3, 0.3, 0.02, 1e-4, 1e-3, 1e-3)
DT = 2e-3


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    """An arm with a ball at its tip beside a free box, above the ground."""
    path = tmp_path_factory.mktemp("robot") / "arm.urdf"
    path.write_text(ARM)
    tree = load_urdf(path).built.model.tree
    ball, box = sphere_cloud(0.03, 12), cloud_of_geometry(geometry.box(0.1, 0.08, 0.06), 18)
    ball = OrientedCloud(ball.points + np.array([0.0, 0.0, 0.2]), ball.normals)
    clouds = (OrientedCloud.half_space(), ball, box)
    return SoftSystem(tree, clouds, (-1, 2, 1), (SoftPair(1, 2, PUSH), SoftPair(0, 2, GROUND)))


@pytest.fixture(scope="module")
def state(system):
    """The ball about 1 mm in the box, both in motion."""
    # Coordinates of the shoulder, the box and the elbow.
    q = np.array([0.3, 0.98, 0.1, -0.05, 0.03, 0.0, 0.0, 0.0, -0.2])
    q[5:8] = system.points(q, 1).mean(axis=0) + np.array([0.075, 0.01, 0.005])
    return q, np.array([0.4, 0.5, 0.2, -0.4, 0.1, -0.2, 0.05, -0.3])


def test_contact_forces_are_those_of_wrenches_through_jacobians(system, state):
    q, v = state
    kernels = TreeEvaluator(system.tree).update(q)
    expected = np.zeros(len(v))
    for pair in system.pairs:
        bodies = [system.bodies[pair.a], system.bodies[pair.b]]
        poses = [kernels.body_pose(body) if body >= 0 else np.eye(4) for body in bodies]
        jacobians = [
            kernels.point_jacobian(body, X[:3, 3]) if body >= 0 else np.zeros((6, len(v)))
            for body, X in zip(bodies, poses, strict=True)
        ]
        a, b = system.clouds[pair.a], system.clouds[pair.b]
        wrench = contact_wrench(a, poses[0], jacobians[0] @ v, b, poses[1], jacobians[1] @ v, pair.model)
        arm = poses[1][:3, 3] - poses[0][:3, 3]
        on_a = -np.r_[wrench[:3] + np.cross(arm, wrench[3:]), wrench[3:]]
        expected += jacobians[1].T @ wrench + jacobians[0].T @ on_a
    assert np.abs(expected).max() > 1.0
    np.testing.assert_allclose(system.contact_forces(q, v), expected, rtol=1e-11, atol=1e-11)


def test_equation_21_with_the_jacobians_of_points(system, state):
    """The sum of J_i^T lambda over the points, as the paper writes it, with reactions at the points."""
    q, v = state
    for cloud in (1, 2):
        J = system.point_jacobians(q, cloud)
        h = 1e-6
        from hydro_sim_core.dynamics.array_form import integrated

        ahead, behind = (system.points(integrated(system.tree, q, v, t), cloud) for t in (h, -h))
        np.testing.assert_allclose(J @ v, (ahead - behind) / (2 * h), atol=1e-8)
        np.testing.assert_array_equal(system.point_velocities(q, v, cloud), J @ v)


def test_inverse_dynamics_undoes_forward_dynamics(system, state):
    q, v = state
    tau = np.linspace(-1.0, 1.0, len(v))
    acceleration = system.forward(q, v, tau)
    np.testing.assert_allclose(system.inverse(q, v, acceleration), tau, atol=1e-11)
    kernels = TreeEvaluator(system.tree).update(q)
    right = tau - kernels.bias_forces(v) - system.tree.damping * v + system.contact_forces(q, v)
    np.testing.assert_allclose(kernels.mass_matrix() @ acceleration, right, atol=1e-10)


@pytest.mark.parametrize(("scheme", "order"), [("euler", 1), ("rk4", 4)])
def test_steps_converge_with_their_order(system, state, scheme, order):
    ends = []
    for steps in (10, 20, 40):
        dt = 0.01 / steps
        qs, vs = system.rollout(*state, np.zeros((steps, len(state[1]))), dt, scheme)
        ends.append(np.r_[qs[-1], vs[-1]])
    ratio = np.linalg.norm(ends[0] - ends[1]) / np.linalg.norm(ends[1] - ends[2])
    assert abs(np.log2(ratio) - order) < 0.25


def test_a_box_comes_to_rest_where_the_spring_carries_it(system):
    q = np.array([0.2, 1.0, 0.0, 0.0, 0.0, -0.5, 0.0, 0.0303, 0.3])
    ground = replace(system, pairs=system.pairs[1:])
    qs, vs = ground.rollout(q, np.zeros(8), np.zeros((150, 8)), DT)
    assert np.abs(vs[-1][1:7]).max() < 2e-3  # the box has come to rest
    depth = 0.03 - qs[-1][7]
    # Its weight rests on the softplus spring, at damping factor 1 + 0.1^2 / 24 and with even weights.
    pressed = 1e-3 * np.log1p(np.exp(depth / 1e-3)) * GROUND.stiffness * (1 + 0.01 / 24)
    np.testing.assert_allclose(pressed, 0.4 * 9.81, rtol=1e-2)


def test_blocks_change_nothing_but_the_memory_that_is_needed(system, state, monkeypatch):
    ball = sphere_cloud(0.03, 400)
    ball = OrientedCloud(ball.points + np.array([0.0, 0.0, 0.2]), ball.normals)
    many = system.with_clouds([system.clouds[0], ball, sphere_cloud(0.05, 300)])
    whole = many.contact_forces(*state)
    needed = peak_memory(lambda: many.contact_forces(*state))
    monkeypatch.setattr(cloud_module, "_PAIRS_A_BLOCK", 2000)
    np.testing.assert_allclose(many.contact_forces(*state), whole, rtol=1e-12, atol=1e-12)
    assert peak_memory(lambda: many.contact_forces(*state)) < 0.1 * needed


def test_any_array_library_will_do(system, state):
    xp = array_api_strict
    q, v = (xp.asarray(part) for part in state)
    strict = system.as_arrays_of(xp)
    after = strict.step(q, v, xp.asarray(np.zeros(8)), DT)
    expected = system.step(*state, np.zeros(8), DT)
    for part, same in zip(after, expected, strict=True):
        np.testing.assert_allclose(np.asarray(part), same, rtol=1e-12, atol=1e-12)


@pytest.fixture(scope="module")
def jax():
    library = pytest.importorskip("jax", reason="JAX is not installed: it needs NumPy 2")
    library.config.update("jax_enable_x64", True)
    return library


def test_jax_gives_the_same_numbers(system, state, jax):
    jnp = jax.numpy
    twin = system.as_arrays_of(jnp)
    efforts = 0.1 * np.random.default_rng(2).standard_normal((5, 8))
    for scheme in ("euler", "rk4"):
        expected = system.rollout(*state, efforts, DT, scheme)
        found = jax.jit(lambda q, v, u, scheme=scheme: twin.rollout(q, v, u, DT, scheme))(*state, efforts)
        for part, same in zip(found, expected, strict=True):
            np.testing.assert_allclose(part, same, rtol=1e-11, atol=1e-12)


def central(function, x, h):
    """Derivatives of an array by central differences of fourth order, along the last axis."""
    rows = []
    for e in np.eye(len(x)):
        f = [np.asarray(function(x + k * h * e)) for k in (-2, -1, 1, 2)]
        rows.append((f[0] - 8.0 * f[1] + 8.0 * f[2] - f[3]) / (12.0 * h))
    return np.stack(rows, axis=-1)


def close(found, expected, tolerance=1e-6):
    """Within the tolerance of the largest entry."""
    np.testing.assert_allclose(found, expected, atol=tolerance * np.abs(expected).max(), rtol=0.0)


def test_gradients_and_hessians_of_the_force_are_those_of_central_differences(system, state, jax):
    """In contact, and 2 cm before it, where they must not be zero."""
    twin, count = system.as_arrays_of(jax.numpy), len(state[0])

    def force(x):
        return twin.contact_forces(x[:count], x[count:])

    value, gradient = jax.jit(force), jax.jit(jax.jacfwd(force))
    hessian = jax.jit(jax.jacfwd(jax.jacfwd(force)))
    for lift in (0.0, 0.02):
        x = np.concatenate(state)
        x[5] += lift
        close(gradient(x), central(value, x, 1e-5))
        assert np.abs(gradient(x)[:1, 5]).max() > 1e-9
        second = np.asarray(hessian(x))
        close(second, central(gradient, x, 1e-5))
        np.testing.assert_allclose(second, np.swapaxes(second, 1, 2), atol=1e-9 * np.abs(second).max())


def test_second_derivatives_are_continuous_where_the_papers_damping_has_a_kink(jax):
    """A ball on a plane at the speeds where the damping factor changes its formula."""
    jnp = jax.numpy
    ball = sphere_cloud(0.03, 30).as_arrays_of(jnp)
    ground = OrientedCloud.half_space().as_arrays_of(jnp)
    X_WB = jnp.eye(4).at[2, 3].set(0.029)

    def curvature_with(blend):
        model = SoftContactModel(3e3, 0.0, 0.4, 0.05, 4e-4, 2e-3, 2e-3, blend)

        def force(v):
            twist = jnp.zeros(6).at[5].set(v)
            return contact_wrench(ground, jnp.eye(4), jnp.zeros(6), ball, X_WB, twist, model)[5]

        return jax.jit(jax.grad(jax.grad(force)))

    curvature, papers = curvature_with(0.1), curvature_with(0.0)
    for corner in (-0.04, 0.04, 0.76, 0.84):
        below, above = curvature(corner - 1e-7), curvature(corner + 1e-7)
        assert abs(above - below) < 1e-4 * curvature(0.4)
    assert abs(papers(1e-7) - papers(-1e-7)) > 0.9 * papers(0.4)


@pytest.mark.parametrize("scheme", ["euler", pytest.param("rk4", marks=pytest.mark.long)])
def test_gradients_of_a_step_are_those_of_central_differences(system, state, jax, scheme):
    twin, count = system.as_arrays_of(jax.numpy), len(state[0])

    def stepped(x):
        return jax.numpy.concatenate(twin.step(x[:count], x[count:], jax.numpy.zeros(8), DT, scheme))

    x = np.concatenate(state)
    close(jax.jit(jax.jacfwd(stepped))(x), central(jax.jit(stepped), x, 1e-5))


SLIDERS = """<robot name="sliders"><link name="base"/>
<link name="finger"><inertial><mass value="0.2"/>
  <inertia ixx="0.001" iyy="0.001" izz="0.001" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="box"><inertial><mass value="0.4"/>
  <inertia ixx="0.001" iyy="0.0012" izz="0.0008" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="push" type="prismatic"><parent link="base"/><child link="finger"/><axis xyz="1 0 0"/>
  <limit lower="-3" upper="3" effort="99" velocity="99"/></joint>
<joint name="turn" type="revolute"><parent link="base"/><child link="box"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" effort="99" velocity="99"/></joint></robot>"""


@pytest.fixture(scope="module", params=["hot", "as a scene has it"])
def sliders(request, tmp_path_factory):
    """A finger that slides along x against a box that turns about z: so few joints that a Hessian soon compiles."""
    path = tmp_path_factory.mktemp("robot") / "sliders.urdf"
    path.write_text(SLIDERS)
    box = cloud_of_geometry(geometry.box(0.06, 0.2, 0.06), 10)
    ball = sphere_cloud(0.03, 8)
    ball = OrientedCloud(ball.points + np.array([-0.059, 0.06, 0.0]), ball.normals)
    model = PUSH
    if request.param != "hot":
        # The mean over planes and the rest of what a scene has that says nothing.
        told, spacing = SoftSettings(), np.sqrt(box.areas.mean())
        names = ("stiffness", "dissipation_velocity", "stiction_velocity", "epsilon2", "epsilon3")
        own = {name: getattr(told, name) for name in (*names, "damping_blend")}
        model = SoftContactModel(mu=0.5, epsilon1=(SMOOTHED * spacing) ** 2, **own)
    system = SoftSystem(load_urdf(path).built.model.tree, (ball, box), (0, 1), (SoftPair(0, 1, model),))
    # The first coordinate is the finger's.
    moved = system.points(np.array([0.1, 0.0]), 0) - system.points(np.zeros(2), 0)
    np.testing.assert_allclose(moved, np.tile([0.1, 0.0, 0.0], (8, 1)), atol=1e-15)
    return system


def end_of(system, jax, steps, scheme="euler"):
    """The state at the end by that at the start and constant efforts, and a state in contact with efforts."""
    twin, jnp = system.as_arrays_of(jax.numpy), jax.numpy

    def end(x):
        efforts = jnp.broadcast_to(x[4:], (steps, 2))
        qs, vs = twin.rollout(x[:2], x[2:4], efforts, DT, scheme)
        return jnp.concatenate([qs[-1], vs[-1]])

    x = np.array([0.0005, 0.02, 0.3, -0.2, 1.0, 0.1])
    assert np.abs(system.contact_forces(x[:2], x[2:4])).max() > 0.5
    return end, x


def test_hessians_of_the_force_between_sliders_are_those_of_central_differences(sliders, jax):
    """Also at the temperature that a scene has where it gives none."""
    twin, x = sliders.as_arrays_of(jax.numpy), np.array([0.0005, 0.02, 0.3, -0.2])

    def force(x):
        return twin.contact_forces(x[:2], x[2:])

    slope = jax.jit(jax.jacfwd(force))
    close(slope(x), central(jax.jit(force), x, 1e-6))
    hessian = np.asarray(jax.jit(jax.jacfwd(jax.jacfwd(force)))(x))
    assert np.isfinite(hessian).all()
    close(hessian, central(slope, x, 1e-6))
    np.testing.assert_allclose(hessian, hessian.swapaxes(1, 2), atol=1e-11 * np.abs(hessian).max())


@pytest.mark.long
def test_gradients_and_hessians_of_a_step_are_those_of_central_differences(sliders, jax):
    end, x = end_of(sliders, jax, 1)
    value, slope = jax.jit(end), jax.jit(jax.jacfwd(end))
    close(slope(x), central(value, x, 1e-5))
    hessian = np.asarray(jax.jit(jax.jacfwd(jax.jacrev(end)))(x))
    close(hessian, central(slope, x, 1e-5))
    np.testing.assert_allclose(hessian, np.swapaxes(hessian, 1, 2), atol=1e-11 * np.abs(hessian).max())


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "steps"), [("euler", 20), ("rk4", 1), ("rk4", 10)])
def test_gradients_and_hessians_of_a_rollout_are_those_of_central_differences(sliders, jax, scheme, steps):
    """Column by column, with one function for all of them: a Hessian in one piece takes minutes to compile."""
    end, x = end_of(sliders, jax, steps, scheme)
    unit, value = np.eye(6), jax.jit(end)

    def slope(x, along):
        return jax.jvp(end, (x,), (along,))[1]

    first = jax.jit(slope)
    second = jax.jit(lambda x, a, b: jax.jvp(lambda y: slope(y, a), (x,), (b,))[1])

    def gradient(x):
        return np.stack([first(x, d) for d in unit], axis=-1)

    # What pushes the finger turns the box; where it is stiff it soon bounces off.
    assert abs(gradient(x)[1, 4]) > 1e-9
    close(gradient(x), central(value, x, 1e-5))
    hessian = np.array([[second(x, d, e) for e in unit] for d in unit]).transpose(2, 0, 1)
    close(hessian, central(gradient, x, 1e-5))
    np.testing.assert_allclose(hessian, hessian.swapaxes(1, 2), atol=1e-11 * np.abs(hessian).max())


def test_vmap_over_states_efforts_and_shapes(system, state, jax):
    jnp = jax.numpy
    q, v = state
    twin = system.as_arrays_of(jnp)
    efforts = 0.1 * np.random.default_rng(3).standard_normal((3, 8))
    lifted = np.stack([q + np.eye(9)[5] * x for x in (0.0, 0.001, 0.002)])
    sizes = np.array([1.0, 1.05, 1.1])

    def accelerate(q, tau, size):
        box = twin.clouds[2]
        shaped = twin.with_clouds([*twin.clouds[:2], OrientedCloud(size * box.points, box.normals)])
        return shaped.forward(q, jnp.asarray(v), tau)

    found = jax.jit(jax.vmap(accelerate))(lifted, efforts, sizes)
    for row in range(3):
        box = system.clouds[2]
        one = system.with_clouds([*system.clouds[:2], OrientedCloud(sizes[row] * box.points, box.normals)])
        np.testing.assert_allclose(
            found[row], one.forward(lifted[row], v, efforts[row]), rtol=1e-10, atol=1e-10
        )
    slopes = jax.jit(jax.vmap(jax.jacfwd(accelerate, argnums=2)))(lifted, efforts, sizes)
    assert np.abs(slopes).max() > 1.0


def test_jax_without_64_bits_is_refused(jax):
    code = (
        "import jax.numpy as jnp, numpy as np\n"
        "from hydro_sim_core.contact.soft_distance import OrientedCloud\n"
        "OrientedCloud(jnp.eye(4, 3), jnp.eye(4, 3))\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert 'call jax.config.update("jax_enable_x64", True)' in result.stderr.splitlines()[-1]


FREE = (OrientedCloud.half_space(), OrientedCloud.half_space())


@pytest.mark.parametrize(
    ("call", "element"),
    [
        (lambda s, q, v: s.forward(q, v[:-1], np.zeros(8)), "v"),
        (lambda s, q, v: s.forward(q.astype(np.float32), v, np.zeros(8)), "q"),
        (lambda s, q, v: s.forward(np.r_[q, 0.0], v, np.zeros(8)), "q"),
        (lambda s, q, v: s.forward(q[:-1], v, np.zeros(8)), "q"),
        (lambda s, q, v: s.forward(q[None], v, np.zeros(8)), "q"),
        (lambda s, q, v: s.forward(q.tolist(), v, np.zeros(8)), "q"),
        (lambda s, q, v: s.forward(q * (np.arange(9) > 4), v, np.zeros(8)), "q"),
        (lambda s, q, v: s.forward(q, v, np.zeros((8, 1))), "tau"),
        (lambda s, q, v: s.inverse(q, v * np.nan, np.zeros(8)), "v"),
        (lambda s, q, v: s.inverse(q, v, np.zeros(9)), "acceleration"),
        (lambda s, q, v: s.contact_forces(q[:-1], v), "q"),
        (lambda s, q, v: s.contact_forces(q, v.astype(np.float32)), "v"),
        (lambda s, q, v: s.points(np.r_[q, 0.0], 1), "q"),
        (lambda s, q, v: s.points(q, 3), "cloud"),
        (lambda s, q, v: s.points(q, -1), "cloud"),
        (lambda s, q, v: s.point_jacobians(q.tolist(), 1), "q"),
        (lambda s, q, v: s.point_velocities(q, v[:-1], 1), "v"),
        (lambda s, q, v: s.step(q, v, np.zeros(8), DT, "leapfrog"), "scheme"),
        (lambda s, q, v: s.step(q, v, np.zeros(8), -1e-3), "dt"),
        (lambda s, q, v: s.step(q, v, np.zeros(8), "long"), "dt"),
        (lambda s, q, v: s.step(q[:-1], v, np.zeros(8), DT), "q"),
        (lambda s, q, v: s.rollout(q, v, np.zeros(8), DT), "efforts"),
        (lambda s, q, v: s.rollout(q, v, np.zeros((3, 7)), DT), "efforts"),
        (lambda s, q, v: s.rollout(q, v, np.zeros((0, 8)), DT, "leapfrog"), "scheme"),
        (lambda s, q, v: SoftSystem(s.tree, s.clouds, (-1, 1), ()), "bodies"),
        (lambda s, q, v: SoftSystem(s.tree, s.clouds, (-1, 99, 1), ()), "bodies[1]"),
        (lambda s, q, v: SoftSystem(s.tree, s.clouds, (-7, 2, 1), ()), "bodies[0]"),
        (lambda s, q, v: SoftSystem(s.tree, s.clouds, (-1, 2, 1.0), ()), "bodies[2]"),
        (lambda s, q, v: replace(s, pairs=(SoftPair(1, 1, PUSH),)), "pairs[0]"),
        (lambda s, q, v: replace(s, pairs=(s.pairs[0], SoftPair(0, 1.0, PUSH))), "pairs[1]"),
        (lambda s, q, v: SoftSystem(s.tree, FREE, (-1, 1), (SoftPair(0, 1, PUSH),)), "pairs[0]"),
    ],
)
def test_bad_input_is_named(system, state, call, element):
    with pytest.raises(InputError) as error:
        call(system, *state)
    assert error.value.element == element


def test_a_system_without_clouds_moves_freely(system, state):
    q, v = state
    free = SoftSystem(system.tree, (), (), ())
    np.testing.assert_array_equal(free.contact_forces(q, v), np.zeros(8))
    np.testing.assert_allclose(free.inverse(q, v, free.forward(q, v, v)), v, atol=1e-11)


def test_arrays_of_two_libraries_are_refused(system, state):
    """``array_api_strict`` in place of JAX, which takes longer."""
    xp = array_api_strict
    q, v = state
    strict = system.as_arrays_of(xp)
    for call, element in (
        (lambda: strict.forward(q, v, np.zeros(8)), "q"),
        (lambda: system.contact_forces(q, xp.asarray(v)), "v"),
        (lambda: system.rollout(q, v, xp.zeros((2, 8)), DT), "efforts"),
        (lambda: system.with_clouds([*system.clouds[:2], strict.clouds[2]]), "clouds[2]"),
    ):
        with pytest.raises(InputError, match="as_arrays_of") as error:
            call()
        assert error.value.element == element


def test_float32_is_told_apart_from_jax_without_64_bits(jax):
    rows = jax.numpy.zeros((4, 3), "float32")
    with pytest.raises(InputError, match=r"float32; give float64$"):
        OrientedCloud(rows, rows)


def test_known_arrays_within_a_traced_function_pass(system, state, jax):
    twin, q = system.as_arrays_of(jax.numpy), jax.numpy.asarray(state[0])
    shapes = jax.eval_shape(
        lambda shift: OrientedCloud(twin.points(q, 1) + shift, twin.clouds[1].normals).points, 0.1
    )
    assert shapes.shape == (12, 3)


def test_derivatives_by_parameters_are_those_of_central_differences(jax):
    """By all parameters at once: a ball that slides and leaves the ground."""
    ball, X_WB = sphere_cloud(0.03, 8), np.eye(4)
    X_WB[2, 3] = 0.027
    twist = np.array([0.3, -0.2, 0.4, 0.1, 0.05, 0.1])

    def lift_and_drag(model, xp=np):
        clouds = (cloud.as_arrays_of(xp) for cloud in (OrientedCloud.half_space(), ball))
        poses = (xp.asarray(X) for X in (np.eye(4), X_WB))
        twists = (xp.asarray(V) for V in (np.zeros(6), twist))
        order = zip(clouds, poses, twists, strict=True)
        return contact_wrench(*next(order), *next(order), model)[3:].sum()

    slopes = jax.jit(jax.grad(lambda model: lift_and_drag(model, jax.numpy)))(PUSH)
    for name in PARAMETERS:
        value = getattr(PUSH, name)
        h = 1e-4 * value
        steps = [lift_and_drag(replace(PUSH, **{name: value + h * n})) for n in (-2, -1, 1, 2)]
        expected = (steps[0] - 8.0 * steps[1] + 8.0 * steps[2] - steps[3]) / (12.0 * h)
        assert getattr(slopes, name) == pytest.approx(expected, rel=1e-6, abs=1e-8), name
        # One plane has no temperature.
        assert (abs(expected) > 1e-6) == (name != "epsilon1")


def test_a_system_is_an_argument_of_what_jax_compiles(sliders, jax):
    twin, x = sliders.as_arrays_of(jax.numpy), jax.numpy.asarray([0.0005, 0.02])
    shape = jax.eval_shape(lambda system: system.contact_forces(x, x), twin)
    assert shape.shape == (2,)
    leaves, structure = jax.tree_util.tree_flatten(twin)
    assert len(leaves) == 2 * 3 - 1 + 8  # the box has areas, the ball none
    assert structure == jax.tree_util.tree_structure(sliders.as_arrays_of(jax.numpy))
    assert structure != jax.tree_util.tree_structure(replace(twin, bodies=(1, 0)))
