"""Compiling ahead: several processes, true progress, and what is said when it fails."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from hydro_sim_core.compilation import builds, progress
from hydro_sim_core.progress import tell_detail, working

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


@pytest.mark.heavy(2)
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
        "class Killed(builds._Worker):\n    def __init__(self, target):\n        super().__init__(target)\n"
        "        self.process.kill()\n"
        "builds._Worker = Killed\n"
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
        for i, done in enumerate(steps):
            for observation in builds._observations:
                observation.add(done - steps[i - 1] if i else done, 0 if i else 100)
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


def _works(terminal, seconds, monkeypatch, detail=""):
    """What is said of a work of ten parts that take so many seconds each."""
    now = [100.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=200)
    with progress.compile_progress(console), working("making geometry", 10) as parts:
        for i in range(10):
            parts.begin(f"link{i} [b]")
            if detail and i == 3:
                tell_detail(detail)
            now[0] += seconds
    return text.getvalue()


def test_making_geometry_is_told_of_where_it_takes_long(monkeypatch):
    assert _works(False, 0.4, monkeypatch) == ""
    assert _works(False, 2.0, monkeypatch).splitlines() == [
        "making geometry: link3 [b] (4 of 10)",
        "making geometry: link6 [b] (7 of 10)",
        "making geometry: link9 [b] (10 of 10)",
    ]
    assert _works(True, 0.05, monkeypatch) == ""
    assert "link1 [b]" in _works(True, 2.0, monkeypatch)  # the first that comes late enough


def test_what_alone_may_take_long_is_told_of_at_once(monkeypatch):
    assert _works(False, 0.01, monkeypatch, "meshing").splitlines() == [
        "making geometry: link3 [b], meshing (4 of 10)"
    ]
    assert "meshing" in _works(True, 0.01, monkeypatch, "meshing")


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


@pytest.mark.long
def test_an_observer_that_raises_ends_compiling_in_the_thread_that_asked(module):
    """As Ctrl-C does; nothing is then called compiled that is not."""
    done = run(
        module,
        "import os, sys\nos.sched_getaffinity = lambda _: {0, 1}\nimport numpy as np\n"
        "from toy_kernels import first, second, third\n"
        "from hydro_sim_core.compilation import prepare\nfrom hydro_sim_core.compilation.builds import observed_by\n"
        "def observe(progress):\n    if progress.done:\n        raise ZeroDivisionError\n"
        "try:\n    with observed_by(observe):\n        prepare([second, third])\n"
        "except ZeroDivisionError:\n    print('raised')\n"
        "prepare([second, third])\nprint('numba' in sys.modules, third(np.zeros(1)))",
    )
    assert done.stdout.splitlines() == ["raised", "False 1.0"], done.stderr


@pytest.mark.heavy(2)
@pytest.mark.parametrize(
    "spoil", ["store._folder = refuse", "store.write = refuse"], ids=["no folder", "full disk"]
)
def test_what_cannot_be_kept_is_compiled_once(module, spoil):
    """Processes hand over what they have compiled, whether it can be kept or not."""
    done = run(
        module,
        "import os, sys\nos.sched_getaffinity = lambda _: {0, 1}\nimport numpy as np\n"
        "from toy_kernels import first, second, third\n"
        "from hydro_sim_core.compilation import prepare, store\n"
        "def refuse(*_, **__):\n    raise OSError(28, 'No space left on device')\n"
        f"{spoil}\nprepare([second, third])\nprint(second(np.array([2.0])), 'numba' in sys.modules)",
    )
    assert done.stdout == "6.0 False\n", done.stderr
    (line,) = done.stderr.splitlines()
    assert "No space left on device" in line
    assert "HYDRO_SIM_CACHE_DIR" in line


def test_what_a_program_has_changed_is_compiled_in_its_own_process(module):
    """Others would read the sources."""
    (module / "toy_kernels.py").write_text(MODULE.replace("x + 1.0", "x + ADDED") + "\nADDED = 1.0\n")
    done = run(
        module,
        "import os\nos.sched_getaffinity = lambda _: {0, 1}\nimport numpy as np, toy_kernels\n"
        "toy_kernels.ADDED = 5.0\nfrom hydro_sim_core.compilation import prepare\n"
        "prepare([toy_kernels.second, toy_kernels.third])\nprint(toy_kernels.second(np.array([2.0])))",
    )
    assert done.stdout == "70.0\n", done.stderr  # 7 * (7 + 3)


def test_what_a_user_has_python_print_is_no_answer(module):
    (module / "sitecustomize.py").write_text("print('good morning')\n")
    done = run(
        module,
        "import os\nos.sched_getaffinity = lambda _: {0, 1}\n"
        "from toy_kernels import first, third\nfrom hydro_sim_core.compilation import prepare\n"
        "prepare([first, third])",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "good morning\n", "")


def test_ctrl_c_is_for_the_process_that_asked(module):
    """A terminal sends it to all of a group, and those that compile would tell of it too."""
    (module / "sitecustomize.py").write_text(
        "import sys, time\nif any('worker' in word for word in sys.orig_argv):\n    time.sleep(3)\n"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            # A test run that was started with & hands down that SIGINT is ignored.
            "import os, signal, threading\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "os.sched_getaffinity = lambda _: {0, 1}\n"
            "from toy_kernels import first, third\nfrom hydro_sim_core.compilation import prepare\n"
            "threading.Timer(1.0, os.killpg, (0, signal.SIGINT)).start()\n"
            "try:\n    prepare([first, third])\nexcept KeyboardInterrupt:\n    print('ended')",
        ],
        env={**os.environ, "HYDRO_SIM_CACHE_DIR": str(module / "cache"), "PYTHONPATH": f"{module}:{ENGINE}"},
        capture_output=True,
        text=True,
        timeout=120,
        start_new_session=True,
    )
    assert (done.stdout, done.stderr) == ("ended\n", "")


def test_a_scene_has_compiled_all_that_it_needs_when_it_is_loaded(module):
    """At once, so that the first step counts no further kernels."""
    done = run(
        module,
        "import hydro_sim_core as hs\nfrom hydro_sim_core.compilation import builds\n"
        "from hydro_sim_core.simulation.scenes import shipped_scene\n"
        "from hydro_sim_core.simulation.stepping.step import advance\n"
        "from hydro_sim_core.solvers import solver_entry\n"
        "def look(missing, *_):\n"
        "    print(advance in missing, solver_entry('newton', 'lagged') in missing)\n    raise SystemExit\n"
        "builds._compile = look\nhs.load_scene(shipped_scene('drop_box'))",
    )
    assert done.stdout == "True True\n", done.stderr


def test_what_an_observer_sees_is_one_whole():
    """However often something is compiled meanwhile."""
    seen = []
    with builds.observed_by(seen.append):
        for _ in range(2):
            count = builds._Count([])
            for observation in count._told:
                observation.add(0, 10)
                observation.add(10)
    assert max(p.total for p in seen) == 20
    assert [p.done for p in seen] == sorted(p.done for p in seen)
    assert seen[-1] == (20, 20)


@pytest.mark.parametrize("terminal", [False, True])
def test_a_single_part_that_takes_long_is_told_of_while_it_lasts(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_SHORT", 0.02)
    monkeypatch.setattr(progress, "_LINE_PERIOD", 0.02)
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=200)
    with progress.compile_progress(console), working("making geometry", 1) as parts:
        parts.begin("ball")
        deadline = time.monotonic() + 20.0
        while "making geometry: ball" not in text.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.mark.parametrize("terminal", [False, True])
def test_work_is_told_of_from_several_threads(terminal, monkeypatch):
    monkeypatch.setattr(progress, "_SHORT", 1e-4)
    monkeypatch.setattr(progress, "_LINE_PERIOD", 1e-4)
    failures = []

    def work():
        try:
            for _ in range(20):
                with working("making geometry", 5) as parts:
                    for i in range(5):
                        parts.begin(f"link{i}")
        except BaseException as error:
            failures.append(error)

    text = io.StringIO()
    with progress.compile_progress(Console(file=text, force_terminal=terminal, width=200)):
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    told = len(text.getvalue())
    with working("making geometry", 1) as parts:
        parts.begin("after the end")
    time.sleep(0.01)
    assert failures == []
    assert len(text.getvalue()) == told


def test_what_goes_wrong_while_a_late_part_is_shown_ends_the_work(monkeypatch):
    monkeypatch.setattr(progress, "_LINE_PERIOD", 1e-3)

    class Closed(io.StringIO):
        def write(self, text):
            raise OSError("no space left")

    def work():
        console = Console(file=Closed(), width=200)
        with progress.compile_progress(console), working("making geometry", 2) as parts:
            parts.begin("ball")
            time.sleep(0.2)
            parts.begin("box")

    with pytest.raises(OSError, match="no space left"):
        work()
