"""Files and functions stay short enough to be read at once."""

import ast

import pytest

from support.packaging.files import ROOT, our_files

LONGEST_FILE = 500
LONGEST_FUNCTION = 60
#: Functions that are still longer, with what they have now: none may grow, and who cuts one takes it out.
STILL_LONGER = {
    "hydro_sim_core/description/model_builder.py: add_joint": 80,
    "hydro_sim_core/sensors/rasterise.py: draw_faces": 68,
    "hydro_sim_core/simulation/assembly/builder.py: build_model": 62,
    "hydro_sim_core/simulation/world/world.py: __init__": 64,
    "ros2_ws/src/hydro_sim/hydro_sim/parameters.py: declare_parameters": 75,
}


def lengths_of_functions(source: str) -> list[tuple[str, int]]:
    """Name and lines of every function and method, from ``def`` to its end."""
    functions = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    return [(node.name, (node.end_lineno or node.lineno) - node.lineno + 1) for node in functions]


@pytest.mark.parametrize("suffix", [".py", ".js", ".css", ".html"])
def test_no_file_is_longer(suffix):
    lengths = {str(path): len((ROOT / path).read_text().splitlines()) for path in our_files(suffix)}
    assert lengths
    assert {path: lines for path, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_no_function_is_longer():
    """But for those that are waiting to be cut."""
    found = {
        f"{path}: {name}": lines
        for path in our_files(".py")
        for name, lines in lengths_of_functions((ROOT / path).read_text())
        if lines > LONGEST_FUNCTION
    }
    grown = {name: lines for name, lines in found.items() if lines > STILL_LONGER.get(name, 0)}
    assert grown == {}, f"cut them to {LONGEST_FUNCTION} lines"
    assert set(STILL_LONGER) <= set(found), "some are no longer longer: take them out of STILL_LONGER"


def test_lines_are_counted_from_the_def_to_the_end():
    source = "@decorated\ndef f(\n    a,\n):\n    '''Say.'''\n    def g():\n        pass\n    return g\n"
    assert dict(lengths_of_functions(source)) == {"f": 7, "g": 2}
