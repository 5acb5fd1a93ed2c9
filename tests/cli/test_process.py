"""The installed program as a process of its own."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import time

import pytest

from support.ctrl_c import heed_ctrl_c
from support.late_runs import faults_in

PROGRAM = (sys.executable, "-c", "from hydro_sim_core.cli import main; main()")


def test_a_bad_scene_ends_with_one_line_on_stderr_and_status_1(tmp_path):
    done = subprocess.run(
        [*PROGRAM, "run", str(tmp_path / "none.yaml")], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "none.yaml" in line


def test_the_module_is_the_program():
    done = subprocess.run(
        [sys.executable, "-m", "hydro_sim_core", "scenes"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "spatula_slip" in done.stdout


def test_ctrl_c_ends_a_run_with_its_report(tmp_path):
    path = tmp_path / "report.json"
    process = subprocess.Popen(
        [*PROGRAM, "run", "drop_box", "--rate", "1", "--json", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,
    )
    assert process.stdout is not None
    told = itertools.dropwhile(lambda line: "kernels" in line, process.stdout)
    assert next(told) == "running drop_box until Ctrl-C\n"
    time.sleep(1.0)
    process.send_signal(signal.SIGINT)
    printed, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert faults_in(errors) == ""
    assert "interrupted" in printed
    data = json.loads(path.read_text())
    assert data["interrupted"] is True
    assert data["steps"] > 0  # how many says how busy the machine is
    assert data["simulated_time"] < 30.0


@pytest.mark.parametrize("interrupted", ["cli.app", "cli.run", "simulation"])
def test_ctrl_c_while_importing_ends_quietly(interrupted):
    """Importing takes a second on a busy machine, and many start a program only to stop it."""
    interrupt_import = f"""
import sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "hydro_sim_core.{interrupted}":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from hydro_sim_core.cli import main
sys.argv = ["hydro-sim", "run", "drop_box"]
main()
"""
    ended = subprocess.run([sys.executable, "-c", interrupt_import], capture_output=True, text=True)
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")
