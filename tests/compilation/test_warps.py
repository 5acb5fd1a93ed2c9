"""What ``benchmarks/gpu_warps.py`` makes of code: which threads run what together, and what they wait for."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest

from support.benchmarks import imported

#: Steps worlds one after another, as ``compilation.ptx`` does; ``@step`` is what a test looks at.
AROUND = """
@hydro_places = global [5 x i64] zeroinitializer
@hydro_present = internal global i64 0

define void @hydro_step_worlds(double %dt) {
entry:
  %number = load i64, ptr getelementptr (i8, ptr @hydro_places, i64 16)
  %memory = load ptr, ptr getelementptr (i8, ptr @hydro_places, i64 24)
  br label %next
next:
  %world = phi i64 [0, %entry], [%after, %next]
  store i64 %world, ptr @hydro_present
  call void @step(i64 %world, ptr %memory)
  %after = add i64 %world, 1
  %more = icmp ult i64 %after, %number
  br i1 %more, label %next, label %end
end:
  ret void
}
"""
#: World w turns w + 1 times; one that has turned twice leaves at once, or at the end of its turn.
LOOP = """
define void @step(i64 %world, ptr %memory) {{
entry:
  br label %turn
turn:
  %i = phi i64 [0, %entry], [%done, %latch]
  %done = add i64 %i, 1
  %odd = and i64 %world, 1
  %is_odd = icmp eq i64 %odd, 1
  br i1 %is_odd, label %odd_way, label %latch
odd_way:
  {way_out}
latch:
  %goes_on = icmp ule i64 %done, %world
  br i1 %goes_on, label %turn, label %end
end:
  %x = load i64, ptr %memory
  ret void
}}
"""
STAYS = "br label %latch"
LEAVES = """%is_second = icmp eq i64 %done, 2
  br i1 %is_second, label %gone, label %latch
gone:
  ret void"""
#: Two loads far apart, at once or one behind a branch.
AT_ONCE = """
define void @step(i64 %world, ptr %memory) {
entry:
  %one = getelementptr i64, ptr %memory, i64 %world
  %other = getelementptr i64, ptr %one, i64 100000
  %x = load i64, ptr %one
  %y = load i64, ptr %other
  %both = add i64 %x, %y
  %is_none = icmp eq i64 %both, 7
  br i1 %is_none, label %some, label %end
some:
  br label %end
end:
  ret void
}
"""
#: The same with worlds far from each other, every one in lines of its own.
FAR_APART = AT_ONCE.replace("entry:\n", "entry:\n  %far = mul i64 %world, 64\n").replace(
    "ptr %memory, i64 %world", "ptr %memory, i64 %far"
)
ONE_BY_ONE = """
define void @step(i64 %world, ptr %memory) {
entry:
  %one = getelementptr i64, ptr %memory, i64 %world
  %other = getelementptr i64, ptr %one, i64 100000
  %x = load i64, ptr %one
  %is_none = icmp eq i64 %x, 7
  br i1 %is_none, label %end, label %some
some:
  %y = load i64, ptr %other
  %is_one = icmp eq i64 %y, 7
  br i1 %is_one, label %end, label %end
end:
  ret void
}
"""
#: How often the loop of ``CHAIN`` turns.
TURNS = 20
CHAIN = f"""
define void @step(i64 %world, ptr %memory) {{
entry:
  br label %turn
turn:
  %i = phi i64 [0, %entry], [%done, %turn]
  %at = phi i64 [0, %entry], [%x, %turn]
  %one = getelementptr i64, ptr %memory, i64 %at
  %x = load i64, ptr %one
  %done = add i64 %i, 1
  %goes_on = icmp ult i64 %done, {TURNS}
  br i1 %goes_on, label %turn, label %end
end:
  ret void
}}
"""
STORED = """
define void @step(i64 %world, ptr %memory) {
entry:
  %one = getelementptr i64, ptr %memory, i64 %world
  store i64 %world, ptr %one
  %x = load i64, ptr %one
  %y = add i64 %x, 1
  ret void
}
"""


@pytest.fixture
def tools() -> Any:
    """The program's modules."""
    with imported("warp_code") as code, imported("warp_run") as run, imported("warp_timing") as timing:
        yield SimpleNamespace(code=code, run=run, timing=timing)


def traced(tools: Any, text: str, worlds: int) -> Any:
    """Code with what it has run."""
    code = tools.code.traced(str(llvm.parse_assembly(AROUND + text)))  # as LLVM writes it
    program = tools.code.TracedProgram(code, worlds)
    memory = np.zeros(200_000, dtype=np.int64)
    places = np.array([0, 0, worlds, memory.ctypes.data, 0])
    program.run(SimpleNamespace(places=places), 0.0)
    return SimpleNamespace(code=code, program=program, memory=memory)


