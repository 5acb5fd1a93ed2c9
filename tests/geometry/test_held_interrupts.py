"""Ctrl-C is not lost in libraries that catch all exceptions while they are imported."""

from __future__ import annotations

import ast
import builtins
import os
import signal
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import hydro_sim_core
from hydro_sim_core.geometry.distance import closest_points
from hydro_sim_core.held_interrupts import held_interrupts


@pytest.fixture(autouse=True)
def hears_ctrl_c():
    """Whoever is started in the background by a shell ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c_while_something_is_tried():
    with suppress(BaseException):
        os.kill(os.getpid(), signal.SIGINT)


def test_it_comes_when_the_block_ends():
    before = signal.getsignal(signal.SIGINT)
    passed = []

    def work():
        with held_interrupts():
            press_ctrl_c_while_something_is_tried()
            passed.append(True)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert passed
    assert signal.getsignal(signal.SIGINT) is before


def test_other_threads_and_blocks_without_it_go_on():
    found = []

    def work():
        with held_interrupts():
            found.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    work()
    assert found[0] is before
    assert found[1] is not before
    assert signal.getsignal(signal.SIGINT) is before


def test_a_search_on_a_mesh_hears_it_while_trimesh_is_imported(monkeypatch):
    find = builtins.__import__

    def find_slowly(name, *rest):
        if name == "trimesh":
            press_ctrl_c_while_something_is_tried()
        return find(name, *rest)

    monkeypatch.setattr(builtins, "__import__", find_slowly)
    with pytest.raises(KeyboardInterrupt):
        closest_points(np.zeros((1, 3)), np.eye(3), np.array([[0, 1, 2]]))


def test_every_import_of_trimesh_is_held():
    """But for those of experiments, of names for types, and of a process that ignores it."""
    root = Path(hydro_sim_core.__file__).parent
    held = 0
    for path in root.rglob("*.py"):
        if "experiments" in path.parts or path.name == "parser_process.py":
            continue
        tree = ast.parse(path.read_text())
        whole = {id(child): node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import) and any(alias.name == "trimesh" for alias in node.names):
                around = ast.unparse(whole[id(node)])
                assert around.startswith(("with held_interrupts():", "if TYPE_CHECKING:")), path
                held += around.startswith("with")
    assert held == 7
