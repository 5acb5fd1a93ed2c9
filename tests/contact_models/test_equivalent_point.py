"""Steps of a rigid body on a plane against mechanics by hand and the equations of the model."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls, root
from scipy.spatial import ConvexHull

from hydro_sim_core import InputError, geometry
from hydro_sim_core.contact.equivalent_point import FrictionEllipsoid, RigidBody, SupportHull, step_on_plane
from support.contact_models.rigid_poses import pose, poses, vectors

G = 9.81
SIZE = np.array([0.3, 0.2, 0.4])
H = 0.5 * SIZE[2]
MASS = 2.0
TIME_STEP = 0.01
REST = np.zeros(6)
UP = np.array([0.0, 0.0, 1.0])
FRICTION = FrictionEllipsoid(0.4, e_r=0.05)


def cuboid_inertia(mass, size):
    x, y, z = np.square(size)
    return mass / 12.0 * np.diag([y + z, x + z, x + y])


BLOCK = RigidBody(MASS, cuboid_inertia(MASS, SIZE), SupportHull.from_geometry(geometry.box(*SIZE)))
ON_PLANE = pose((0.0, 0.0, H))


def heights(body, X_GB):
    return body.hull.vertices @ X_GB[2, :3] + X_GB[2, 3]


def assert_solves_the_step(body, X_GB, V_GB, friction, step, time_step=TIME_STEP, wrench=REST):
    """Eqs. 10, 12, 14, 15 and 16 in SI units, and the hull above the plane."""
    w, v = V_GB[:3], V_GB[3:]
    w_end, v_end = step.V_GB[:3], step.V_GB[3:]
    R, R_end = X_GB[:3, :3], step.X_GB[:3, :3]
    np.testing.assert_allclose(R_end @ R_end.T, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(step.X_GB[:3, 3], X_GB[:3, 3] + time_step * v_end, atol=1e-12)

    impulse = np.array([step.p_t, step.p_o, step.p_n])
    arm = step.a1 - step.X_GB[:3, 3]
    gravity = np.array([0.0, 0.0, -G])
    linear = body.mass * (v_end - v) - time_step * (body.mass * gravity + wrench[3:]) - impulse
    gyroscopic = np.cross(w, R @ body.inertia @ R.T @ w)
    angular = R_end @ body.inertia @ R_end.T @ (w_end - w) - time_step * (wrench[:3] - gyroscopic)
    angular -= np.cross(arm, impulse) + step.p_r * UP
    scale = body.mass * (1.0 + np.linalg.norm(V_GB))
    np.testing.assert_allclose(np.r_[linear, angular] / scale, 0.0, atol=1e-9)

    height = heights(body, step.X_GB)
    assert height.min() >= -1e-12
    assert step.p_n >= -1e-12
    assert abs(step.p_n * step.a1[2]) <= 1e-9
    if step.p_n > 1e-9:
        assert abs(step.a1[2]) <= 1e-12
        touching = body.hull.vertices[height < 1e-8] @ R_end.T + step.X_GB[:3, 3]
        assert in_hull(touching[:, :2], step.a1[:2])
    assert_ellipsoid(friction, step, arm)


def in_hull(points, p):
    """Whether a point of the plane is a convex combination of others, to 1e-7 m."""
    return nnls(np.vstack([points.T, np.ones(len(points))]), [*p, 1.0])[1] <= 1e-7


def assert_ellipsoid(friction, step, arm):
    """Friction lies in the ellipsoid, and takes the most power that it allows there (eqs. 13 to 15)."""
    w, v = step.V_GB[:3], step.V_GB[3:]
    v_contact = v + np.cross(w, arm)
    slip = np.array([v_contact[0], v_contact[1], w[2]])
    p = np.array([step.p_t, step.p_o, step.p_r])
    e = np.array([friction.e_t, friction.e_o, friction.e_r])
    limit = friction.mu * step.p_n
    slack = limit**2 - np.sum((p / e) ** 2)
    assert slack >= -1e-9
    assert step.slip >= -1e-12
    assert abs(slack * step.slip) <= 1e-9
    np.testing.assert_allclose(-p @ slip, limit * np.linalg.norm(e * slip), atol=1e-9)
    if friction.mu > 0.0:
        np.testing.assert_allclose(e**2 * limit * slip + p * step.slip, 0.0, atol=1e-9)


def test_a_block_at_rest_presses_below_its_centre_of_mass():
    step = step_on_plane(BLOCK, pose((0.7, -0.2, H)), REST, TIME_STEP, FRICTION)
    np.testing.assert_allclose(step.a1, [0.7, -0.2, 0.0], atol=1e-12)
    np.testing.assert_allclose(step.a2, step.a1, atol=1e-12)
    np.testing.assert_allclose(
        [step.p_n, step.p_t, step.p_o, step.p_r], [MASS * G * TIME_STEP, 0, 0, 0], atol=1e-12
    )
    np.testing.assert_allclose(step.V_GB, 0.0, atol=1e-12)


@pytest.mark.parametrize("force", [0.0, 2.0, 4.0])
@pytest.mark.parametrize("height", [0.1, 0.35])
def test_a_push_that_friction_holds_moves_the_contact_point(force, height):
    """Moments about the contact point: m g x = F z."""
    wrench = np.array([0.0, (height - H) * force, 0.0, force, 0.0, 0.0])
    step = step_on_plane(BLOCK, ON_PLANE, REST, TIME_STEP, FRICTION, wrench=wrench)
    np.testing.assert_allclose(step.V_GB, 0.0, atol=1e-12)
    np.testing.assert_allclose(step.a1, [force * height / (MASS * G), 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(step.p_t, -force * TIME_STEP, rtol=1e-12)


@pytest.mark.parametrize(("factor", "tips"), [(0.999, False), (1.05, True), (1.5, True)])
def test_a_block_tips_about_its_edge_when_pushed_too_hard(factor, tips):
    """It tips when F H > m g a / 2, with the angular acceleration of a body hinged at the edge."""
    friction, edge, time_step = FrictionEllipsoid(5.0), 0.5 * SIZE[0], 1e-4
    force = factor * MASS * G * edge / H
    step = step_on_plane(BLOCK, ON_PLANE, REST, time_step, friction, wrench=[0, 0, 0, force, 0, 0])
    if not tips:
        np.testing.assert_allclose(step.a1[0], factor * edge, rtol=1e-9)
        np.testing.assert_allclose(step.V_GB, 0.0, atol=1e-12)
        return
    inertia = BLOCK.inertia[1, 1] + MASS * (edge**2 + H**2)
    np.testing.assert_allclose(step.V_GB[1] / time_step, (force * H - MASS * G * edge) / inertia, rtol=1e-5)
    np.testing.assert_allclose(step.a1[[0, 2]], [edge, 0.0], atol=1e-9)
    assert np.sum(np.abs(heights(BLOCK, step.X_GB)) < 1e-12) == 2


def test_a_sliding_block_slows_by_mu_g_and_stops():
    X, V = ON_PLANE, np.array([0, 0, 0, 0.6, -0.8, 0.0]) * 0.5
    for i in range(1, 16):
        step = step_on_plane(BLOCK, X, V, TIME_STEP, FRICTION)
        X, V = step.X_GB, step.V_GB
        speed = max(0.5 - FRICTION.mu * G * i * TIME_STEP, 0.0)
        np.testing.assert_allclose(V, [0, 0, 0, 0.6 * speed, -0.8 * speed, 0], atol=1e-10)
        if speed > 0.0:  # friction's moment about the centre of mass moves the pressure forwards
            ahead = FRICTION.mu * H * np.array([0.6, -0.8])
            np.testing.assert_allclose(step.a1[:2] - X[:2, 3], ahead, atol=1e-9)


def test_a_spinning_block_slows_by_the_ellipsoids_moment():
    V = np.array([0, 0, 3.0, 0, 0, 0])
    step = step_on_plane(BLOCK, ON_PLANE, V, TIME_STEP, FRICTION)
    np.testing.assert_allclose(step.p_r, -FRICTION.mu * MASS * G * TIME_STEP * FRICTION.e_r, rtol=1e-9)
    np.testing.assert_allclose(step.V_GB[2], 3.0 + step.p_r / BLOCK.inertia[2, 2], rtol=1e-9)
    np.testing.assert_allclose(step.slip, FRICTION.e_r * step.V_GB[2], rtol=1e-9)


@pytest.mark.parametrize("tilt", [0.9, 1.1])
def test_a_block_on_an_incline_sticks_up_to_the_friction_angle(tilt):
    angle = tilt * np.arctan(FRICTION.mu)
    gravity = G * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    step = step_on_plane(BLOCK, ON_PLANE, REST, TIME_STEP, FRICTION, gravity=gravity)
    acceleration = max(gravity[0] + FRICTION.mu * gravity[2], 0.0)
    np.testing.assert_allclose(step.V_GB, [0, 0, 0, acceleration * TIME_STEP, 0, 0], atol=1e-11)


@pytest.mark.parametrize("depth", [1e-16, 1e-9, 1e-3])
def test_a_body_that_starts_below_the_plane_is_lifted_onto_it(depth):
    """Also at rest without gravity, where the only speed is that of the lift."""
    step = step_on_plane(BLOCK, pose((0.0, 0.0, H - depth)), REST, TIME_STEP, FRICTION, gravity=np.zeros(3))
    np.testing.assert_allclose(step.X_GB, ON_PLANE, atol=1e-15)
    np.testing.assert_allclose(step.p_n, MASS * depth / TIME_STEP, atol=MASS * 1e-15 / TIME_STEP)


def test_flight_is_free_fall():
    V = np.array([0, 0, 4.0, 0.3, 0.2, 0.1])
    step = step_on_plane(BLOCK, pose((0.0, 0.0, 1.0)), V, TIME_STEP, FRICTION)
    np.testing.assert_allclose(step.V_GB, [*V[:5], V[5] - G * TIME_STEP], atol=1e-12)
    assert step.p_n == 0.0
    assert step.a1[2] > 0.0 == step.a2[2]


@settings(max_examples=60, deadline=None)
@given(
    V=vectors(6, 3.0),
    mu=st.floats(0.0, 1.0),
    e=st.tuples(st.floats(0.5, 1.5), st.floats(0.5, 1.5), st.floats(0.01, 0.2)),
    wrench=vectors(6, 3.0),
)
# Friction so weak that it holds only what hardly moves.
@example(
    np.array([0, 3.5e-9, 0, 0, 0, 0]), 1e-8, (0.5, 1.5, 0.01), np.array([0, -5e-3, -6e-6, -1e-8, 0, 1e-8])
)
@example(np.array([0.027004, 0, 0, 0, 0, 0]), 1e-8, (0.5, 0.5, 0.01), REST)
@example(
    np.array([0.504, 8.2e-6, 0, -4.5e-9, 0, 0]), 1e-8, (1.5, 1.5, 0.2), np.array([0, 0, 0, 0, -9e-6, -1e-5])
)
# Friction at its limit just about to tip the block over its edge.
@example(
    np.array([0, 0, 1.7e-8, -2.3e-8, -0.62, 1.7e-5]),
    0.5,
    (1.5, 1.0, 0.2),
    np.array([0, 2.8e-3, 0, 0, -3e-5, 0]),
)
def test_a_step_from_flat_contact_solves_the_model(V, mu, e, wrench):
    friction = FrictionEllipsoid(mu, *e)
    step = step_on_plane(BLOCK, ON_PLANE, V, TIME_STEP, friction, wrench=wrench)
    assert_solves_the_step(BLOCK, ON_PLANE, V, friction, step, wrench=wrench)


@pytest.mark.long
@settings(max_examples=10, deadline=None)
@given(X=poses(), V=vectors(6, 3.0), mu=st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_every_step_of_a_tumble_solves_the_model(X, V, mu):
    """Landings on a corner, an edge and a face, at most 1e-12 m below the plane."""
    X, friction = X.copy(), FrictionEllipsoid(mu)
    X[2, 3] += 0.05 - heights(BLOCK, X).min()
    for _ in range(40):
        step = step_on_plane(BLOCK, X, V, TIME_STEP, friction)
        assert_solves_the_step(BLOCK, X, V, friction, step)
        X, V = step.X_GB, step.V_GB


@settings(max_examples=20, deadline=None)
@given(V=vectors(6, 2.0), angle=st.floats(-3.0, 3.0), shift=vectors(2, 5.0))
def test_the_plane_has_no_preferred_place_or_direction(V, angle, shift):
    turn = pose((*shift, 0.0), (0.0, 0.0, angle))
    R = np.kron(np.eye(2), turn[:3, :3])
    step = step_on_plane(BLOCK, ON_PLANE, V, TIME_STEP, FRICTION)
    turned = step_on_plane(BLOCK, turn @ ON_PLANE, R @ V, TIME_STEP, FRICTION)
    np.testing.assert_allclose(turned.V_GB, R @ step.V_GB, atol=1e-8)
    np.testing.assert_allclose(turned.p_n, step.p_n, atol=1e-8)


def prism(mass, height, outline, rectangles):
    """A body of this outline, the union of rectangles (lower and upper corner), and the outline about its centroid."""
    lower, upper = np.moveaxis(np.array(rectangles), 1, 0)
    centres, sizes = 0.5 * (lower + upper), upper - lower
    masses = mass * sizes.prod(axis=1) / sizes.prod(axis=1).sum()
    centroid = masses @ centres / mass
    inertia = np.zeros((3, 3))
    for part, offset, size in zip(masses, np.c_[centres - centroid, [0, 0]], sizes, strict=True):
        inertia += cuboid_inertia(part, [*size, height])
        inertia += part * (offset @ offset * np.eye(3) - np.outer(offset, offset))
    outline = np.array(outline) - centroid
    vertices = np.vstack([np.c_[outline, np.full(len(outline), z)] for z in (-0.5 * height, 0.5 * height)])
    return RigidBody(mass, inertia, SupportHull.from_vertices(vertices)), outline


def l_shaped_body():
    """An L, 0.2 m high: its centroid lies in the notch."""
    outline = [[0, 0], [1, 0], [1, 0.1], [0.1, 0.1], [0.1, 1], [0, 1]]
    return prism(3.0, 0.2, outline, [[[0, 0], [1, 0.1]], [[0, 0.1], [0.1, 1]]])


def t_shaped_bar():
    """The bar of section V-B, 2 kg; its lengths are our own, since the text does not give them."""
    outline = [[-3, 0], [3, 0], [3, 24], [15, 24], [15, 30], [-15, 30], [-15, 24], [-3, 24]]
    return prism(
        2.0, 0.06, np.array(outline) / 100, np.array([[[-3, 0], [3, 24]], [[-15, 24], [15, 30]]]) / 100
    )


def test_the_contact_point_of_a_non_convex_patch_may_lie_outside_it():
    body, outline = l_shaped_body()
    step = step_on_plane(body, pose((0, 0, 0.1)), REST, TIME_STEP, FRICTION)
    np.testing.assert_allclose(step.a1, 0.0, atol=1e-12)
    np.testing.assert_allclose(step.V_GB, 0.0, atol=1e-12)
    assert np.all(step.a1[:2] > outline[3])  # beyond the inner corner of the L: in the notch
    flat_hull = ConvexHull(outline)
    assert np.all(flat_hull.equations[:, :2] @ step.a1[:2] + flat_hull.equations[:, 2] < 0.0)


def test_a_patch_presses_as_the_whole_body_does():
    body, outline = l_shaped_body()
    patch = SupportHull.from_patch(np.column_stack([outline, np.full(6, -0.1)]), (0, 0, -1))
    thin = RigidBody(body.mass, body.inertia, patch)
    V, wrench = np.array([0.0, 0.0, 1.0, 0.3, -0.2, 0.0]), np.array([1.0, -0.5, 0.3, 2.0, 1.0, -3.0])
    whole = step_on_plane(body, pose((0, 0, 0.1)), V, TIME_STEP, FRICTION, wrench=wrench)
    part = step_on_plane(thin, pose((0, 0, 0.1)), V, TIME_STEP, FRICTION, wrench=wrench)
    np.testing.assert_allclose(part.V_GB, whole.V_GB, atol=1e-10)
    np.testing.assert_allclose(part.a1, whole.a1, atol=1e-10)


def test_an_l_tips_over_the_two_ends_of_its_arms():
    """From face to two-point contact: the contact point is on the line between the arms' ends."""
    body, outline = l_shaped_body()
    across = np.array([1.0, -1.0, 0.0]) / 2**0.5
    X, V, friction = pose((0, 0, 0.1)), REST, FrictionEllipsoid(2.0)
    wrench = np.r_[-20.0 * across, np.zeros(3)]
    for _ in range(10):
        step = step_on_plane(body, X, V, TIME_STEP, friction, wrench=wrench)
        assert_solves_the_step(body, X, V, friction, step, wrench=wrench)
        X, V = step.X_GB, step.V_GB
    touching = np.abs(heights(body, X)) < 1e-12
    assert touching.sum() == 2
    ends = {tuple(np.round(v, 9)) for v in body.hull.vertices[touching, :2]}
    assert ends == {tuple(np.round(v, 9)) for v in (outline[2], outline[4])}


