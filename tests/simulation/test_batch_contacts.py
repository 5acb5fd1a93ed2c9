"""What the worlds of a batch tell of their last step: contact on links, poses, sensors; whoever took the step."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.batches import side_by_side
from support.simulation.made_scenes import G, box, fixed, free, make_scene, slider
from support.simulation.side_by_side import MAKERS, Maker, host, host_program, made_side_by_side

N = 5
FROZEN, FAST = 1, 3
LINKS = ("brick", "rail", "cart")


def scene(x: float = 0.0, mass: float = 0.5) -> Any:
    """A box on the ground, and a rail that stands above it."""
    return make_scene(
        fixed(slider(), xyz=(1.0 + x, 0.0, 1.0), rpy=(0.0, 0.0, x)),
        free(box("brick", (0.1, 0.08, 0.06), mass, mu=0.4), xyz=(x, 0.0, 0.0299)),
        environment=[{"name": "ground", "kind": "half_space"}],
        solver={"integrator": "fixed"},
    )


@pytest.fixture(params=MAKERS)
def maker(request: pytest.FixtureRequest) -> Maker:
    return MAKERS[request.param]


@pytest.fixture
def batch(maker: Maker) -> hs.BatchWorld:
    """Worlds whose boxes slide, one slower than the other."""
    return thrown(maker(scene(), N))


def thrown(batch: hs.BatchWorld) -> hs.BatchWorld:
    v = host(batch.v)
    v[:, -3] = np.linspace(0.1, 0.5, N)
    batch.set_state(host(batch.q), v)
    return batch


def told(world: hs.World) -> list[Any]:
    """What a world tells of its last step."""
    patches = [
        [*p.force_on_b, *p.moment_on_b_at_reference, p.area, p.num_faces, *p.faces.areas]
        for p in world.contacts
    ]
    joints = [world.joint_wrench(name).tolist() for name in ("rail_joint", "brick_1_base")]
    return [patches, joints, [world.contact_wrench(link).tolist() for link in LINKS]]


def test_contact_on_a_link_is_what_its_patches_apply():
    """Torque about the link's origin, action and reaction, and the weight of what rests."""
    world = hs.World(scene())
    world.step(400)
    (patch,) = world.contacts
    wrench, origin = world.contact_wrench("brick"), world.frame_pose("brick")[:3, 3]
    sign = 1.0 if patch.name_b == "brick" else -1.0
    np.testing.assert_allclose(wrench[3:], sign * patch.force_on_b, rtol=1e-12)
    np.testing.assert_allclose(wrench[:3], sign * patch.moment_on_b(origin), atol=1e-12)
    np.testing.assert_allclose(wrench, [0, 0, 0, 0, 0, 0.5 * G], atol=1e-5)
    assert np.array_equal(world.contact_wrench("brick", "ground"), wrench)
    assert not world.contact_wrench("cart").any()
    # The ground has no frame of its own: its torque is about the world's origin.
    on_ground = world.contact_wrench("ground")
    np.testing.assert_array_equal(on_ground[3:], -wrench[3:])
    np.testing.assert_allclose(on_ground[:3], -sign * patch.moment_on_b(np.zeros(3)), atol=1e-12)


@pytest.mark.parametrize("speed", [0.0, 1.0, 10.0])
def test_what_contact_applies_changes_momentum(speed):
    """Of a box that slides, its spin about its centre, too: forces act where they do at the begin of a step.

    What is left is of its turning within a step.
    """
    world = hs.World(scene())
    world.step(100)
    world.place("brick_1", None, [0, 0, 0, speed, 0.3 * speed, 0])
    for _ in range(5):
        before = world.v[-6:]
        world.step()
        change = (world.v[-6:] - before) / world.time_step
        inertia = np.diag(world.built.model.tree.I_BCo[-1])
        wrench = world.contact_wrench("brick")
        np.testing.assert_allclose(wrench[3:], 0.5 * np.add(change[3:], [0, 0, G]), atol=1e-7 * (1 + speed))
        np.testing.assert_allclose(
            wrench[:3], inertia * change[:3], atol=1e-3 * np.abs(wrench[:3]).max() + 1e-9
        )


