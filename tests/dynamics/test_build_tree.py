"""Robots become bodies, coordinates and names; what cannot move is refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from hydro_sim_core.description.spec import (
    InertialSpec,
    JointSpec,
    LimitSpec,
    LinkSpec,
    MimicSpec,
    RobotSpec,
    ShapeSpec,
    VisualSpec,
)
from hydro_sim_core.dynamics import Assembly, PlacedRobot, TreeEvaluator, build_tree
from hydro_sim_core.errors import InputError
from support.dynamics.random_robots import GRAVITY, random_link, random_pose, random_robot, random_state
from support.dynamics.small_robots import Z, joint, link, massless, robot

X = np.array([1.0, 0.0, 0.0])


def build(links: list[LinkSpec], joints: list[JointSpec], **placing: object) -> Assembly:
    return build_tree([PlacedRobot(robot(links, joints), np.eye(4), **placing)], GRAVITY)


def solid_cube(name: str, mass: float, length: float, x: float) -> PlacedRobot:
    """A free cube at x along the world's x axis."""
    inertia = mass * length**2 / 6.0 * np.eye(3)
    cube = LinkSpec(name, InertialSpec(mass, np.zeros(3), inertia))
    X_WR = np.eye(4)
    X_WR[0, 3] = x
    spec = RobotSpec(name, (cube,), (), f"{name}.urdf")
    return PlacedRobot(spec, X_WR, floating=True, base_joint_name=f"{name}_free")


def two_fingers(master: dict, follower: dict) -> Assembly:
    """A finger and, earlier in the file, one that mimics it."""
    return build(
        [link("palm"), link("left"), link("right")],
        [
            joint("left_joint", "palm", "left", mimic=MimicSpec("right_joint", -2.0, 0.25), **follower),
            joint("right_joint", "palm", "right", **master),
        ],
    )


