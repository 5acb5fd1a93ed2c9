"""Batches: every world goes its own way, to the bits that it would have alone, and ends alone when it fails."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.batches import host_memory, programs, side_by_side
from hydro_sim_core.simulation.batches.programs import CudaProgram
from hydro_sim_core.simulation.batches.side_by_side import SideBySideWorlds
from hydro_sim_core.solvers.solve import solver_entry
from support.simulation.made_scenes import box, free, make_scene, slider
from support.simulation.side_by_side import has_gpu, host, host_program, made_side_by_side

N = 5
SCENE = make_scene(
    free(box("brick", (0.1, 0.08, 0.06), 0.5, mu=0.4), xyz=(0.0, 0.0, 0.0299)),
    environment=[{"name": "ground", "kind": "half_space"}],
    solver={"integrator": "fixed"},
)
FAST, FROZEN = 3, 1


MAKERS = {"cpu": lambda: hs.BatchWorld(SCENE, N, "cpu"), "side by side": lambda: made_side_by_side(SCENE, N)}
if has_gpu():
    MAKERS["cuda"] = lambda: hs.BatchWorld(SCENE, N, "cuda")


@pytest.fixture(params=MAKERS)
def batch(request: pytest.FixtureRequest) -> hs.BatchWorld:
    """A batch whose worlds differ in friction, mass and speed."""
    made = MAKERS[request.param]()
    shares = made.numpy.linspace(0.5, 1.5, N)[:, None]
    made.parameters["friction"][...] *= shares
    made.parameters["mass"][...] *= shares
    v = np.zeros(made.v.shape)
    v[:, 3] = 0.5
    made.set_state(host(made.q), v)
    return made


def test_each_world_has_the_bits_that_it_has_alone(batch):
    alone = [batch.copy_of(i) for i in range(N)]
    batch.step(1)
    batch.step(40)
    for i, world in enumerate(alone):
        world.step(41)
        assert np.array_equal(host(batch.q)[i], world.q)
        assert np.array_equal(host(batch.v)[i], world.v)
        told, own = batch.copy_of(i).contacts, world.contacts
        assert [p.force_on_b.tolist() for p in told] == [p.force_on_b.tolist() for p in own] != []
    assert batch.step_counts.tolist() == N * [41]
    # They slide as far as friction lets each: the worlds differ.
    assert np.all(np.diff(host(batch.q)[:, 4]) < -1e-4)


def test_parameters_are_those_of_the_steps(batch):
    """Twice the mass presses twice as hard on the ground."""
    batch.set_state(host(batch.q), np.zeros(batch.v.shape))
    batch.step(60)
    forces = np.array([abs(batch.copy_of(i).contacts[0].force_on_b[2]) for i in range(N)])
    assert forces == pytest.approx(0.5 * 9.81 * np.linspace(0.5, 1.5, N), rel=1e-4)


def test_copies_keep_their_parameters(batch):
    copy, untouched = batch.copy_of(1), batch.copy_of(1)
    batch.parameters["friction"][1] = 0.0
    batch.step(5)
    for world in (copy, untouched):
        world.step(5)
    assert np.array_equal(copy.q, untouched.q)
    assert host(batch.q)[1, 4] > copy.q[4] + 1e-5


def test_a_fast_world_is_taken_in_pieces_and_a_failing_one_is_frozen(batch):
    q, v = host(batch.q), host(batch.v)
    q[FAST, 6] = 0.05
    v[FAST, 5] = -60.0
    v[FROZEN, :3] = 1e200
    batch.set_state(q, v)
    alone = [batch.copy_of(i) for i in range(N)]
    batch.step(10)
    assert list(batch.failures) == [FROZEN]
    with pytest.raises(FloatingPointError, match="overflows") as failed:
        alone[FROZEN].step(10)
    assert batch.failures[FROZEN] == str(failed.value)
    assert np.array_equal(host(batch.q)[FROZEN], q[FROZEN])
    for i in set(range(N)) - {FROZEN}:
        alone[i].step(10)
        assert np.array_equal(host(batch.q)[i], alone[i].q), i
    assert alone[FAST].diagnostics()["fast_steps"] > 0
    batch.reset([FROZEN])
    assert not batch.failures
    batch.step(2)
    assert batch.step_counts.tolist() == [12 if i != FROZEN else 2 for i in range(N)]


def test_saved_worlds_go_on_to_the_same_bits(batch):
    batch.step(7)
    saved = batch.save(2)
    batch.step(20)
    then = host(batch.q)[2]
    batch.load(2, saved)
    assert batch.step_counts.tolist() == [27, 27, 7, 27, 27]
    batch.step(20)
    assert np.array_equal(host(batch.q)[2], then)


def test_wrenches_act_on_their_world_alone(batch):
    q, v = host(batch.q), np.zeros(batch.v.shape)
    batch.set_state(q, v)
    wrench = np.zeros((N, 6))
    wrench[4, 3] = 50.0
    batch.apply_wrench(batch.world.frame_names[-1], wrench)
    batch.step(5)
    v = host(batch.v)
    assert v[4, 3] > 0.1
    assert np.all(np.abs(v[:4, 3]) < 1e-6)


def test_memory_grows_when_many_worlds_find_more_faces(monkeypatch):
    """The same bits, whoever takes the steps: the processor for a few worlds, a larger memory for many."""
    monkeypatch.setattr(side_by_side, "_faces_of_a_step", lambda world: 0)
    monkeypatch.setattr(side_by_side, "LEAST_FACES", 1)
    expected = hs.BatchWorld(SCENE, N, "cpu")
    expected.step(5)
    for few in (1, 10**9):
        monkeypatch.setattr(side_by_side, "FEW", few)
        grown = made_side_by_side(SCENE, N)
        before = grown._worlds._faces
        grown.step(5)
        assert np.array_equal(grown.q, expected.q)
        assert (grown._worlds._faces > before) == (few > 1)


def test_scripts_command_all_worlds_and_refuse_other_times():
    rail = {"robot": slider(), "base": "fixed"}
    scene = make_scene(
        rail,
        actuators=[{"joints": ["rail_joint"], "mode": "velocity", "kd": 100.0}],
        commands=[{"joint": "rail_joint", "signal": {"square": {"high": 1.0, "low": -1.0, "period": 0.008}}}],
        solver={"integrator": "fixed"},
    )
    batch, alone = made_side_by_side(scene, N), hs.World(scene)
    batch.step(13)
    alone.step(13)
    assert np.array_equal(batch.q, np.repeat(alone.q[None], N, axis=0))
    with pytest.raises(InputError, match="scripts commands"):
        batch.reset([1])
    saved = batch.save(1)
    batch.load(2, saved)
    batch.step()
    with pytest.raises(InputError, match="load: world 2: would have another time than the others"):
        batch.load(2, saved)
    batch.reset()
    batch.step(13)
    batch.reset()
    batch.step(13)
    assert np.array_equal(batch.q[3], alone.q)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda: hs.BatchWorld(SCENE, 0), "BatchWorld: n: 0 is too small"),
        (lambda: hs.BatchWorld(SCENE, 2, "gpu"), "give one of cpu, cuda, auto"),
        (lambda: hs.BatchWorld("drop_box", 2), "is no scene"),
        (lambda: hs.BatchWorld(SCENE, 2, "cpu").reset([2]), "give numbers below 2"),
        (lambda: hs.BatchWorld(SCENE, 2, "cpu").copy_of(-1), "give a number below 2"),
        (lambda: hs.BatchWorld(SCENE, 2, "cpu").set_state(np.zeros((2, 7)), np.zeros((1, 6))), "give (2, 6)"),
        (lambda: hs.BatchWorld(SCENE, 2, "cpu").set_state(np.full((2, 7), np.nan), np.zeros((2, 6))), "NaN"),
        (lambda: hs.BatchWorld(SCENE, 2, "cpu").step(-1), "step: n"),
        (lambda: hs.BatchWorld(SCENE, 2, "cpu").apply_wrench("wing", np.zeros((2, 6))), "wing"),
    ],
)
def test_wrong_input_is_told(ask, told):
    with pytest.raises(InputError) as caught:
        ask()
    assert told in str(caught.value)


def test_scenes_that_a_gpu_does_not_step_are_refused():
    other = make_scene(free(box("brick", (0.1, 0.1, 0.1), 1.0)), solver={"accuracy": 1e-5})
    with pytest.raises(InputError, match="does not run on a GPU; give backend='cpu'"):
        hs.BatchWorld(other, 2, "cuda")


def test_auto_runs_them_on_the_processor(monkeypatch):
    gpu = SimpleNamespace(cuda=SimpleNamespace(runtime=SimpleNamespace(getDeviceCount=lambda: 1)))
    monkeypatch.setitem(sys.modules, "cupy", gpu)
    other = make_scene(free(box("brick", (0.1, 0.1, 0.1), 1.0)), solver={"accuracy": 1e-5})
    assert hs.BatchWorld(other, 2).backend == "cpu"


@pytest.mark.parametrize(
    ("count", "told"), [(0, "finds no GPU"), (-1, "finds no usable GPU \\(driver too old\\)")]
)
def test_gpus_that_cannot_be_used_are_told(monkeypatch, count, told):
    class CUDARuntimeError(RuntimeError):
        pass

    def count_devices() -> int:
        if count < 0:
            raise CUDARuntimeError("driver too old")
        return count

    runtime = SimpleNamespace(getDeviceCount=count_devices, CUDARuntimeError=CUDARuntimeError)
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=SimpleNamespace(runtime=runtime)))
    with pytest.raises(InputError, match=f"{told}; give backend='cpu'"):
        hs.BatchWorld(SCENE, 2, "cuda")
    assert hs.BatchWorld(SCENE, 2).backend == "cpu"


def test_without_cupy_the_processor_is_taken(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    assert hs.BatchWorld(SCENE, 2).backend == "cpu"
    with pytest.raises(
        InputError, match=r"needs CuPy, which is not installed; install hydro-sim-core\[gpu\]"
    ):
        hs.BatchWorld(SCENE, 2, "cuda")


class FullGpu:
    """What a GPU with a gigabyte of free memory says."""

    class cuda:
        class runtime:
            @staticmethod
            def memGetInfo() -> tuple[int, int]:
                return 10**9, 2 * 10**9

    @staticmethod
    def get_default_memory_pool() -> Any:
        return type("Pool", (), {"free_bytes": staticmethod(lambda: 0)})


def test_too_many_worlds_are_refused_with_the_number_that_fit():
    world = hs.World(SCENE)
    with pytest.raises(
        InputError, match=r"needs .* GB where the GPU has 1.0 GB free; give at most \d+"
    ) as caught:
        SideBySideWorlds(
            [world], np.zeros(10**6, dtype=np.int64), 16, FullGpu, lambda plan: None, lambda array: 0
        )
    most = int(caught.value.mend.split()[-1])
    assert 0 < most < 10**6
    assert most % 16 == 0


@pytest.mark.parametrize(
    ("files", "free"),
    [
        ({"machine": "MemTotal: 9 kB\nMemAvailable:  4000000 kB\n"}, 4.096e9),
        ({"machine": "MemAvailable: 4000000 kB\n", "limit": "3000000000\n", "used": "1000000000\n"}, 2e9),
        ({"machine": "MemAvailable: 4000000 kB\n", "limit": "max\n", "used": "1000000000\n"}, 4.096e9),
        (
            {
                "machine": "MemAvailable: 4000000 kB\n",
                "limit": "3000000000\n",
                "used": "2500000000\n",
                "shares": "anon 500000000\ninactive_file 2000000000\n",
            },
            2.5e9,
        ),
        ({}, np.inf),
    ],
)
def test_more_worlds_than_the_machine_has_memory_for_are_refused(monkeypatch, tmp_path, files, free):
    """The system would have ended the process."""
    for name in ("machine", "limit", "used", "shares"):
        if name in files:
            (tmp_path / name).write_text(files[name])
        monkeypatch.setattr(host_memory, f"_{name.upper()}", tmp_path / name)
    assert host_memory.available_bytes() == free
    if np.isfinite(free):
        told = rf"n = 1000000000000: needs .* GB where {free / 1e9:.1f} GB are free; give at most \d+"
        with pytest.raises(InputError, match=told) as caught:
            hs.BatchWorld(SCENE, 10**12, "cpu")
        assert 100 < int(caught.value.mend.split()[-1]) < 1e6


@pytest.mark.long
def test_the_program_for_a_gpu_has_the_bits_of_single_worlds():
    batch = made_side_by_side(SCENE, N, host_program)
    v = np.zeros_like(batch.v)
    v[:, 3] = np.linspace(0.1, 0.5, N)
    batch.set_state(np.array(batch.q), v)
    alone = [batch.copy_of(i) for i in range(N)]
    batch.step(100)
    for i, world in enumerate(alone):
        world.step(100)
        assert np.array_equal(batch.q[i], world.q)
        assert np.array_equal(batch.v[i], world.v)


class RecordedGpu:
    """CuPy's part in launches: what is loaded, copied and launched."""

    def __init__(self) -> None:
        self.copies: list[int] = []
        self.launches: list[tuple[Any, ...]] = []
        recorded = self

        class Runtime:
            memcpyHostToDevice = 1

            @staticmethod
            def memcpy(target: int, source: int, size: int, kind: int) -> None:
                recorded.copies.append(size)

        class RawModule:
            def __init__(self, path: str) -> None:
                assert Path(path).read_bytes() == b"code"

            def get_function(self, name: str) -> Any:
                return lambda *how: recorded.launches.append(how)

            def get_global(self, name: str) -> Any:
                return SimpleNamespace(ptr=0)

        self.RawModule = RawModule
        self.cuda = SimpleNamespace(runtime=Runtime)