def test_forces_between_two_links_are_action_and_reaction():
    world = hs.load_scene("cylinder_grasp")
    world.step(300)
    fingers = [world.contact_wrench(f"{side}_finger", "cylinder") for side in ("left", "right")]
    on_cylinder = [world.contact_wrench("cylinder", f"{side}_finger") for side in ("left", "right")]
    for finger, reaction in zip(fingers, on_cylinder, strict=True):
        np.testing.assert_allclose(finger[3:], -reaction[3:], rtol=1e-12)
    np.testing.assert_allclose(sum(on_cylinder), world.contact_wrench("cylinder"), atol=1e-12)
    assert np.linalg.norm(fingers[0]) > 1.0
    # It hangs between them.
    weight = world.link_masses.mass[world.frame_names.index("cylinder")] * G
    assert world.contact_wrench("cylinder")[5] == pytest.approx(weight, rel=1e-3)


def test_worlds_tell_what_they_would_tell_alone(batch):
    alone = [batch.copy_of(i) for i in range(N)]
    for n in (1, 40):
        batch.step(n)
        for i, world in enumerate(alone):
            world.step(n)
            assert told(batch.copy_of(i)) == told(world), i
            for link in (*LINKS, "ground"):
                np.testing.assert_allclose(
                    host(batch.contact_wrench(link))[i], world.contact_wrench(link), rtol=1e-14, atol=1e-17
                )
    assert np.all(host(batch.contact_wrench("brick", "ground"))[:, 5] > 0.9 * 0.5 * G)


def test_a_wrench_that_has_ended_does_not_count_in_later_steps(batch):
    """A force-torque sensor knows what pushed during the step, not what pushes since."""
    wrench = np.zeros((N, 6))
    wrench[:, 3] = 20.0
    batch.apply_wrench("cart", wrench)
    batch.step(2)
    expected = batch.copy_of(0).joint_wrench("rail_joint")
    batch.apply_wrench("cart", np.zeros((N, 6)))
    np.testing.assert_allclose(batch.copy_of(0).joint_wrench("rail_joint"), expected, atol=1e-12)


def test_steps_in_pieces_and_failed_ones_are_told_as_alone(batch):
    batch.step(1)
    assert batch.copy_of(FROZEN).contacts
    q, v = host(batch.q), host(batch.v)
    q[FAST, -1] = 0.05
    v[FAST, -1] = -60.0
    v[FROZEN, -6:-3] = 1e200
    batch.set_state(q, v)
    alone = [batch.copy_of(i) for i in range(N)]
    batch.step(3)
    assert list(batch.failures) == [FROZEN]
    for i in set(range(N)) - {FROZEN}:
        alone[i].step(3)
        assert told(batch.copy_of(i)) == told(alone[i]), i
    assert alone[FAST].diagnostics()["fast_steps"] > 0
    assert abs(host(batch.contact_wrench("brick"))[FAST, 5] - alone[FAST].contact_wrench("brick")[5]) < 1e-9
    assert not batch.copy_of(FROZEN).contacts
    assert not host(batch.contact_wrench("brick"))[FROZEN].any()
    batch.step(2)
    assert not batch.copy_of(FROZEN).contacts


def test_a_piece_of_a_step_tells_its_impact(batch):
    """Of the step in which it lands, not of a try that was too long."""
    q, v = host(batch.q), host(batch.v)
    q[FAST, -1] = 0.06
    v[FAST, -1] = -60.0
    batch.set_state(q, v)
    alone = batch.copy_of(FAST)
    batch.step(1)
    alone.step(1)
    assert alone.diagnostics()["fast_steps"] == 1
    assert alone.contact_wrench("brick")[5] > 1e3
    assert told(batch.copy_of(FAST)) == told(alone)
    np.testing.assert_allclose(
        host(batch.contact_wrench("brick"))[FAST], alone.contact_wrench("brick"), rtol=1e-14, atol=1e-12
    )