class TestBodies:
    def test_links_behind_fixed_joints_are_one_body(self) -> None:
        """Mass, centre and inertia of the lump are those of its links."""
        rng = np.random.default_rng(0)
        links = [random_link(rng, name) for name in ("root", "a", "b", "c")]
        X_AB, X_BC = random_pose(rng), random_pose(rng)
        assembly = build(
            links,
            [
                joint("hinge", "root", "a"),
                joint("weld_b", "a", "b", "fixed", X_PJ=X_AB),
                joint("weld_c", "b", "c", "fixed", X_PJ=X_BC),
            ],
        )
        assert assembly.link_body.tolist() == [-1, 0, 0, 0]
        np.testing.assert_allclose(assembly.X_BL[2:], [X_AB, X_AB @ X_BC], atol=1e-15)
        tree = assembly.tree
        # Both sides must give every point mass distribution the same kinetic energy.
        twist = rng.normal(size=6)
        energy = 0.0
        for spec, X_BL in zip(links[1:], assembly.X_BL[1:], strict=True):
            w = X_BL[:3, :3].T @ twist[:3]
            p_BCo = X_BL[:3, :3] @ spec.inertial.p_LCo + X_BL[:3, 3]
            v = twist[3:] + np.cross(twist[:3], p_BCo)
            energy += 0.5 * (spec.inertial.mass * v @ v + w @ spec.inertial.I_LCo @ w)
        v = twist[3:] + np.cross(twist[:3], tree.p_BCo[0])
        lumped = 0.5 * (tree.mass[0] * v @ v + twist[:3] @ tree.I_BCo[0] @ twist[:3])
        assert lumped == pytest.approx(energy, rel=1e-13)

    def test_welded_robot_has_no_body(self) -> None:
        """A scene may hold nothing that moves."""
        assembly = build([link("a"), link("b")], [joint("weld", "a", "b", "fixed")])
        assert assembly.link_body.tolist() == [-1, -1]
        assert assembly.q0.shape == (0,)
        assert TreeEvaluator(assembly.tree).update(assembly.q0).mass_matrix().shape == (0, 0)

    def test_tree_is_read_only(self) -> None:
        assembly = build([link("a"), link("b")], [joint("hinge", "a", "b")])
        assert not any(array.flags.writeable for array in assembly.tree)
        assert all(array.flags.c_contiguous for array in assembly.tree)

    def test_names_and_indices_follow_the_files(self) -> None:
        arm = robot(
            [link("base"), link("slide"), link("plate")],
            [joint("rail", "base", "slide", "prismatic"), joint("table", "slide", "plate", "planar")],
        )
        box = robot([link("box"), link("lid")], [joint("hinge", "box", "lid")])
        X_WR = random_pose(np.random.default_rng(0))
        assembly = build_tree(
            [
                PlacedRobot(box, X_WR, floating=True, base_joint_name="box_free"),
                PlacedRobot(arm, X_WR),
            ],
            GRAVITY,
        )
        free = tuple(f"box_free/{k}" for k in range(6))
        assert assembly.velocity_names == (*free, "hinge", "rail", "table/x", "table/y", "table/yaw")
        assert assembly.joint_names == ("box_free", "hinge", "rail", "table")
        assert [(j.name, j.q_index, j.v_index) for j in assembly.scalar_joints] == [
            ("hinge", 7, 6),
            ("rail", 8, 7),
            ("table/x", 9, 8),
            ("table/y", 10, 9),
            ("table/yaw", 11, 10),
        ]
        assert assembly.tree.q_of_v.tolist() == [-1] * 6 + list(range(7, 12))
        assert assembly.link_tree == (
            ("world", "box"),
            ("box", "lid"),
            ("world", "base"),
            ("base", "slide"),
            ("slide", "plate"),
        )
        evaluator = TreeEvaluator(assembly.tree).update(assembly.q0)
        np.testing.assert_allclose(evaluator.body_pose(0), X_WR, atol=1e-14)
        np.testing.assert_allclose(assembly.X_BL[assembly.link_names.index("base")], X_WR)

    def test_attached_robot_moves_with_its_carrier(self) -> None:
        """Attaching equals one robot with a fixed joint."""
        rng = np.random.default_rng(0)
        arm = random_robot(rng, "arm_", 3, ("revolute",), mimic_share=0.0)
        hand = random_robot(rng, "hand_", 2, ("prismatic",), mimic_share=0.0)
        X_LH = random_pose(rng)
        weld = joint("flange", "arm_link3", "hand_link0", "fixed", X_PJ=X_LH)
        whole = robot([*arm.links, *hand.links], [*arm.joints, weld, *hand.joints])
        parts = [PlacedRobot(arm, np.eye(4)), PlacedRobot(hand, X_LH, attach_to="arm_link3")]
        apart, joined = build_tree(parts, GRAVITY), build_tree([PlacedRobot(whole, np.eye(4))], GRAVITY)
        q, v = random_state(rng, apart)
        for result, expected in zip(
            dynamics(apart, q, v),
            dynamics(joined, q, v),
            strict=True,
        ):
            np.testing.assert_array_equal(result, expected)
        assert apart.link_tree[4] == ("arm_link3", "hand_link0")

    def test_root_link_named_world_is_the_world(self) -> None:
        X_WR = random_pose(np.random.default_rng(0))
        fixture = robot([massless("world"), link("table")], [joint("weld", "world", "table", "fixed")])
        assembly = build_tree([PlacedRobot(fixture, X_WR)], GRAVITY)
        assert assembly.link_names == ("table",)
        assert assembly.link_tree == (("world", "table"),)
        np.testing.assert_array_equal(assembly.X_BL[0], X_WR)

    def test_start_lies_within_limits(self) -> None:
        assembly = build(
            [link("a"), link("b"), link("c"), link("d")],
            [
                joint("low", "a", "b", limits=LimitSpec(lower=0.5, upper=1.0)),
                joint("high", "b", "c", limits=LimitSpec(lower=-1.0, upper=-0.5)),
                joint("free", "c", "d", "continuous"),
            ],
        )
        assert assembly.q0.tolist() == [0.5, -0.5, 0.0]