@pytest.mark.parametrize(("n", "blocks"), [(1, 1), (32, 1), (33, 2), (8192, 256)])
def test_every_world_gets_a_thread_and_places_are_copied_once(n, blocks):
    """16 worlds a warp, two warps a block; a copy a step would wait for the GPU."""
    gpu = RecordedGpu()
    program = CudaProgram(gpu, b"code", 16)
    memory = SimpleNamespace(n=n, places=np.zeros(5, dtype=np.int64))
    for _ in range(3):
        program.run(memory, 0.001)
    assert gpu.copies == [40]
    assert gpu.launches == 3 * [((blocks,), (64,), (0.001,))]


def test_programs_are_kept_for_their_scene(monkeypatch, tmp_path):
    """Compiled once for a scene; again for another room for faces, another processor, another solver."""
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path))
    made = []

    def compiled(plan: Any, solve: Any, processor: str, threads: int) -> bytes:
        made.append(processor)
        return f"{len(made)}".encode()

    monkeypatch.setattr(programs, "compiled", compiled)
    batch, solve = made_side_by_side(SCENE, N), solver_entry("newton", "lagged")
    plan = batch._worlds._memory.plan
    assert [programs.stored_ptx(plan, solve, "sm_90") for _ in range(3)] == [b"1", b"1", b"1"]
    assert programs.stored_ptx(plan, solve, "sm_80") == b"2"
    assert programs.stored_ptx(plan, solver_entry("pgs", "lagged"), "sm_90") == b"3"
    batch._worlds._faces *= 2
    assert programs.stored_ptx(batch._worlds._placed().plan, solve, "sm_90") == b"4"
    assert programs.stored_ptx(made_side_by_side(SCENE, N)._worlds._memory.plan, solve, "sm_90") == b"1"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("friction", np.nan, "friction is nan; give a number of at least 0"),
        ("joint_damping", -1.0, "joint_damping is -1; give a number of at least 0"),
        ("mass", -1.0, "mass is -1"),
        ("wrench", np.nan, "wrench is nan; give a number"),
    ],
)
@pytest.mark.parametrize("maker", MAKERS)
def test_a_world_with_what_is_no_number_is_told_and_the_others_go_on(maker, name, value, why):
    """Where the body rested, such a world stood still and counted as good; negative damping never ended."""
    batch, alone = MAKERS[maker](), MAKERS[maker]()
    rows = batch._worlds.rows["machine.loads.wrench"] if name == "wrench" else batch.parameters[name]
    rows[0] = value
    for one in (batch, alone):
        one.step(3)
    assert why in batch.failures[0]
    assert batch.step_counts.tolist() == [0] + (N - 1) * [3]
    assert np.array_equal(host(batch.q)[1:], host(alone.q)[1:])
    rows[0] = abs(host(rows)[1])
    batch.reset([0])
    batch.step(3)
    assert not batch.failures
    assert np.array_equal(host(batch.q)[0], host(alone.q)[0])


