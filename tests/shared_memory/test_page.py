"""The Python of docs/shared_memory.md runs beside a simulation, block after block."""

from __future__ import annotations

from typing import Any

from support.docs.blocks import ROOT, blocks_of


def test_the_blocks_of_the_page_run(start, capsys) -> None:
    running = start()
    blocks = [block for block in blocks_of(ROOT / "docs" / "shared_memory.md") if block.language == "python"]
    names: dict[str, Any] = {}
    for block in blocks:
        text = block.text.replace('connect("hydro_sim"', f'connect("{running.name}"')
        exec(compile("\n" * (block.line - 1) + text, str(block.page), "exec"), names)
    said = capsys.readouterr().out.splitlines()
    assert len(blocks) == 4
    assert said[0].startswith("stand_in 0.001 ['shoulder', 'elbow', 'slider', 'wheel']")
    assert float(said[-2]) < 0.02  # it has come near its target
    assert said[-1].startswith(("RUNNING", "PAUSED"))
