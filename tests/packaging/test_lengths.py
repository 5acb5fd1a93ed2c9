"""Files and functions stay short enough to be read at once."""

import ast

import pytest

from support.packaging.files import ROOT, our_files

LONGEST_FILE = 500
LONGEST_FUNCTION = 60


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
    found = {
        f"{path}: {name}": lines
        for path in our_files(".py")
        for name, lines in lengths_of_functions((ROOT / path).read_text())
    }
    assert found
    assert {name: lines for name, lines in found.items() if lines > LONGEST_FUNCTION} == {}


def test_lines_are_counted_from_the_def_to_the_end():
    source = "@decorated\ndef f(\n    a,\n):\n    '''Say.'''\n    def g():\n        pass\n    return g\n"
    assert dict(lengths_of_functions(source)) == {"f": 7, "g": 2}
