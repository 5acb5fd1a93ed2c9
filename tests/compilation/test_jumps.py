"""Entry points on demand: callers do without them until they call them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hydro_sim_core.compilation import CompilationFailed, Float1D, entry, make_ready
from hydro_sim_core.compilation.dependencies import callees_first

HERE = Path(__file__).stem


@entry(on_demand=True)
def scaled(x: Float1D, by: float, often: int, is_odd: bool) -> float:
    total = 0.0
    for i in range(x.shape[0]):
        x[i] *= by
        total += x[i]
    return -total if is_odd else often * total


@entry(on_demand=True)
def never(x: Float1D) -> int:
    return x.no_such_thing


@entry
def calls(x: Float1D, which: int) -> float:
    if which == 1:
        return scaled(x, 2.0, 3, False) + scaled(x, 2.0, 3, True)
    if which == 2:
        return float(never(x))
    return 0.0


def test_it_is_loaded_when_it_is_first_called_and_called_from_then_on() -> None:
    x = np.array([1.0, 2.0])
    assert calls(x, 0) == 0.0
    assert not scaled.is_loaded
    assert calls(x, 1) == 3 * 6.0 - 12.0
    assert scaled.is_loaded
    assert x.tolist() == [4.0, 8.0]
    assert calls(x, 1) == 3 * 24.0 - 48.0


def test_callers_are_compiled_without_it() -> None:
    assert callees_first(calls) == [calls]
    assert set(callees_first(calls, also_on_demand=True)) == {calls, scaled, never}


def test_what_cannot_be_compiled_is_told_to_who_called() -> None:
    x = np.zeros(1)
    for _ in range(2):
        with pytest.raises(CompilationFailed, match="no_such_thing"):
            calls(x, 2)
    assert calls(x, 0) == 0.0


def test_it_may_be_made_ready_before_or_after_its_callers() -> None:
    program = (
        f"import numpy as np; from compilation.{HERE} import calls, scaled, make_ready; x = np.ones(2);"
        "{}; assert scaled.is_loaded; assert calls(x, 1) == 3 * 4.0 - 8.0"
    )
    for order in ("make_ready([scaled])", "calls(x, 0); make_ready([scaled])"):
        done = subprocess.run(
            [sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}; " + program.format(order)],
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
    make_ready([scaled])