def test_parameters_may_be_assigned(batch):
    """An assignment without ``[...]`` had no effect."""
    batch.parameters["friction"] = 0.25
    assert np.all(host(batch.parameters["friction"]) == 0.25)
    batch.parameters["mass"] = host(batch.parameters["mass"]) * 2.0
    assert set(batch.parameters) >= {"mass", "friction", "dissipation"}
    for name, value, told in (
        ("colour", 1.0, "parameter 'colour': is none; give one of mass, "),
        (
            "mass",
            np.zeros(3),
            r"parameter 'mass': array\(\[0., 0., 0.\]\) does not fit; give numbers of shape \(5, 1\)",
        ),
        ("mass", "heavy", "parameter 'mass': 'heavy' does not fit"),
    ):
        with pytest.raises(InputError, match=told):
            batch.parameters[name] = value


def test_no_worlds_may_be_reset(batch):
    """As a filter may find none."""
    batch.step(3)
    batch.reset([])
    batch.reset(np.flatnonzero(host(batch.q)[:, 0] > 1e6))
    assert batch.step_counts.tolist() == N * [3]


def test_worlds_are_chosen_by_a_mask(batch):
    """What tells which worlds are done is a mask; it was told to be no numbers below n."""
    numpy = batch.numpy
    batch.step(3)
    done = numpy.arange(N) % 2 == 0
    batch.reset(done)
    assert batch.step_counts.tolist() == [0, 3, 0, 3, 0]
    batch.reset([False, True, False, False, False])
    assert batch.step_counts.tolist() == [0, 0, 0, 3, 0]
    batch.reset(numpy.zeros(N, dtype=bool))
    assert batch.step_counts.tolist() == [0, 0, 0, 3, 0]
    q, v = host(batch.q)[:2] + 0.5 * np.eye(7)[4], host(batch.v)[:2]
    batch.set_state(q, v, worlds=~done)
    assert np.array_equal(host(batch.q)[[1, 3]], q)
    wrench = np.tile([0.0, 0.0, 0.0, 50.0, 0.0, 0.0], (2, 1))
    batch.set_state(host(batch.q) + np.eye(7)[6], np.zeros(batch.v.shape))
    batch.apply_wrench("brick", wrench, worlds=~done)
    batch.step(2)
    assert np.flatnonzero(np.abs(host(batch.v)[:, 3]) > 0.1).tolist() == [1, 3]


