"""Kernels for many worlds side by side: the same results as for one world, from one memory for all."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from hydro_sim_core.compilation import Bool1D, ConstFloat2D, Float1D, Float2D, Int1D, entry, kernel
from hydro_sim_core.compilation.ptx import object_code, ptx, translated
from hydro_sim_core.compilation.side_by_side import SideBySide
from hydro_sim_core.simulation.batches.memory import Placed, Plan
from hydro_sim_core.simulation.batches.programs import HostProgram

WORLDS, LANES, DT = 7, 4, 0.25
ROOT = Path(__file__).parents[2]
LOADS_AND_BRANCHES = (r"ld\.global\.[bf]64", r"@%p\d+\s+bra|@!%p\d+\s+bra")


class Shown(NamedTuple):
    """What a user reads and writes."""

    x: Float1D
    count: Int1D


class Kept(NamedTuple):
    """Memory of a step: elements of all types, of one and two dimensions."""

    table: Float2D
    flags: Bool1D
    numbers: Int1D


class Whole(NamedTuple):
    shown: Shown
    kept: Kept
    weights: ConstFloat2D
    masses: ConstFloat2D
    factor: float
    power: int
    negated: bool


MEMORY = SideBySide(frozenset({Shown}), frozenset({(Whole, "masses")}))


@entry
def scaled(row: Float1D, by: float) -> float:
    """Scale a row in place; its sum."""
    total = 0.0
    for i in range(row.shape[0]):
        row[i] *= by
        total += row[i]
    return total


@kernel
def add_row(row, out, i):
    for k in range(row.shape[0]):
        out[i] += row[k]


@kernel
def mixed_step(whole, solve, dt):
    """Reads and writes everything, through slices, rows, a kernel and an entry point."""
    shown, kept = whole.shown, whole.kept
    kept.flags[:] = False
    for i in range(kept.table.shape[0]):
        for k in range(kept.table.shape[1]):
            kept.table[i, k] = whole.weights[i, k] * shown.x[k] + whole.masses[i, k]
        add_row(kept.table[i], shown.x, 0)
        kept.flags[i] = kept.table[i, 0] > 1.0
        kept.numbers[i] += 1 if kept.flags[i] else 2
    total = solve(kept.table[1], dt * whole.factor)
    for i in range(1, shown.x.shape[0]):
        shown.x[i] += -total if whole.negated else total
    shown.count[0] += kept.numbers[0] * whole.power


@entry
def step_alone(whole: Whole, dt: float) -> None:
    """The same step of a single world."""
    mixed_step(whole, scaled, dt)


def whole() -> Whole:
    rng = np.random.default_rng(5)
    return Whole(
        Shown(rng.normal(size=3), np.zeros(1, dtype=np.int64)),
        Kept(np.zeros((2, 3)), np.zeros(2, dtype=np.bool_), np.array([3, 4])),
        rng.normal(size=(2, 3)),
        rng.normal(size=(2, 3)),
        1.5,
        2,
        True,
    )


@pytest.fixture(scope="module")
def code() -> str:
    return translated(mixed_step, scaled, Whole, MEMORY)


def test_worlds_get_what_each_would_get_alone(code):
    """Seven worlds in groups of four, so that the last group is not full; two steps, as memory is kept."""
    plan = Plan(whole(), MEMORY, LANES)
    program = HostProgram(object_code(code, (plan.words, plan.structs), LANES))
    placed = Placed(plan, WORLDS, np, lambda array: array.ctypes.data)
    rng = np.random.default_rng(6)
    placed.rows["shown.x"][...] = x = rng.normal(size=(WORLDS, 3))
    placed.rows["masses"][...] = masses = rng.normal(size=(WORLDS, 2, 3))
    for _ in range(2):
        program.run(placed, DT)
    for i in range(WORLDS):
        alone = whole()._replace(masses=masses[i].copy())
        alone.shown.x[:] = x[i]
        for _ in range(2):
            step_alone(alone, DT)
        assert np.array_equal(placed.rows["shown.x"][i], alone.shown.x)
        assert placed.rows["shown.count"][i] == alone.shown.count
        lane = np.ascontiguousarray(placed.lane_of(i))
        for name in Kept._fields:
            assert np.array_equal(plan.from_lane(lane, f"kept.{name}"), getattr(alone.kept, name)), name
    assert len(np.unique(placed.rows["shown.x"][:, 0])) == WORLDS


def test_no_world_writes_into_the_place_of_another(code):
    """Lanes beyond the last world stay as they were."""
    plan = Plan(whole(), MEMORY, LANES)
    program = HostProgram(object_code(code, (plan.words, plan.structs), LANES))
    placed = Placed(plan, WORLDS, np, lambda array: array.ctypes.data)
    before = placed.lanes[-1, :, WORLDS % LANES :].copy()
    program.run(placed, DT)
    assert np.array_equal(placed.lanes[-1, :, WORLDS % LANES :], before)
    assert not np.array_equal(placed.lanes[0, :, 0], before[:, 0])


def test_ptx_fuses_nothing(code):
    """A fused multiply-add rounds once where a processor rounds twice: results would differ."""
    plan = Plan(whole(), MEMORY, LANES)
    text = ptx(code, (plan.words, plan.structs), LANES)
    assert ".visible .entry hydro_step_worlds(" in text
    assert re.search(r"mul\.rn\.f64", text)
    assert not re.search(r"\bfma\.|\bmad\.\w+\.f64|mul\.f64|add\.f64", text)
    assert "hydro_places" in text
    assert ".extern" not in text


def test_only_what_kernels_may_not_write_is_loaded_as_constant(code):
    """Weights and masses: other loads wait for stores before them, these may come earlier."""
    plan = Plan(whole(), MEMORY, LANES)
    text = ptx(code, (plan.words, plan.structs), LANES)
    marked = [line for line in code.splitlines() if "!invariant.load" in line and "load double" in line]
    assert len(marked) == 2 + 1  # the weight, the mass, and the struct's factor
    assert len(re.findall(r"ld\.global\.nc\.\w+", text)) >= 2
    assert re.search(r"ld\.global\.b64", text)


@pytest.mark.parametrize(("options", "before"), [("step", 4), ("plain", 1)])
def test_a_step_has_loads_where_its_source_has_them(options, before):
    """Before the branch that uses them, so that a GPU waits once; LLVM would bring them to where they are used."""
    program = ROOT / "tests/support/compilation/gated_loads.py"
    done = subprocess.run([sys.executable, program, options], capture_output=True, check=True, text=True)
    step = done.stdout.split(".visible .entry hydro_step_worlds(")[1]
    loads, branches = ([match.start() for match in re.finditer(what, step)] for what in LOADS_AND_BRANCHES)
    behind = next(branch for branch in branches if branch > loads[0])
    assert len(loads) == 4
    assert sum(load < behind for load in loads) == before
