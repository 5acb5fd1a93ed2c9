"""The soft-minimum contact model against closed forms, the third law and a plain reading of its equations."""

import itertools
from dataclasses import replace

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hydro_sim_core import InputError, geometry
from hydro_sim_core.contact.soft_distance import OrientedCloud, SoftContactModel, contact_wrench
from hydro_sim_core.contact.soft_distance.force import damping_factor
from hydro_sim_core.description.soft_ranges import SOFT_RANGES
from support.contact_models.clouds import plane_cloud, sphere_cloud
from support.contact_models.rigid_poses import pose, poses, twist_seen_at, vectors, wrench_about

MODEL = SoftContactModel(
    stiffness=2e4,
    mu=0.5,
    dissipation_velocity=0.3,
    stiction_velocity=1e-2,
    epsilon1=1e-3,
    epsilon2=5e-3,
    epsilon3=2e-3,
    damping_blend=0.0,  # as in the paper
)
REST = np.zeros(6)
GROUND, SLAB = plane_cloud(1.0, 11), plane_cloud(0.2, 5, upwards=False)
BOX, BALL = OrientedCloud.from_geometry(geometry.box(0.2, 0.1, 0.06), 0.06), sphere_cloud(0.05, 60)
PROPERTY = settings(max_examples=40, deadline=None)


def on_ground(gap, V_WB=REST, model=MODEL):
    """Wrench on a thin slab parallel to the ground: every pair of points has the same height."""
    return contact_wrench(GROUND, np.eye(4), REST, SLAB, pose((0.0, 0.0, gap)), V_WB, model)


def softplus(x, epsilon):
    return epsilon * np.log1p(np.exp(x / epsilon))


@pytest.mark.parametrize("gap", [-0.01, -1e-3, 0.0, 2e-3, 0.01])
def test_parallel_planes_press_with_the_softplus_spring(gap):
    force = MODEL.stiffness * softplus(-gap, MODEL.epsilon3)
    np.testing.assert_allclose(on_ground(gap), [0, 0, 0, 0, 0, force], rtol=1e-12, atol=1e-12 * force)


def test_spring_hardens_to_a_linear_one():
    stiff = replace(MODEL, epsilon3=1e-6)
    np.testing.assert_allclose(on_ground(-2e-3, model=stiff)[5], stiff.stiffness * 2e-3, rtol=1e-12)
    assert on_ground(2e-3, model=stiff)[5] == 0.0


@pytest.mark.parametrize("gap", [1e-3, 6e-3, 2e-2])
def test_the_gradient_is_not_zero_before_contact(gap):
    step = 1e-6
    slope = (on_ground(gap + step)[5] - on_ground(gap - step)[5]) / (2 * step)
    expected = -MODEL.stiffness / (1.0 + np.exp(gap / MODEL.epsilon3))
    assert expected < -0.5
    np.testing.assert_allclose(slope, expected, rtol=1e-4)


@pytest.mark.parametrize("v_n", [-0.5, -0.1, 0.1, 0.45, 0.59, 0.7])
def test_normal_damping(v_n):
    x = v_n / MODEL.dissipation_velocity
    factor = 1 - x if x <= 0 else (x - 2) ** 2 / 4 if x <= 2 else 0.0
    pressed = MODEL.stiffness * softplus(0.004, MODEL.epsilon3)
    np.testing.assert_allclose(on_ground(-0.004, [0, 0, 0, 0, 0, v_n])[5], pressed * factor, rtol=1e-12)


def test_damping_polynomial_has_a_continuous_slope():
    np.testing.assert_array_equal(damping_factor(np.array([-1.0, 0.0, 1.0, 2.0, 3.0])), [2, 1, 0.25, 0, 0])
    for corner, slope in ((0.0, -1.0), (2.0, 0.0)):
        h = 1e-7
        below, at, above = damping_factor(corner + np.array([-h, 0.0, h]))
        np.testing.assert_allclose([(at - below) / h, (above - at) / h], slope, atol=1e-6)