def test_a_t_shaped_bar_passes_from_patch_to_two_points_and_back():
    """Section V-B, with loads of our own: tipped over one side of its hull, dropped, tipped over the other, dropped.

    Each side joins the end of the stem to the end of the bar across it, and touches in these two points only.
    """
    bar, outline = t_shaped_bar()
    friction, X, V = FrictionEllipsoid(0.22, e_r=0.1), pose((0.0, 0.0, 0.03)), REST
    patch = frozenset((0, 1, 3, 4, 5, 6))  # but for the inner corners 2 and 7
    sides = {"right": (1, 3), "left": (6, 0)}
    base = np.c_[outline, np.full(8, -0.03)]
    modes = []
    for load, steps in (("right", 8), ("none", 22), ("left", 8), ("none", 22)):
        for _ in range(steps):
            wrench = REST
            if load != "none":
                start, end = outline[list(sides[load])]
                side = (end - start) / np.linalg.norm(end - start)
                to_side = start[0] * side[1] - start[1] * side[0]
                moment = 1.4 * bar.mass * G * to_side * np.array([*side, 0.0])
                wrench = np.r_[X[:3, :3] @ moment, np.zeros(3)]
            step = step_on_plane(bar, X, V, TIME_STEP, friction, wrench=wrench)
            assert_solves_the_step(bar, X, V, friction, step, wrench=wrench)
            X, V = step.X_GB, step.V_GB
            touching = frozenset(np.flatnonzero(np.abs(base @ X[2, :3] + X[2, 3]) < 1e-9)) - {2, 7}
            if not modes or modes[-1] != touching:
                modes.append(touching)
    assert modes == [frozenset(sides["right"]), patch, frozenset(sides["left"]), patch]


