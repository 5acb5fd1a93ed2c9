"""Grids: kernels that many threads run, with a struct that all of them see and arrays of their own."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from hydro_sim_core.compilation import CompilationFailed, ConstBool1D, ConstFloat2D, Float1D, Int1D, kernel
from hydro_sim_core.compilation import grids as compilation_grids
from hydro_sim_core.compilation.gpu_programs import cupy_with_gpu
from hydro_sim_core.compilation.grid_code import object_code, ptx, translated
from hydro_sim_core.compilation.grids import (
    TABLE,
    CudaGrid,
    Grid,
    HostGrid,
    digest_of,
    stored_code,
)
from hydro_sim_core.compilation.grids import _Table as Table
from hydro_sim_core.compilation.local_arrays import local_floats, local_ints
from hydro_sim_core.compilation.targets import Target
from hydro_sim_core.errors import InputError

N = 300


class Rows(NamedTuple):
    values: ConstFloat2D
    is_used: ConstBool1D
    factor: float
    shift: int
    negated: bool
    sums: Float1D
    counts: Int1D


@kernel(inline=True)
def reversed_row(row, out):
    for k in range(out.shape[0]):
        out[k] = row[out.shape[0] - 1 - k]


@kernel
def add_rows(rows, i):
    """Weighs a row's numbers, in reversed order, by their places, through local arrays."""
    mirrored = local_floats(3)
    places = local_ints(2, 3)
    reversed_row(rows.values[i], mirrored)
    for k in range(3):
        places[1, k] = k + rows.shift
    total = 0.0
    for k in range(3):
        total += rows.factor * mirrored[k] * places[1, k]
    rows.sums[i] = -total if rows.negated else total


@kernel
def count_used(rows, i):
    rows.counts[i] = i if rows.is_used[i] else -1


GRID = Grid(__name__, "GRID", Rows, (add_rows, count_used))


def rows(**changed: Any) -> Rows:
    rng = np.random.default_rng(3)
    made = Rows(
        rng.normal(size=(N, 3)), rng.random(N) < 0.5, 1.5, 2, True, np.zeros(N), np.zeros(N, dtype=np.int64)
    )
    return made._replace(**changed)


@pytest.fixture(scope="module")
def code() -> str:
    return translated(GRID)


@pytest.fixture(scope="module")
def program(code) -> HostGrid:
    return HostGrid(GRID, object_code(code, GRID, Target("generic", "")))


def expected_sums(given: Rows) -> np.ndarray:
    weights = given.shift + np.arange(3)
    totals = sum(given.factor * given.values[:, 2 - k] * weights[k] for k in range(3))
    return -totals if given.negated else totals


def test_every_thread_does_its_part(program):
    given = rows()
    program.place(given)
    program.launch("add_rows", N)
    program.launch("count_used", N)
    np.testing.assert_array_equal(given.sums, expected_sums(given))
    np.testing.assert_array_equal(given.counts, np.where(given.is_used, np.arange(N), -1))


def test_one_program_takes_arrays_of_any_length(program):
    """What is placed is seen from then on; threads beyond the number that is asked for do not run."""
    few = rows(values=np.ones((4, 3)), sums=np.zeros(4), negated=False)
    program.place(rows())
    program.place(few)
    program.launch("add_rows", 3)
    program.launch("add_rows", 0)
    np.testing.assert_array_equal(few.sums, [13.5, 13.5, 13.5, 0.0])


def test_uncompiled_kernels_do_the_same():
    given = rows()
    for i in range(N):
        add_rows.function(given, i) if hasattr(add_rows, "function") else add_rows(given, i)
    np.testing.assert_array_equal(given.sums, expected_sums(given))


def test_code_for_a_gpu_keeps_local_arrays_in_registers(code):
    text = ptx(code, GRID, "sm_90")
    assert all(f".visible .entry {name}(" in text for name in GRID.names)
    assert f".const .align 8 .b8 {TABLE}[{8 * GRID.words}]" in text
    assert "ld.const" in text
    assert "ld.global.nc" in text, "what kernels may not write does not change while they run"
    assert ".local" not in text
    assert "fma" not in text