def run(tools: Any, found: Any) -> tuple[Any, dict[str, list[int]]]:
    """What a warp runs, and how many threads run each block, time after time."""
    events = found.program.events
    traces = [events[a:b].tolist() for a, b in tools.code.split_by_world(found.code, events)]
    result, blocks = tools.run.Warp(found.code).run(traces), {}
    for part, threads in zip(result.parts, result.threads, strict=True):
        blocks.setdefault(found.code.parts[part].block, []).append(threads.bit_count())
    return result, blocks


def test_threads_that_have_turned_wait_for_the_others(tools):
    _, blocks = run(tools, traced(tools, LOOP.format(way_out=STAYS), 4))
    assert blocks["turn"] == [4, 3, 2, 1]
    assert blocks["odd_way"] == [2, 2, 1, 1]  # the worlds 1 and 3
    assert blocks["end"] == [4]


def test_a_way_out_of_a_loop_keeps_threads_apart(tools):
    _, blocks = run(tools, traced(tools, LOOP.format(way_out=LEAVES), 4))
    assert sum(blocks["turn"]) == 1 + 2 + 3 + 2
    assert max(blocks["turn"][1:]) < 3  # though three worlds have a second turn
    assert blocks["end"] == [1, 1]


def timed(tools: Any, text: str, *, shared: bool = False) -> Any:
    """How long a warp takes for a step, whose memory all worlds share or not."""
    found = traced(tools, text, 32)
    (result, _), events = run(tools, found), found.program.events
    model, memory = tools.timing.Model(found.code), (found.memory.ctypes.data, found.memory.nbytes)
    firsts = model.first_addresses(events)
    assert firsts[-1] == len(found.program.addresses)
    assert memory[0] <= found.program.addresses.min()
    starts = firsts[[begin for begin, _ in tools.code.split_by_world(found.code, events)]]
    addresses = model.placed(found.program.addresses, [memory] if shared else [(0, 0), memory])
    return model.time(result.parts, result.threads, addresses, starts)


def test_loads_that_come_together_are_waited_for_once(tools):
    together, apart = timed(tools, AT_ONCE), timed(tools, ONE_BY_ONE)
    second = tools.timing.ANSWERS[1]  # what a step reads is in the second cache afterwards
    for timing in (together, apart):
        assert timing.answers.sum(axis=0).tolist() == [0.0, 2.0, 0.0]
    assert together.waiting.sum() == pytest.approx(second, abs=20)
    assert apart.waiting.sum() == pytest.approx(2 * second, abs=20)


def test_what_does_not_stay_in_a_cache_comes_from_memory_unless_it_is_shared(tools, monkeypatch):
    line, ways = tools.timing._LINE, tools.timing._WAYS
    monkeypatch.setattr(tools.timing, "SECOND_CACHE", line * ways)
    timing = timed(tools, FAR_APART)
    assert timing.answers.sum(axis=0).tolist() == [0.0, 0.0, 2.0]
    assert timing.waiting.sum() == pytest.approx(tools.timing.ANSWERS[2], abs=100)  # and for 32 lines
    assert timed(tools, FAR_APART, shared=True).answers.sum(axis=0).tolist() == [0.0, 2.0, 0.0]


def test_lines_of_many_threads_take_longer(tools):
    near, apart = timed(tools, AT_ONCE), timed(tools, FAR_APART)
    lines = 2 * (32 - 2)  # of two loads; side by side 32 numbers fill two
    assert apart.cycles.sum() - near.cycles.sum() >= tools.timing._FOR_A_LINE * lines


def test_who_needs_a_load_waits_for_it_through_any_number_of_loops(tools):
    """A chain of loads, each of which tells the next, in a loop: a value that goes around is no earlier."""
    timing = timed(tools, CHAIN)
    assert timing.answers.sum() == TURNS
    assert timing.waiting.sum() == pytest.approx(TURNS * tools.timing.ANSWERS[0], rel=0.5)


def test_what_has_been_stored_is_there_at_once(tools):
    timing = timed(tools, STORED)
    assert timing.answers.sum(axis=0).tolist() == [1.0, 0.0, 0.0]
    assert timing.waiting.sum() == pytest.approx(tools.timing.ANSWERS[0], abs=10)


def test_what_cannot_be_told_is_refused(tools):
    text = STORED.replace("%x = load i64, ptr %one", "%x = load { i64, i64 }, ptr %one").replace(
        "%y = add i64 %x, 1", "%y = extractvalue { i64, i64 } %x, 0"
    )
    with pytest.raises(ValueError, match="no way is known"):
        tools.code.traced(AROUND + text)


def test_symbols_become_names(tools):
    with imported("gpu_warps") as program:
        symbol = "_ZN14hydro_sim_core7solvers7balance17momentum_residualB4v521B66c8tJTIeFIjx"
        assert program.short(symbol) == "balance.momentum_residual"
        assert program.short("hydro_step_worlds") == "hydro_step_worlds"