def test_a_sliding_desk_agrees_with_the_model_for_sliding_only():
    """The desk of section V-A, its inertia our own, against its three unknowns solved for by another method.

    Without tipping p_n = m g h, and moments about x and y place the contact point. The paper finds differences
    within 1e-8 over the same 4 s, and the contact point in none of the feet and not below the centre of mass.
    """
    mass, width, height, time_step, g = 15.0, 0.5, 0.45, 0.01, 9.8
    friction = FrictionEllipsoid(0.22, e_r=0.1)
    feet = np.array([[x, y, -height] for x in (-0.25, -0.19, 0.19, 0.25) for y in (-0.25, -0.19, 0.19, 0.25)])
    inertia = cuboid_inertia(mass, (width, width, 2 * height))
    desk = RigidBody(mass, inertia, SupportHull.from_patch(feet, (0, 0, -1)))
    p_n = mass * g * time_step
    e = np.array([1.0, 1.0, friction.e_r])
    inertias = np.array([mass, mass, inertia[2, 2]])

    def sliding(rates, push):
        def residual(end):
            p = inertias * (end - rates) - time_step * push
            ahead = -height * p[:2] / p_n
            slip = np.array([end[0] - end[2] * ahead[1], end[1] + end[2] * ahead[0], end[2]])
            return p / e + friction.mu * p_n * e * slip / np.linalg.norm(e * slip)

        return root(residual, rates, tol=1e-14).x

    X, V = pose((0.0, 0.0, height)), np.array([0.0, 0.0, 0.5, 0.3, 0.2, 0.0])
    rates = V[[3, 4, 2]]
    for i in range(400):
        t = 2.0 * np.pi * i * time_step
        push = np.array([22.5 * np.sin(t) + 22.5, 22.5 * np.cos(t) + 22.5, 2.1 * np.cos(t)])
        wrench = [0.0, 0.0, push[2], push[0], push[1], 0.0]
        step = step_on_plane(desk, X, V, time_step, friction, gravity=(0, 0, -g), wrench=wrench)
        X, V, rates = step.X_GB, step.V_GB, sliding(rates, push)
        np.testing.assert_allclose(V[[3, 4, 2]], rates, atol=1e-8)
        assert abs(step.a1[2]) <= 1e-12
        p_BA = X[:3, :3].T @ (step.a1 - X[:3, 3])
        assert np.abs(p_BA[:2]).max() < 0.19
        assert np.linalg.norm(p_BA[:2]) > 0.01
    assert np.linalg.norm(X[:2, 3]) > 1.0