def test_words_are_addresses_lengths_and_numbers():
    given, table = rows(), Table(Rows, lambda array: array.ctypes.data)
    table.write(given)
    words = table.words
    assert len(words) == GRID.words == 3 + 2 + 1 + 1 + 1 + 2 + 2
    assert list(words[:3]) == [given.values.ctypes.data, N, 3]
    assert words[5:6].view(np.float64)[0] == 1.5
    assert list(words[6:8]) == [2, 1]
    table.write(given._replace(shift=5))
    assert list(words[:3]) == [given.values.ctypes.data, N, 3]
    assert list(words[6:8]) == [5, 1]
    with pytest.raises(TypeError, match="sums is an array int64"):
        table.write(rows(sums=np.zeros(N, dtype=np.int64)))
    with pytest.raises(TypeError, match="values is an array float64"):
        table.write(rows(values=np.zeros((3, N)).T))
    with pytest.raises(TypeError, match="shift is a float"):
        table.write(rows(shift=0.5))


def test_a_struct_within_the_struct_is_refused():
    class Nested(NamedTuple):
        rows: Rows

    with pytest.raises(TypeError, match="cannot be a field of a grid's struct"):
        Table(Nested, lambda array: 0)


def test_lengths_of_local_arrays_are_constants():
    @kernel
    def by_length(rows, i):
        own = local_floats(rows.shift)
        rows.sums[i] = own[0]

    with pytest.raises(Exception, match="local array"):
        translated(Grid(__name__, "WRONG", Rows, (by_length,)))


# --- On a GPU -------------------------------------------------------------------------------------------------------


class RecordedGpu:
    """CuPy as far as a grid needs it, which writes down what is asked of it."""

    def __init__(self) -> None:
        self.launches: list[Any] = []
        self.copies: list[Any] = []
        gpu = self

        class RawModule:
            def __init__(self, path: str) -> None:
                with open(path, "rb") as file:
                    gpu.code = file.read()

            def get_function(self, name: str) -> Any:
                return lambda *launch: gpu.launches.append((name, *launch))

            def get_global(self, name: str) -> Any:
                return SimpleNamespace(ptr=len(name))

        self.RawModule = RawModule
        runtime = SimpleNamespace(memcpyHostToDevice=1, memcpyAsync=lambda *copy: gpu.copies.append(copy))
        self.cuda = SimpleNamespace(runtime=runtime, get_current_stream=lambda: SimpleNamespace(ptr=7))


def test_threads_are_launched_in_blocks_and_the_struct_is_copied():
    gpu = RecordedGpu()
    program = CudaGrid(gpu, GRID, b"code")
    on_gpu = rows()
    arrays = {
        name: SimpleNamespace(
            dtype=a.dtype, ndim=a.ndim, shape=a.shape, flags=a.flags, data=SimpleNamespace(ptr=64)
        )
        for name, a in on_gpu._asdict().items()
        if isinstance(a, np.ndarray)
    }
    program.place(on_gpu._replace(**arrays))
    for n in (0, 1, 128, 129):
        program.launch("add_rows", n)
    assert gpu.code == b"code"
    ((to, _, size, kind, stream),) = gpu.copies
    assert (to, size, kind, stream) == (len(TABLE), 8 * GRID.words, 1, 7)
    assert gpu.launches == [("add_rows", (b,), (128,), (n,)) for n, b in ((1, 1), (128, 1), (129, 2))]


def test_code_is_compiled_once_and_kept(monkeypatch, tmp_path):
    """For every processor and every content of the kernels, by a process of its own."""
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path))
    made = []

    def compiled(grid: Grid, processor: str) -> bytes:
        made.append(processor)
        return f"{len(made)}".encode()

    monkeypatch.setattr(compilation_grids, "_compiled", compiled)
    assert [stored_code(GRID, "sm_90") for _ in range(3)] == [b"1", b"1", b"1"]
    assert stored_code(GRID, "sm_80") == b"2"
    other = Grid(__name__, "GRID", Rows, (add_rows,))
    assert digest_of(other) != digest_of(GRID)
    assert stored_code(other, "sm_90") == b"3"


def test_a_grid_that_cannot_be_compiled_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path))
    with pytest.raises(CompilationFailed, match="no_such_module"):
        stored_code(Grid("no_such_module", "GRID", Rows, (add_rows,)), "sm_90")


@pytest.mark.parametrize(
    ("count", "told"), [(0, "finds no GPU"), (-1, r"finds no usable GPU \(driver too old\)")]
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
    with pytest.raises(InputError, match=f"Asked: backend 'cuda'.*{told}; do without"):
        cupy_with_gpu("Asked", "cuda", "do without")