def dynamics(assembly: Assembly, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    evaluator = TreeEvaluator(assembly.tree).update(q)
    return evaluator.mass_matrix(), evaluator.bias_forces(v)


class TestMimic:
    def test_indices_and_law(self) -> None:
        """A mimic joint may come before its master."""
        assembly = two_fingers({}, {})
        laws = {j.name: (j.q_index, j.v_index, j.scale, j.offset) for j in assembly.scalar_joints}
        assert laws == {"left_joint": (0, 0, -2.0, 0.25), "right_joint": (0, 0, 1.0, 0.0)}
        assert assembly.velocity_names == ("right_joint",)

    def test_losses_keep_their_power(self) -> None:
        """At any rate of the master both joints dissipate and store what they would on their own."""
        assembly = two_fingers(
            {"damping": 0.5, "friction": 0.1, "rotor_inertia": 0.2},
            {"damping": 3.0, "friction": 0.7, "rotor_inertia": 0.4},
        )
        tree, rate = assembly.tree, 1.3
        power = tree.damping[0] * rate**2 + tree.friction[0] * rate
        own, other = rate, 2.0 * rate
        assert power == pytest.approx(0.5 * own**2 + 3.0 * other**2 + 0.1 * own + 0.7 * other)
        assert tree.rotor_inertia[0] * rate**2 == pytest.approx(0.2 * own**2 + 0.4 * other**2)

    def test_limits_are_the_tighter_ones(self) -> None:
        assembly = two_fingers(
            {"limits": LimitSpec(-1.0, 1.0, velocity=2.0, effort=10.0)},
            {"limits": LimitSpec(-0.75, 1.25, velocity=3.0, effort=4.0, stiffness=100.0)},
        )
        tree = assembly.tree
        # -0.75 <= -2 q + 0.25 <= 1.25
        assert (tree.q_lower[0], tree.q_upper[0]) == (-0.5, 0.5)
        assert tree.velocity_limit[0] == 1.5
        assert tree.effort_limit[0] == 18.0
        assert tree.limit_stiffness[0] == 400.0

    def test_absent_limits_change_nothing(self) -> None:
        assembly = two_fingers({"limits": LimitSpec(-1.0, 1.0, 2.0, 10.0, 50.0)}, {})
        tree = assembly.tree
        limits = tree.q_lower, tree.q_upper, tree.velocity_limit, tree.effort_limit, tree.limit_stiffness
        assert [float(value[0]) for value in limits] == [-1.0, 1.0, 2.0, 10.0, 50.0]

    def test_limits_that_exclude_each_other(self) -> None:
        with pytest.raises(InputError, match="leave no position to 'right_joint'"):
            two_fingers({"limits": LimitSpec(0.0, 1.0)}, {"limits": LimitSpec(3.0, 4.0)})


class TestMissingInertia:
    def test_massless_leaf(self) -> None:
        with pytest.raises(InputError, match="'tip_joint' moves no inertia") as error:
            build(
                [link("base"), link("arm"), massless("tip")],
                [joint("arm_joint", "base", "arm"), joint("tip_joint", "arm", "tip")],
            )
        assert error.value.element == "link 'tip'"
        assert error.value.source == "robot.urdf"

    @pytest.mark.parametrize("X_WR", [np.eye(4), random_pose(np.random.default_rng(1), reach=20.0)])
    def test_point_mass_on_the_axis(self, X_WR: np.ndarray) -> None:
        point = LinkSpec("tip", InertialSpec(1.0, 0.3 * Z, np.zeros((3, 3))))
        spec = robot([link("base"), point], [joint("hinge", "base", "tip")])
        with pytest.raises(InputError, match="'hinge' moves no inertia"):
            build_tree([PlacedRobot(spec, X_WR)], GRAVITY)

    def test_massless_link_between_coaxial_joints(self) -> None:
        with pytest.raises(InputError, match="'first' moves no inertia") as error:
            build(
                [link("base"), massless("ring"), link("tip")],
                [joint("first", "base", "ring"), joint("second", "ring", "tip")],
            )
        assert error.value.element == "link 'ring'"

    def test_floating_point_mass(self) -> None:
        point = LinkSpec("bead", InertialSpec(1.0, np.zeros(3), np.zeros((3, 3))))
        with pytest.raises(InputError, match="'bead_free' moves no inertia"):
            build([point], [], floating=True, base_joint_name="bead_free")

    def test_massless_link_that_carries_mass(self) -> None:
        """Crossed axes leave no motion without inertia."""
        assembly = build(
            [link("base"), massless("yoke"), link("tip")],
            [joint("first", "base", "yoke"), joint("second", "yoke", "tip", axis=X)],
        )
        assert assembly.velocity_names == ("first", "second")

    def test_wrist_whose_axes_lie_along_each_other_where_it_does_not_start(self) -> None:
        """What counts is where it starts: at zero, where it does not come, its first axis is its last."""
        wrist = robot(
            [link("base"), massless("roll"), massless("pitch"), link("tool")],
            [
                joint("first", "base", "roll"),
                joint("second", "roll", "pitch", axis=X),
                joint("third", "pitch", "tool"),
            ],
        )
        placed = [PlacedRobot(wrist, np.eye(4))]
        bent = build_tree(placed, GRAVITY, [{"first": 0.0, "second": 0.8, "third": 0.0}])
        assert bent.velocity_names == ("first", "second", "third")
        assert not bent.q0.any()
        with pytest.raises(InputError, match=r"'first' moves no inertia where it starts.*start it elsewhere"):
            build_tree(placed, GRAVITY)
        with pytest.raises(InputError, match="'first' moves no inertia where it starts"):
            build_tree(placed, GRAVITY, [{"second": np.pi}])

    def test_rotor_inertia_suffices(self) -> None:
        assembly = build([link("base"), massless("tip")], [joint("hinge", "base", "tip", rotor_inertia=0.1)])
        M = TreeEvaluator(assembly.tree).update(assembly.q0).mass_matrix()
        assert M.tolist() == [[0.1]]

    def test_small_parts_are_not_mistaken_for_massless(self) -> None:
        """A bead of a milligram far out on a heavy arm is light, not massless."""
        bead = LinkSpec("bead", InertialSpec(1e-6, np.zeros(3), 1e-13 * np.eye(3)))
        heavy = LinkSpec("arm", InertialSpec(20.0, X, np.eye(3)))
        X_PJ = np.eye(4)
        X_PJ[:3, 3] = X
        assembly = build(
            [link("base"), heavy, bead],
            [joint("arm_joint", "base", "arm"), joint("bead_joint", "arm", "bead", "prismatic", X_PJ=X_PJ)],
        )
        assert assembly.velocity_names == ("arm_joint", "bead_joint")

    @pytest.mark.parametrize(
        ("small", "far"),
        [
            (solid_cube("nut", 1e-3, 5e-3, 0.0), solid_cube("box", 10.0, 0.3, 70.0)),
            (solid_cube("cube", 1e-3, 1e-3, 0.0), solid_cube("car", 2e3, 1.0, 1.0)),
            (solid_cube("grain", 1e-6, 1e-4, 0.0), solid_cube("box", 5.0, 0.2, 1.0)),
            (solid_cube("box", 1.0, 0.1, 1e5), solid_cube("other", 2.0, 0.1, 1e5 + 1.0)),
        ],
        ids=["nut", "cube", "grain", "far from the origin"],
    )
    def test_free_bodies_are_judged_on_their_own_scale(self, small: PlacedRobot, far: PlacedRobot) -> None:
        """What else the scene holds, and where the scene stands, makes no body inertia-free."""
        for placed in ([small, far], [far, small]):
            assert len(build_tree(placed, GRAVITY).velocity_names) == 12

    @pytest.mark.parametrize("x", [0.0, 1e5])
    def test_the_body_without_inertia_is_the_one_named(self, x: float) -> None:
        """Neither the small solid before it nor the heavy one behind it is blamed, wherever the scene stands."""
        bead = LinkSpec("bead", InertialSpec(1.0, 0.02 * X, np.zeros((3, 3))))
        X_WR = np.eye(4)
        X_WR[0, 3] = x
        point = PlacedRobot(
            RobotSpec("bead", (bead,), (), "bead.urdf"), X_WR, floating=True, base_joint_name="b"
        )
        with pytest.raises(InputError, match="'b' moves no inertia") as error:
            build_tree([solid_cube("nut", 1e-3, 5e-3, x), point, solid_cube("box", 10.0, 0.3, x)], GRAVITY)
        assert (error.value.element, error.value.source) == ("link 'bead'", "bead.urdf")

    def test_the_master_of_a_massless_mimic_pair_is_named(self) -> None:
        """The mimic joint comes first in the file, but the coordinate is its master's."""
        with pytest.raises(InputError, match="joint 'right_joint' moves no inertia") as error:
            build(
                [link("palm"), massless("left"), massless("right")],
                [
                    joint("left_joint", "palm", "left", mimic=MimicSpec("right_joint", 1.0, 0.0)),
                    joint("right_joint", "palm", "right"),
                ],
            )
        assert error.value.element == "link 'right'"

    def test_thin_rod_spins_freely_about_itself(self) -> None:
        """A rod with no moment about its axis is refused on that axis and accepted across it."""
        rod = LinkSpec("rod", InertialSpec(1.0, 0.5 * Z, np.diag([1 / 12, 1 / 12, 0.0])))
        with pytest.raises(InputError, match="'hinge' moves no inertia"):
            build([link("base"), rod], [joint("hinge", "base", "rod")])
        across = build([link("base"), rod], [joint("hinge", "base", "rod", axis=X)])
        assert across.velocity_names == ("hinge",)


class TestPlacing:
    @pytest.mark.parametrize(
        ("placing", "problem"),
        [
            ({"attach_to": "nowhere"}, "'nowhere'"),
            ({"attach_to": "base", "floating": True, "base_joint_name": "free"}, "at once"),
        ],
    )
    def test_unusable_base(self, placing: dict, problem: str) -> None:
        carrier = PlacedRobot(robot([link("base")], []), np.eye(4))
        hand = robot([link("hand")], [])
        with pytest.raises(InputError, match=problem):
            build_tree([carrier, PlacedRobot(hand, np.eye(4), **placing)], GRAVITY)

    def test_link_that_occurs_twice(self) -> None:
        spec = robot([link("base")], [])
        with pytest.raises(InputError, match="link 'base': the name occurs twice"):
            build_tree([PlacedRobot(spec, np.eye(4)), PlacedRobot(spec, np.eye(4))], GRAVITY)

    def test_joint_that_occurs_twice(self) -> None:
        spec = robot([link("a"), link("b")], [joint("free", "a", "b")])
        with pytest.raises(InputError, match="joint 'free': the name occurs twice"):
            build_tree([PlacedRobot(spec, np.eye(4), floating=True, base_joint_name="free")], GRAVITY)

    def test_world_that_moves(self) -> None:
        with pytest.raises(InputError, match="link 'world'"):
            build([link("world")], [], floating=True, base_joint_name="free")

    def test_world_with_geometry(self) -> None:
        visual = VisualSpec("floor", ShapeSpec("half_space"), np.eye(4))
        with pytest.raises(InputError, match="link 'world'"):
            build([dataclasses.replace(massless("world"), visuals=(visual,))], [])

    def test_half_turn_gives_a_unit_quaternion(self) -> None:
        """No pose is special for the coordinates of a floating base."""
        X_WR = np.eye(4)
        X_WR[:3, :3] = Rotation.from_rotvec(np.pi * X).as_matrix()
        assembly = build_tree(
            [PlacedRobot(robot([link("box")], []), X_WR, floating=True, base_joint_name="free")], GRAVITY
        )
        np.testing.assert_allclose(assembly.q0, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], atol=1e-15)
