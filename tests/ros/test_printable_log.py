"""What the node logs: one line each, without control characters, whoever chose the names in it."""

from __future__ import annotations

import json
import time

import pytest
from websockets.sync.client import connect

from support.ros.node_process import SCENE

ESCAPE = "\x1b[31mX\nWARNING: forged line"


def test_a_page_cannot_forge_a_line(start_node):
    """A joint of any name is refused, and the refusal is logged."""
    node = start_node("-p", f"scene:={SCENE}", "-p", "viewer:=true", "-p", "status_line:=false")
    node.wait_for_output("viewer: http", timeout=300)
    node.wait_for_output("scene 'spatula_slip'", timeout=300)
    (address,) = [
        line.partition("viewer: http")[2] for line in node.output.splitlines() if "viewer: http" in line
    ]
    time.sleep(
        2.0
    )  # until it is active: refusals are logged every 5 s at most, and the first would be of that
    page, _, query = address.partition("?")
    with connect(f"ws{page.rstrip('/')}/ws" + (f"?{query}" if query else ""), max_size=None) as socket:
        deadline = time.monotonic() + 120.0
        while "forged line" not in node.output:  # commands are taken when the node is active
            assert time.monotonic() < deadline
            socket.send(json.dumps({"type": "joint", "name": ESCAPE, "position": 0.0}))
            time.sleep(0.2)
    assert "\x1b" not in node.output
    assert r"\x1b[31mX" in node.output
    assert not any(line.startswith("WARNING: forged") for line in node.output.splitlines())


def test_all_severities_are_logged_from_the_same_line(capfd):
    """rclpy forbids a line of code to change its severity, and takes ours for part of itself."""
    rcutils_logger = pytest.importorskip("rclpy.impl.rcutils_logger")
    from hydro_sim.printable_log import PrintableLogger

    assert any(name.endswith("printable_log.py") for name in rcutils_logger._internal_callers)
    logger = PrintableLogger("hydro_sim")
    logger.info(f"one {ESCAPE}")
    logger.warning(f"two {ESCAPE}")
    logger.error(f"three {ESCAPE}")
    text = "".join(capfd.readouterr())
    for number in ("one", "two", "three"):
        assert rf"{number} \x1b[31mX WARNING: forged line" in text
    assert "\x1b[31mX" not in text