@pytest.mark.parametrize("blend", [0.05, 0.1, 0.6])
def test_blended_damping_is_the_mean_of_the_papers_and_twice_differentiable(blend):
    u, weights = np.polynomial.legendre.leggauss(40)
    for x in (-1.2, -0.3 * blend, 0.4 * blend, 1.0, 2.0 - 0.2 * blend, 2.0 + 0.7 * blend, 2.9):
        # The mean over x +- blend in three parts, so that no part has a corner inside.
        edges = np.unique(np.clip([x - blend, 0.0, 2.0, x + blend], x - blend, x + blend))
        parts = [
            0.5 * (end - begin) * weights @ damping_factor(0.5 * (begin + end) + 0.5 * (end - begin) * u)
            for begin, end in itertools.pairwise(edges)
        ]
        np.testing.assert_allclose(damping_factor(np.array(x), blend), sum(parts) / (2 * blend), atol=1e-14)
    h = 1e-4
    for corner in (-blend, blend, 2.0 - blend, 2.0 + blend):
        d = damping_factor(corner + h * np.arange(-3.0, 4.0), blend)
        second = np.diff(d, 2) / h**2
        # A jump of the second derivative would be 1/2; it may bend, by 1 / (4 blend).
        assert np.abs(np.diff(second)).max() < 2 * h / (4 * blend) + 1e-6
    assert damping_factor(np.array(0.0), blend) == pytest.approx(1.0 + blend**2 / 24)


def test_a_half_space_presses_as_a_large_plane():
    ball, X_WB = sphere_cloud(0.05, 300), pose((0.0, 0.0, 0.048))
    V_WB = np.array([1.0, 2.0, 0.5, 0.1, -0.2, -0.1])
    ground = contact_wrench(OrientedCloud.half_space(), np.eye(4), REST, ball, X_WB, V_WB, MODEL)
    # The plane's own points have no weight if they are above the ball's lowest by many epsilon2.
    cold = replace(MODEL, epsilon2=1e-4)
    half = contact_wrench(OrientedCloud.half_space(), np.eye(4), REST, ball, X_WB, V_WB, cold)
    lowest = ball.points[:, 2].min() + 0.048
    far = plane_cloud(4.0, 5)
    points = far.points + np.array([0.07, 0.03, 0.0])  # none below the ball
    plane = contact_wrench(OrientedCloud(points, far.normals), np.eye(4), REST, ball, X_WB, V_WB, cold)
    assert lowest < 0.0
    np.testing.assert_allclose(half, plane, rtol=1e-6, atol=1e-9)
    assert ground[5] > 0.0
    swapped = contact_wrench(ball, X_WB, V_WB, OrientedCloud.half_space(), np.eye(4), REST, MODEL)
    np.testing.assert_allclose(swapped, -wrench_about(ground, -X_WB[:3, 3]), rtol=1e-9, atol=1e-9)


def test_two_half_spaces_are_refused():
    with pytest.raises(InputError, match="two half spaces"):
        contact_wrench(
            OrientedCloud.half_space(), np.eye(4), REST, OrientedCloud.half_space(), np.eye(4), REST, MODEL
        )


@pytest.mark.parametrize("speed", [1e-4, 1e-2, 1.0])
def test_friction_is_regularised_coulomb(speed):
    wrench = on_ground(-0.004, [0, 0, 0, 0.6 * speed, 0.8 * speed, 0])
    friction = MODEL.mu * wrench[5] * speed / np.hypot(MODEL.stiction_velocity, speed)
    np.testing.assert_allclose(wrench[3:5], [-0.6 * friction, -0.8 * friction], rtol=1e-12)


def test_sphere_on_plane_tends_to_the_penalty_of_its_depth():
    depth = 2e-3
    # Points of the plane beyond the ball's shadow have no weight.
    ground, ball, X_WB = plane_cloud(0.1, 21), sphere_cloud(0.05, 4000), pose((0.0, 0.0, 0.05 - depth))
    errors = []
    for scale in (4.0, 2.0, 1.0):
        model = replace(MODEL, epsilon1=2e-6 * scale, epsilon2=1e-4 * scale, epsilon3=1e-5)
        force = contact_wrench(ground, np.eye(4), REST, ball, X_WB, REST, model)[5]
        errors.append(abs(force / (model.stiffness * depth) - 1.0))
    assert errors[-1] < 0.08
    np.testing.assert_array_less(errors[1:], errors[:-1])


