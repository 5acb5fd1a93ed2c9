"""Compiling ahead: several processes, true progress, and what is said when it fails."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from hydro_sim_core.compilation import builds, progress

ENGINE = Path(__file__).parents[2]
MODULE = """
from __future__ import annotations
import math
from hydro_sim_core.compilation import Float1D, entry, kernel

@kernel
def one(x):
    return x + 1.0

@kernel
def two(x):
    return one(x) + one(-x)

@entry
def first(x: Float1D) -> float:
    return two(x[0])

@entry
def second(x: Float1D) -> float:
    return one(x[0]) * first(x)

@entry
def broken(x: Float1D) -> float:
    return x.no_such_field

@entry
def third(x: Float1D) -> float:
    return math.exp(x[0])
"""


@pytest.fixture
def module(tmp_path):
    (tmp_path / "toy_kernels.py").write_text(MODULE)
    return tmp_path


def run(module, program):
    environment = {
        **os.environ,
        "HYDRO_SIM_CACHE_DIR": str(module / "cache"),
        "PYTHONPATH": f"{module}:{ENGINE}",
    }
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=120
    )


def test_progress_counts_kernels_up_to_all_of_them(module):
    """In other processes: this one never imports Numba."""
    done = run(
        module,
        "import os, sys\nos.sched_getaffinity = lambda _: {0, 1}\nimport numpy as np\n"
        "from toy_kernels import first, second, third\n"
        "from hydro_sim_core.compilation import prepare\nfrom hydro_sim_core.compilation.builds import observed_by\n"
        "seen = []\nwith observed_by(seen.append):\n    prepare([second, third])\n"
        "print([p.done for p in seen], {p.total for p in seen}, 'numba' in sys.modules)\n"
        "with observed_by(seen.append):\n    n = len(seen)\n    prepare([second, third])\n"
        "print(len(seen) - n, second(np.array([2.0])))",
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    counts, total = eval(first.partition("]")[0] + "]"), 6  # first: 3, second: 2, third: 1
    assert counts == sorted(counts)
    assert counts[0] == 0
    assert counts[-1] == total
    assert f"{{{total}}} False" in first
    # Found on disk: nothing to tell.
    assert second == "0 6.0"


@pytest.mark.parametrize("processors", [1, 2])
def test_what_cannot_be_compiled_is_named(module, processors):
    done = run(
        module,
        f"import os\nos.sched_getaffinity = lambda _: set(range({processors}))\n"
        "from toy_kernels import broken, third\nfrom hydro_sim_core.compilation import prepare\n"
        "prepare([broken, third])",
    )
    assert done.returncode != 0
    assert "no_such_field" in done.stderr


def test_a_killed_compiler_is_an_error_and_no_hang(module):
    done = run(
        module,
        "import os\nos.sched_getaffinity = lambda _: {0, 1}\n"
        "from hydro_sim_core.compilation import builds, prepare\nfrom toy_kernels import first, third\n"
        "start = builds._start_worker\n"
        "def start_and_kill():\n    worker = start()\n    worker.kill()\n    return worker\n"
        "builds._start_worker = start_and_kill\n"
        "try:\n    prepare([first, third])\nexcept builds.CompilationFailed as error:\n    print(error)",
    )
    assert "ended with status -9" in done.stdout, done.stderr


def test_entry_points_of_a_script_are_compiled_in_its_own_process(module):
    script = module / "script.py"
    script.write_text(
        MODULE.replace("x.no_such_field", "x[0]") + "\nimport numpy as np\nprint(second(np.ones(1)))\n"
    )
    environment = {**os.environ, "HYDRO_SIM_CACHE_DIR": str(module / "cache"), "PYTHONPATH": str(ENGINE)}
    done = subprocess.run(
        [sys.executable, script], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.stdout == "4.0\n", done.stderr


def _told(terminal, steps, kept=True, monkeypatch=None):
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=100)
    with progress.compile_progress(console):
        for done in steps:
            for observer in list(builds._observers):
                observer(builds.BuildProgress(done, 100))
    return text.getvalue()


def test_a_log_gets_few_lines():
    lines = _told(False, range(101)).splitlines()
    assert "0 of 100" in lines[0]
    assert lines[-1] == "kernels ready after 0 s"
    assert len(lines) == 2


def test_a_terminal_gets_a_bar():
    assert "100" in _told(True, (0, 50))


def test_nothing_is_said_where_nothing_is_compiled():
    assert _told(False, ()) == ""
    assert _told(True, ()) == ""


@pytest.mark.parametrize(("kept", "words"), [(True, "once on this machine"), (False, "as at every start")])
def test_compiling_is_once_on_this_machine_only_where_kernels_are_kept(monkeypatch, kept, words):
    monkeypatch.setattr(progress, "kernels_are_kept", lambda: kept)
    assert words in _told(False, (0,))


def test_a_worker_takes_no_code_from_the_working_folder(module):
    """A folder with scenes may hold files of any name, and from strangers."""
    folder = module / "scenes"
    folder.mkdir()
    (folder / "llvmlite.py").write_text("raise SystemExit('code of the working folder runs')\n")
    program = f"""
import os, sys
import toy_kernels
from hydro_sim_core.compilation import prepare
os.chdir({str(folder)!r})
sys.path = [entry for entry in sys.path if entry]
prepare([toy_kernels.second, toy_kernels.third])
print(toy_kernels.third.is_loaded)
"""
    done = run(module, program)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
