"""The example controllers in Python and C++: one law, the same motion, and what they do when the other side dies."""

from __future__ import annotations

import runpy
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hydro_sim_core.shared_memory.c_header import INCLUDE
from hydro_sim_core.shared_memory.client import TookTooLong
from support.shared_memory.processes import environment

_EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
_STEPS = 300


@pytest.fixture(scope="module")
def compiled(tmp_path_factory) -> Path:
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    program = tmp_path_factory.mktemp("swing") / "swing"
    command = ["g++", "-std=c++17", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{INCLUDE}"]
    subprocess.run([*command, str(_EXAMPLES / "swing.cpp"), "-o", str(program)], check=True)
    return program


def _trajectory(client, swing) -> tuple[list[float], float]:
    """Positions and efforts at the end of each step of a swing from rest, and where it says that it ended."""
    client.pause()
    begin = client.reset().serial
    client.resume()
    said = swing()
    last = client.newest()
    states = [client.wait(serial) for serial in range(begin, last.serial + 1)]
    efforts = [effort for state in states if (effort := state.efforts[1]) != 0.0]
    return efforts[: _STEPS - 1], said


def test_both_swing_alike(client, running, compiled) -> None:
    """Efforts and final position agree to rounding: every command acted in the step that follows its state."""
    python = runpy.run_path(str(_EXAMPLES / "swing.py"))["swing"]

    def in_cpp() -> float:
        command = [compiled, running.name, "elbow", str(_STEPS)]
        return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    efforts, end = _trajectory(client, lambda: python(running.name, "elbow", _STEPS))
    others, other_end = _trajectory(client, in_cpp)
    assert len(efforts) == _STEPS - 1
    assert others == pytest.approx(efforts, abs=1e-12)
    assert other_end == pytest.approx(end, abs=1e-12)
    assert abs(end) > 0.05


def test_the_program_in_cpp_is_killed_and_started_again(client, running, compiled) -> None:
    client.set_pace(1.0)
    with subprocess.Popen([compiled, running.name, "elbow", "1000000"]) as process:
        assert any(state.efforts[1] != 0.0 for _, state in zip(range(100_000), client.states(), strict=False))
        process.send_signal(signal.SIGKILL)
    with pytest.raises(TookTooLong, match="the simulation is paused"):
        client.wait(client.newest().serial + 10**6, limit=1.0)
    client.resume()
    client.set_pace(0.0)
    done = subprocess.run([compiled, running.name, "elbow", "10"], capture_output=True, text=True, check=True)
    assert float(done.stdout) == float(done.stdout)


def test_the_program_in_cpp_says_that_the_simulation_is_gone(start, compiled) -> None:
    running = start()
    with (
        running.connect() as client,
        subprocess.Popen(
            [compiled, running.name, "elbow", "1000000"], stderr=subprocess.PIPE, text=True
        ) as process,
    ):
        assert any(state.efforts[1] != 0.0 for _, state in zip(range(100_000), client.states(), strict=False))
        running.kill()
        _, said = process.communicate(timeout=60)
    assert process.returncode == 1
    killed = f"its process ({running.process.pid}) has been killed; start it again, and open it anew"
    assert said == f"{running.name}: {killed}\n"


def test_the_program_in_python_is_one_line_where_nothing_runs() -> None:
    command = [sys.executable, str(_EXAMPLES / "swing.py"), "nobody"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 1
    assert done.stderr.startswith("shared memory: nobody: no simulation of this name runs; ")
    assert done.stderr.count("\n") == 1
