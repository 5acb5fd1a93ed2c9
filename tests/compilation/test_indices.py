"""Indices of kernels are taken as they are; where they are checked, one out of range ends the process by name."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from hydro_sim_core.compilation import Float2D, Int1D, entry
from hydro_sim_core.compilation.compiler import _translated
from hydro_sim_core.compilation.targets import host

_PROGRAM = """
import sys
import numpy as np
from hydro_sim_core.compilation import Float2D, entry

@entry
def read(x: Float2D, i: int, j: int) -> float:
    return x[i, j]

print(read(np.arange(6.0).reshape(2, 3), int(sys.argv[1]), int(sys.argv[2])))
"""


@entry
def gather(x: Float2D, rows: Int1D) -> float:
    total = 0.0
    for k in range(rows.shape[0]):
        total += x[rows[k], k]
    return total


def test_no_code_counts_indices_from_the_end() -> None:
    """Numba's shifts the sign of each through the word, and adds as much of the length."""
    code = str(_translated(gather, host()))
    assert "ashr i64" not in code
    assert "select i1" not in code
    assert gather(np.arange(6.0).reshape(2, 3), np.array([1, 0, 1])) == 3.0 + 1.0 + 5.0


@pytest.mark.parametrize(
    ("i", "j", "said"),
    [
        (1, 2, "5.0"),
        (-1, 0, "index out of range in __main__.read"),
        (0, 3, "index out of range in __main__.read"),
    ],
)
def test_where_they_are_checked_the_kernel_is_named(tmp_path, i: int, j: int, said: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    checked = {"HYDRO_SIM_CHECK_INDICES": "1", "HYDRO_SIM_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, str(program), str(i), str(j)],
        env={**os.environ, **checked},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == said
    assert (done.returncode == 0) == (said == "5.0")