def test_worlds_that_start_anew_touch_nothing(batch):
    batch.step(5)
    saved = batch.save(2)
    batch.reset([0])
    batch.load(3, saved)
    assert np.any(host(batch.contact_wrench("brick")), axis=1).tolist() == [False, True, True, False, True]
    for i in (0, 3):
        copy = batch.copy_of(i)
        assert not copy.contacts
        assert copy.diagnostics()["patches"] == 0
        assert copy.before_last_step is None
        assert not copy.machine.scratch.effort.any()
    batch.step(1)
    assert np.all(host(batch.contact_wrench("brick"))[:, 5] > 1.0)


def test_worlds_whose_state_is_set_touch_nothing_until_they_step(batch):
    """The first observation of an episode is not the last one of the episode before."""
    batch.step(5)
    q, v = host(batch.q), host(batch.v)
    q[:, -1] += 1.0
    batch.set_state(q[1:3], v[1:3], [1, 2])
    assert np.any(host(batch.contact_wrench("brick")), axis=1).tolist() == [True, False, False, True, True]
    for i in (1, 2):
        assert batch.copy_of(i).before_last_step is None
        assert not batch.copy_of(i).contact_wrench("brick").any()


def test_joints_carry_the_masses_that_worlds_have(batch):
    """A sensor in a joint weighs the body of its world, and not that of the scene."""
    shares = batch.numpy.linspace(0.5, 1.5, N)
    for name in ("mass", "inertia"):
        rows = batch.parameters[name]
        rows[...] *= shares.reshape(-1, *(1,) * (rows.ndim - 1))
    batch.set_state(host(batch.q), np.zeros(batch.v.shape))
    batch.step(60)
    read = np.array([batch.copy_of(i).joint_wrench("rail_joint") for i in range(N)])
    np.testing.assert_allclose(read[:, 5], -2.0 * G * np.linspace(0.5, 1.5, N), rtol=1e-9)


@pytest.mark.parametrize("few", [1, 10**9])
def test_more_faces_than_there_is_room_for_are_told_as_well(monkeypatch, few):
    """By whom the step is taken makes no difference: the processor, or all in a larger memory."""
    monkeypatch.setattr(side_by_side, "_faces_of_a_step", lambda world: 0)
    monkeypatch.setattr(side_by_side, "LEAST_FACES", 1)
    monkeypatch.setattr(side_by_side, "FEW", few)
    batch = made_side_by_side(scene(), N)
    q = host(batch.q)
    q[: N - 2, -1] = 1.0  # most fly: only two find faces, and the others have taken their steps before
    batch.set_state(q, host(batch.v))
    alone = [batch.copy_of(i) for i in range(N)]
    for _ in range(2):
        batch.step(1)
        for i, world in enumerate(alone):
            world.step(1)
            assert told(batch.copy_of(i)) == told(world), i
            np.testing.assert_allclose(
                batch.contact_wrench("brick")[i], world.contact_wrench("brick"), rtol=1e-14
            )
        assert (batch.contact_wrench("brick")[:, 5] > 0.0).tolist() == [False] * 3 + [True] * 2


def test_a_larger_memory_keeps_what_finished_worlds_tell(monkeypatch):
    monkeypatch.setattr(side_by_side, "FEW", 10**9)
    batch = made_side_by_side(scene(), N)
    batch.step(2)
    expected = [told(batch.copy_of(i)) for i in range(N)]
    worlds = batch._worlds
    worlds._memory.in_lanes("machine.scratch.faces_needed")[...] = 10 * worlds._faces
    worlds._make_room()
    assert [told(batch.copy_of(i)) for i in range(N)] == expected


def test_poses_of_links_are_those_of_each_world(maker):
    """Also where scenes put what is fixed to other places."""
    batch = thrown(maker([scene(), scene(0.3, 1.0)], N))
    batch.step(7)
    poses = host(batch.frame_poses())
    for i in range(N):
        np.testing.assert_allclose(poses[i], batch.copy_of(i).frame_poses(), atol=1e-15)
    assert np.array_equal(host(batch.frame_pose("cart")), poses[:, batch.world.frame_names.index("cart")])
    assert poses[0, 0, 0, 3] != poses[1, 0, 0, 3]