def test_masks_and_numbers_come_from_a_gpu():
    """NumPy refuses arrays of CuPy: they are copied by their own library."""

    class OnGpu:
        def __init__(self, values):
            self.values = np.asarray(values)

        def __array__(self, *_, **__):
            raise TypeError("Implicit conversion to a NumPy array is not allowed.")

        def get(self):
            return self.values

    batch = made_side_by_side(SCENE, N)
    batch.step(2)
    asarray = {
        "asarray": staticmethod(lambda given: given if isinstance(given, OnGpu) else np.asarray(given))
    }
    batch._worlds.numpy = type("CuPy", (), {**vars(np), **asarray})
    batch.reset(OnGpu([True, False, False, False, True]))
    assert batch.step_counts.tolist() == [0, 2, 2, 2, 0]
    batch.reset(OnGpu([2]))
    assert batch.step_counts.tolist() == [0, 2, 0, 2, 0]
    assert batch.copy_of(OnGpu(3)).step_count == 2


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (
            lambda b: b.reset(np.ones(3, dtype=bool)),
            "worlds: are a mask of shape (3,) for 5 worlds; give one of",
        ),
        (lambda b: b.reset(np.zeros(0, dtype=bool)), "are a mask of shape (0,)"),
        (lambda b: b.reset(np.ones((N, 1), dtype=bool)), "are a mask of shape (5, 1)"),
        (lambda b: b.set_state(b.q, b.v, [True]), "are a mask of shape (1,)"),
        (lambda b: b.reset([0.5]), "give numbers below 5, or a mask of shape (5,)"),
        (lambda b: b.reset([[0], [1, 2]]), "are none of these; give numbers below 5"),
        (lambda b: b.set_state(b.q, b.v, np.arange(N) < 2), "give (2, 7)"),
        (lambda b: b.apply_wrench("brick", np.zeros((N, 6)), [1]), "give (1, 6)"),
        (
            lambda b: b.save(np.ones(N, dtype=bool)),
            "give a number below 5, such as those that numpy.flatnonzero",
        ),
        (lambda b: b.copy_of(True), "world True: is none of these; give a number below 5"),
        (lambda b: b.load([1, 2], None), "world [1, 2]: is none of these; give a number below 5"),
    ],
)
def test_other_choices_of_worlds_are_told(ask, told):
    with pytest.raises(InputError) as caught:
        ask(hs.BatchWorld(SCENE, N, "cpu"))
    assert told in str(caught.value)
