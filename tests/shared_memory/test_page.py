"""The Python of docs/shared_memory.md runs beside a simulation, block after block."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from hydro_sim_core.shared_memory.client import connect
from hydro_sim_core.shared_memory.layout import segment_path
from support.docs.blocks import ROOT, blocks_of
from support.shared_memory.processes import environment


def _blocks() -> list[Any]:
    return [block for block in blocks_of(ROOT / "docs" / "shared_memory.md") if block.language == "python"]


def test_the_script_without_ros_is_seen_until_it_is_stopped(name: str) -> None:
    script = _blocks()[0].text.replace('shared_name="hydro_sim"', f'shared_name="{name}_script"')
    with subprocess.Popen([sys.executable, "-c", script], env=environment()) as process:
        with connect(f"{name}_script", wait=120.0) as simulation:
            assert simulation.scene == "spatula_slip"
            assert simulation.newest().time < simulation.wait(simulation.newest().serial + 20).time
        process.send_signal(signal.SIGINT)
        process.wait(60.0)
    assert not Path(segment_path(f"{name}_script")).exists()


def test_the_blocks_of_the_page_run(start, capsys) -> None:
    running = start()
    blocks = _blocks()[1:]
    names: dict[str, Any] = {}
    for block in blocks:
        text = block.text.replace('connect("hydro_sim"', f'connect("{running.name}"')
        exec(compile("\n" * (block.line - 1) + text, str(block.page), "exec"), names)
    said = capsys.readouterr().out.splitlines()
    assert len(blocks) == 4
    assert said[0].startswith("stand_in 0.001 ['shoulder', 'elbow', 'slider', 'wheel']")
    assert float(said[-2]) < 0.02  # it has come near its target
    assert said[-1].startswith(("RUNNING", "PAUSED"))
