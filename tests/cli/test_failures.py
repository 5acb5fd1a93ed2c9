"""What a program says of a kernel that cannot be compiled."""

from __future__ import annotations

import os
import subprocess

import numpy as np
import pytest
from typer.testing import CliRunner

from hydro_sim_core import World
from hydro_sim_core.cli import app
from hydro_sim_core.compilation import CompilationFailed, Float1D, entry, kernel, prepare
from hydro_sim_core.errors import InputError
from hydro_sim_core.failures import in_one_line


@kernel
def allocating(x):
    return np.zeros(3)[0] + x[0]


@entry
def caller(x: Float1D) -> float:
    return allocating(x)


@entry
def misspelt(x: Float1D) -> float:
    return x[0] + no_such_name  # noqa: F821


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (caller, ("zeros(Literal[int](3))", "test_failures.py, line 21)")),
        (misspelt, ("NameError: name 'no_such_name' is not defined",)),
    ],
    ids=["in what it calls", "in itself"],
)
def test_a_kernel_that_cannot_be_compiled_is_one_line(monkeypatch, broken, says):
    """It names the entry point and what is wrong, and says what to do; the rest of the compiler's text is left out."""
    monkeypatch.setattr(World, "step", lambda *_: broken(np.ones(1)))
    result = CliRunner().invoke(app, ["run", "drop_box", "--headless", "--duration", "0.01"])
    assert result.exit_code == 1
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {broken.symbol}: cannot be compiled: ")
    assert all(words in line for words in says)
    assert "whose kernels are part of it" in line
    assert len(line) < 500


def test_a_killed_compiler_is_told_from_a_broken_kernel(monkeypatch):
    """That happens where memory ends; no kernel is to blame, and a next start goes on from there."""
    start = subprocess.Popen

    def start_and_kill(*arguments, **options):
        process = start(*arguments, **options)
        process.kill()
        return process

    monkeypatch.setattr(subprocess, "Popen", start_and_kill)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    with pytest.raises(CompilationFailed) as caught:
        prepare([caller, misspelt])
    line = in_one_line(caught.value)
    assert "ended with status -9" in line
    assert "start again with more memory free" in line
    assert "defect" not in line


def test_other_errors_keep_their_traceback():
    assert (
        in_one_line(InputError("a file", "a key", "is\nwrong", "mend it"))
        == "a file: a key: is wrong; mend it"
    )
    assert in_one_line(KeyError("a defect")) is None