def test_concentric_spheres_are_in_unstable_balance():
    """The paper's section IV-B: no force at the centre, and away from it one that drives them apart.

    That holds while epsilon2 is not small beside the radii. A colder average sees the deepest points alone, which lie
    towards the centre, and draws the small sphere back to it.
    """
    outer, inner = (OrientedCloud.from_geometry(geometry.sphere(r, resolution=r / 2)) for r in (0.1, 0.03))

    def force(x, epsilon2):
        model = replace(MODEL, epsilon2=epsilon2)
        return contact_wrench(outer, np.eye(4), REST, inner, pose((x, 0.0, 0.0)), REST, model)[3]

    assert abs(force(0.0, 0.1)) < 1e-9
    assert force(-1e-3, 0.1) < -1.0
    assert force(1e-3, 0.1) > 1.0
    assert force(1e-3, 1e-3) < -1.0


@PROPERTY
@given(X_AB=poses(0.08), V_WA=vectors(6, 1.0), V_WB=vectors(6, 1.0))
def test_wrench_is_the_double_sum_of_the_equations(X_AB, V_WA, V_WB):
    """Eqs. 14 to 23, read off one point after the other."""
    b_points, b_normals = BALL.points @ X_AB[:3, :3].T + X_AB[:3, 3], BALL.normals @ X_AB[:3, :3].T

    def velocity(V, origin, p):
        return V[3:] + np.cross(V[:3], p - origin)

    def force_on_point(p, points, normals, v):
        distances = np.sum((p - points) ** 2, axis=1)
        weights = np.exp(-(distances - distances.min()) / MODEL.epsilon1)
        weights /= weights.sum()
        heights = np.sum(normals * (p - points), axis=1)
        v_n = normals @ v
        v_t = v - v_n[:, None] * normals
        x = v_n / MODEL.dissipation_velocity
        damping = np.where(x <= 0, 1 - x, np.where(x <= 2, (x - 2) ** 2 / 4, 0.0))
        l_n = MODEL.stiffness * softplus(-heights, MODEL.epsilon3) * damping
        slip = np.sqrt(MODEL.stiction_velocity**2 + np.sum(v_t**2, axis=1))
        forces = l_n[:, None] * (normals - MODEL.mu * v_t / slip[:, None])
        return weights @ heights, weights @ forces

    terms = []
    for p in b_points:
        v = velocity(V_WB, X_AB[:3, 3], p) - velocity(V_WA, np.zeros(3), p)
        terms.append((p, *force_on_point(p, BOX.points, BOX.normals, v)))
    for p in BOX.points:
        v = velocity(V_WA, np.zeros(3), p) - velocity(V_WB, X_AB[:3, 3], p)
        height, force_on_a = force_on_point(p, b_points, b_normals, v)
        terms.append((p, height, -force_on_a))
    heights = np.array([height for _, height, _ in terms])
    weights = np.exp(-(heights - heights.min()) / MODEL.epsilon2)
    weights /= weights.sum()
    expected = sum(
        w * np.r_[np.cross(p - X_AB[:3, 3], f), f] for w, (p, _, f) in zip(weights, terms, strict=True)
    )
    wrench = contact_wrench(BOX, np.eye(4), V_WA, BALL, X_AB, V_WB, MODEL)
    np.testing.assert_allclose(wrench, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@PROPERTY
@given(X_WA=poses(), X_AB=poses(0.08), V_WA=vectors(6, 1.0), V_WB=vectors(6, 1.0))
def test_action_is_reaction(X_WA, X_AB, V_WA, V_WB):
    X_WB = X_WA @ X_AB
    on_b = contact_wrench(BOX, X_WA, V_WA, BALL, X_WB, V_WB, MODEL)
    on_a = contact_wrench(BALL, X_WB, V_WB, BOX, X_WA, V_WA, MODEL)
    from_a_to_b = X_WB[:3, 3] - X_WA[:3, 3]
    expected = -wrench_about(on_a, from_a_to_b)
    np.testing.assert_allclose(on_b, expected, rtol=1e-9, atol=1e-10 * np.abs(on_b).max())


@PROPERTY
@given(X=poses(3.0), X_AB=poses(0.08), V_WA=vectors(6, 1.0), V_WB=vectors(6, 1.0), V=vectors(6, 1.0))
def test_wrench_turns_with_the_frame_and_ignores_common_motion(X, X_AB, V_WA, V_WB, V):
    R = np.kron(np.eye(2), X[:3, :3])
    expected = R @ contact_wrench(BOX, np.eye(4), V_WA, BALL, X_AB, V_WB, MODEL)
    shift = X[:3, :3] @ X_AB[:3, 3]
    moved = contact_wrench(BOX, X, R @ V_WA + V, BALL, X @ X_AB, R @ V_WB + twist_seen_at(V, shift), MODEL)
    np.testing.assert_allclose(moved, expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())


@PROPERTY
@given(X_AB=poses(0.08), V_WB=vectors(6, 1.0))
def test_friction_only_takes_power(X_AB, V_WB):
    """With mu, the power on B against a fixed A is below that without."""
    rubbing = contact_wrench(BOX, np.eye(4), REST, BALL, X_AB, V_WB, MODEL)
    smooth = contact_wrench(BOX, np.eye(4), REST, BALL, X_AB, V_WB, replace(MODEL, mu=0.0))
    assert (rubbing - smooth) @ V_WB <= 1e-9 * np.abs(rubbing).max()


def test_any_array_library_will_do():
    xp = array_api_strict
    X_WB, V_WB = pose((0.03, 0.02, 0.06), (0.3, 0.1, -2.0)), np.array([1.0, -2.0, 0.5, 0.1, 0.2, -0.3])
    box, ball = (OrientedCloud(xp.asarray(c.points), xp.asarray(c.normals)) for c in (BOX, BALL))
    X_WA, V_WA = xp.asarray(np.eye(4)), xp.asarray(REST)
    wrench = contact_wrench(box, X_WA, V_WA, ball, xp.asarray(X_WB), xp.asarray(V_WB), MODEL)
    assert wrench.__array_namespace__() is xp
    expected = contact_wrench(BOX, np.eye(4), REST, BALL, X_WB, V_WB, MODEL)
    np.testing.assert_allclose(np.asarray(wrench), expected, rtol=1e-12)


POSITIVE = ("stiffness", "dissipation_velocity", "stiction_velocity", "epsilon1", "epsilon2", "epsilon3")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *itertools.product((*POSITIVE, "mu", "damping_blend"), (-1.0, np.nan, np.inf)),
        *itertools.product(POSITIVE, (0.0, 5e-324, 1e-320, 1e300, "1e-3", None, np.ones(1))),
        ("damping_blend", 1.0),
        ("damping_blend", 1e-320),
        ("mu", 1e300),
    ],
)
def test_bad_parameters_are_named(name, value):
    with pytest.raises(InputError) as error:
        replace(MODEL, **{name: value})
    assert error.value.element == name