@pytest.mark.parametrize(
    ("call", "element"),
    [
        (lambda: RigidBody(0.0, np.eye(3), BLOCK.hull), "mass"),
        (lambda: RigidBody(1.0, np.eye(2), BLOCK.hull), "inertia"),
        (lambda: RigidBody(1.0, -np.eye(3), BLOCK.hull), "inertia"),
        (lambda: RigidBody(1.0, np.diag([1.0, 1.0, 2.1]), BLOCK.hull), "inertia"),
        (lambda: FrictionEllipsoid(-0.1), "mu"),
        (lambda: FrictionEllipsoid(0.1, e_r=0.0), "e_r"),
        (lambda: step_on_plane(BLOCK, np.ones((4, 4)), REST, TIME_STEP, FRICTION), "X_GB"),
        (lambda: step_on_plane(BLOCK, ON_PLANE, REST[:3], TIME_STEP, FRICTION), "V_GB"),
        (lambda: step_on_plane(BLOCK, ON_PLANE, REST, np.nan, FRICTION), "time_step"),
        (lambda: step_on_plane(BLOCK, ON_PLANE, np.full(6, 1e200), TIME_STEP, FRICTION), "time_step"),
        (lambda: step_on_plane(BLOCK, ON_PLANE, [0, 0, 0, 1e200, 0, -1], TIME_STEP, FRICTION), "time_step"),
        (lambda: step_on_plane(BLOCK, ON_PLANE, REST, TIME_STEP, FRICTION, gravity=(0, 0)), "gravity"),
        (lambda: step_on_plane(BLOCK, ON_PLANE, REST, TIME_STEP, FRICTION, wrench=REST * np.nan), "wrench"),
    ],
)
def test_bad_input_is_named(call, element):
    with pytest.raises(InputError) as error:
        call()
    assert error.value.element == element
