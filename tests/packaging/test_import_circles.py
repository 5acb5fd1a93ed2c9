"""No module imports itself by way of its neighbours, not even for names of types."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from support.packaging.files import ROOT

PACKAGES = sorted(
    path.parent
    for top in ("hydro_sim_core", "ros2_ws/src/hydro_sim/hydro_sim")
    for path in (ROOT / top).rglob("__init__.py")
)


def neighbours(path: Path) -> set[str]:
    """Modules beside a module that it imports, but for those that its functions import when they are called."""
    package = ".".join(path.parent.relative_to(ROOT).parts).removeprefix("ros2_ws.src.hydro_sim.")
    found = set()
    waiting: list[ast.AST] = [ast.parse(path.read_text())]
    for node in waiting:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)
        if isinstance(node, ast.ImportFrom) and node.module:
            named = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.rpartition(".")[2] for name in named if name.rpartition(".")[0] == package}
    return found & {other.stem for other in path.parent.glob("*.py")}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_neighbours_import_each_other_one_way(package):
    graph = {path.stem: neighbours(path) for path in package.glob("*.py") if path.stem != "__init__"}
    try:
        tuple(TopologicalSorter(graph).static_order())
    except CycleError as circle:
        pytest.fail(" imports ".join(circle.args[1]))