@pytest.mark.parametrize(
    ("name", "mend"), [("mu", "0 to 1e\\+06"), ("damping_blend", "0, or 1e-06 to 0.999")]
)
def test_parameters_that_may_be_zero_are_told_so(name, mend):
    with pytest.raises(InputError, match=f"is -1; give {mend}$"):
        replace(MODEL, **{name: -1.0})


@pytest.mark.parametrize(("name", "bounds"), [*SOFT_RANGES.items(), ("damping_blend", (0.0, 1e-3))])
def test_forces_are_finite_at_the_ends_of_all_ranges(name, bounds):
    """For bodies that touch, slide and turn, and in all arrays on the way."""
    ball, X_WB = sphere_cloud(0.03, 20), pose((0.0, 0.0, 0.029))
    twist = np.array([0.3, -0.2, 0.4, 0.1, 0.05, 0.1])
    for value in bounds:
        model = replace(MODEL, **{name: value})
        for a in (OrientedCloud.half_space(), ball):
            for V_WB in (np.zeros(6), twist):
                with np.errstate(all="raise", under="ignore"):
                    wrench = contact_wrench(a, np.eye(4), np.zeros(6), ball, X_WB, V_WB, model)
                assert np.isfinite(wrench).all()


@given(bad=st.sampled_from([np.zeros(5), np.full(6, np.nan)]))
def test_bad_twists_are_named(bad):
    with pytest.raises(InputError) as error:
        contact_wrench(BOX, np.eye(4), REST, BALL, np.eye(4), bad, MODEL)
    assert error.value.element == "V_WB"