def test_twists_of_links_are_those_of_each_world(maker):
    """Of a link also about the origin of its frame, as its Jacobian has it."""
    batch = maker([scene(), scene(0.3, 1.0)], N)
    batch.step(7)
    v = np.random.default_rng(0).normal(size=host(batch.v).shape)
    batch.set_state(host(batch.q), v)
    twists, copies = host(batch.frame_twists()), [batch.copy_of(i) for i in range(N)]
    for i, copy in enumerate(copies):
        np.testing.assert_allclose(twists[i], copy.frame_twists(), rtol=1e-13, atol=1e-14)
    for name in ("cart", "brick"):
        told = host(batch.frame_twist(name))
        for i, copy in enumerate(copies):
            np.testing.assert_allclose(told[i], copy.frame_twist(name), rtol=1e-13, atol=1e-14)
            np.testing.assert_allclose(told[i], copy.frame_jacobian(name) @ copy.v, rtol=1e-12, atol=1e-13)
    assert np.abs(told).min() > 1e-3
    with pytest.raises(InputError, match="frame_twist"):
        batch.frame_twist("nobody")


def test_poses_of_a_world_without_bodies(maker):
    rail = fixed(slider(joint="weld", kind="fixed"), xyz=(0.5, 0.0, 0.0))
    batch = maker(make_scene(rail, solver={"integrator": "fixed"}), 2)
    assert host(batch.frame_pose("cart"))[:, 0, 3].tolist() == [0.5, 0.5]


def test_quaternions_that_are_set_are_normalised_as_alone(batch):
    q, world = host(batch.q), batch.copy_of(0)
    q[:, -7:-3] = np.array([0.3, 0.1, -0.2, 2.0])
    batch.set_state(q, host(batch.v))
    world.set_state(q[0], world.v)
    assert np.array_equal(host(batch.q)[0], world.q)
    assert np.linalg.norm(host(batch.q)[:, -7:-3], axis=1) == pytest.approx(np.ones(N), abs=1e-15)


def test_what_cannot_be_set_changes_nothing(batch):
    before, q = host(batch.q), host(batch.q)
    q[N - 1, -7:-3] = 0.0
    with pytest.raises(InputError, match="has a zero quaternion; give unit ones"):
        batch.set_state(q + 0.1 * (q != 0.0), host(batch.v))
    assert np.array_equal(host(batch.q), before)
    with pytest.raises(InputError, match="link 'rail': is fixed to the world; push a link that forces move"):
        batch.apply_wrench("rail", np.ones((N, 6)))


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (("brik",), "link 'brik': is not in the scene; did you mean 'brick'?"),
        (("brick", "grund"), "link 'brick': cannot touch 'grund'; did you mean 'ground'?"),
        (("brick", "rail"), "link 'brick': cannot touch 'rail'; use one of 'ground'"),
        (("cart", "ground"), "link 'cart': cannot touch 'ground'; it can touch nothing"),
        (("brick", 3), "link 'brick': cannot touch '3'"),
    ],
)
def test_links_that_do_not_touch_are_told(batch, names, problem):
    for asked in (batch, batch.copy_of(0)):
        with pytest.raises(InputError) as caught:
            asked.contact_wrench(*names)
        assert problem in str(caught.value)


@pytest.mark.long
def test_the_program_for_a_gpu_tells_of_its_steps():
    batch = thrown(made_side_by_side(scene(), N, host_program))
    alone = [batch.copy_of(i) for i in range(N)]
    batch.step(30)
    for i, world in enumerate(alone):
        world.step(30)
        assert told(batch.copy_of(i)) == told(world), i
        np.testing.assert_allclose(
            batch.contact_wrench("brick")[i], world.contact_wrench("brick"), rtol=1e-14
        )
