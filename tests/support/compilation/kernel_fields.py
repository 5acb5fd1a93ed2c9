"""Which fields of their structs kernels read and write: found in their sources, told at the end of their docstrings.

A docstring that tells something else than the source does fails a test; all are written anew by

    python tests/support/compilation/kernel_fields.py --write

Followed are names that stand for fields, and arrays that are passed to other kernels. What a kernel passes on as a
whole struct is told by the kernel that gets it. Of kernels that come as values (a law, a method) it is not known what
they do: they are taken to read what they are given.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hydro_sim_core.compilation.kernels import Entry, Kernel

ROOT = Path(__file__).parents[3]
#: Rooms whose kernels work on structs.
ROOMS = ("solvers", "simulation", "dynamics", "contact")
#: Arguments that are followed through ``*arguments``.
_MOST_PASSED_ON = 10

#: A parameter and the fields that lead from it: ("scratch", "solver", "v").
FieldPath = tuple[str, ...]


@dataclass
class Access:
    """What a kernel reads and writes, by paths that begin with one of its parameters."""

    reads: set[FieldPath] = field(default_factory=set)
    writes: set[FieldPath] = field(default_factory=set)


class _Body(ast.NodeVisitor):
    """One walk over a kernel's body."""

    def __init__(self, function: ast.FunctionDef, names: dict[str, Any], known: dict[Any, Access]) -> None:
        self.access = Access()
        self._names, self._known = names, known
        self._stands_for: dict[str, FieldPath] = {a.arg: (a.arg,) for a in function.args.args}
        self._rest = function.args.vararg.arg if function.args.vararg else ""
        for statement in function.body:
            self.visit(statement)

    def _path(self, node: ast.expr) -> FieldPath | None:
        """The field that an expression is, or is a part of."""
        match node:
            case ast.Name(id=name):
                return self._stands_for.get(name)
            case ast.Attribute(value=value, attr=attr):
                path = self._path(value)
                return None if path is None or attr == "shape" else (*path, attr)
            case ast.Subscript(value=value):
                return self._path(value)
        return None

    def _read(self, path: FieldPath | None) -> None:
        if path is not None:
            self.access.reads.add(path)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._assign(target, node.value)

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            for one, of in zip(target.elts, value.elts, strict=True):
                self._assign(one, of)
            return
        path = self._path(value)
        if isinstance(target, ast.Name) and path is not None:
            self._indices(value)
            self._stands_for[target.id] = path
            return
        self.visit(value)
        self._store(target)

    def _store(self, target: ast.expr) -> None:
        match target:
            case ast.Tuple(elts=elements):
                for one in elements:
                    self._store(one)
            case ast.Name(id=name):
                self._stands_for.pop(name, None)
            case ast.Subscript():
                path = self._path(target)
                if path is not None:
                    self.access.writes.add(path)
                self._indices(target)

    def _indices(self, node: ast.expr) -> None:
        """Read what the indices of an expression are made of."""
        while isinstance(node, ast.Subscript | ast.Attribute):
            if isinstance(node, ast.Subscript):
                self.visit(node.slice)
            node = node.value

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if isinstance(node.target, ast.Subscript):
            self._read(self._path(node.target))
            self._store(node.target)

    def visit_Call(self, node: ast.Call) -> None:
        called = self._called(node.func)
        if called is None:
            self.generic_visit(node)
            return
        parameters, access = called
        for parameter, argument in zip(parameters, self._arguments(node), strict=False):
            path = argument if isinstance(argument, tuple) else self._path(argument)
            if path is None:
                self.visit(argument)
                continue
            self._indices(argument)
            for theirs, ours in ((access.reads, self.access.reads), (access.writes, self.access.writes)):
                # Fields of a whole struct are told by whoever gets it.
                ours |= {path for one in theirs if one == (parameter,)}

    def _arguments(self, call: ast.Call) -> Iterator[ast.expr | FieldPath]:
        """The arguments of a call, one by one also where ``*arguments`` are passed on."""
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                yield from ((f"{self._rest}[{i}]",) for i in range(_MOST_PASSED_ON))
            else:
                yield argument

    def _called(self, node: ast.expr) -> tuple[list[str], Access] | None:
        kernel = self._names.get(node.id) if isinstance(node, ast.Name) else None
        kernel = kernel.kernel if isinstance(kernel, Entry) else kernel
        if not isinstance(kernel, Kernel):
            return None
        code = kernel.function.__code__
        names = list(code.co_varnames[: code.co_argcount])
        if code.co_flags & inspect.CO_VARARGS:
            names += [f"{code.co_varnames[code.co_argcount]}[{i}]" for i in range(_MOST_PASSED_ON)]
        return names, self._known[kernel]

    def visit_Name(self, node: ast.Name) -> None:
        self._read(self._stands_for.get(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr == "shape":
            return
        path = self._path(node)
        if path is None:
            self.generic_visit(node)
        self._read(path)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        path = self._path(node)
        if path is None:
            self.generic_visit(node)
            return
        self._indices(node)
        self._read(path)


def kernels() -> dict[Kernel, Path]:
    """All kernels of the rooms, and the file that each stands in."""
    found: dict[Kernel, Path] = {}
    for room in ROOMS:
        for path in sorted((ROOT / "hydro_sim_core" / room).rglob("*.py")):
            if not re.search(r"^@(kernel|entry)", path.read_text(), re.MULTILINE):
                continue
            module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            for value in vars(module).values():
                one = value.kernel if isinstance(value, Entry) else value
                if (
                    isinstance(one, Kernel)
                    and one.function.__module__ == module.__name__
                    and "<" not in one.function.__qualname__
                ):
                    found[one] = path
    return found


def accesses(found: Iterable[Kernel]) -> dict[Kernel, Access]:
    """What each kernel reads and writes, with what it has others do to its arrays."""
    trees = {one: _definition(one) for one in _with_closures(found)}
    known: dict[Any, Access] = defaultdict(Access)
    before: list[int] = []
    while True:
        for one, tree in trees.items():
            outside = inspect.getclosurevars(one.function)
            known[one] = _Body(tree, {**outside.globals, **outside.nonlocals}, known).access
        size = [len(known[one].reads) + len(known[one].writes) for one in trees]
        if size == before:
            return dict(known)
        before = size


def _with_closures(found: Iterable[Kernel]) -> list[Kernel]:
    """Kernels, and those that they call by names of functions around them."""
    every = dict.fromkeys(found)
    waiting = list(every)
    for one in waiting:
        outside = inspect.getclosurevars(one.function)
        for value in (*outside.globals.values(), *outside.nonlocals.values()):
            kernel = value.kernel if isinstance(value, Entry) else value
            if isinstance(kernel, Kernel) and kernel not in every:
                every[kernel] = None
                waiting.append(kernel)
    return waiting


def _definition(one: Kernel) -> ast.FunctionDef:
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(one.function))).body
    assert isinstance(definition, ast.FunctionDef)
    return definition


def told(access: Access) -> str:
    """What a docstring has to say of it: nothing where there are no fields."""
    sentences = []
    for verb, paths in (("Reads", access.reads), ("Writes", access.writes)):
        fields: dict[str, list[str]] = {}
        for path in sorted(paths, key=lambda path: (len(path), path)):
            if len(path) > 1:
                fields.setdefault(".".join(path[:-1]), []).append(path[-1])
        if fields:
            sentences.append(
                f"{verb} "
                + "; ".join(f"{struct}: {', '.join(names)}" for struct, names in fields.items())
                + "."
            )
    return " ".join(sentences)


def telling(docstring: str) -> str:
    """What a docstring says of it."""
    last = " ".join(docstring.rstrip().rpartition("\n\n")[2].split())
    return last if re.match(r"(Reads|Writes) [\w.]+: ", last) else ""


def rewritten(source: str, wanted: dict[str, str]) -> str:
    """A file's source with the docstrings of its kernels telling what is wanted."""
    lines = source.split("\n")
    functions = [
        node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name in wanted
    ]
    for node in reversed(functions):
        docstring = ast.get_docstring(node, clean=True) or ""
        if telling(docstring) == wanted[node.name]:
            continue
        if not docstring:
            raise SystemExit(f"{node.name} has no docstring")
        if telling(docstring):
            docstring = docstring.rstrip().rpartition("\n\n")[0]
        sentences = re.split(r"(?<=\.) (?=Writes )", wanted[node.name])
        text = "\n".join(textwrap.fill(one, 116, break_on_hyphens=False) for one in sentences)
        whole = docstring.rstrip() + (f"\n\n{text}\n" if text else "")
        if not text and "\n" in whole:
            whole += "\n"
        first = node.body[0]
        lines[first.lineno - 1 : first.end_lineno] = textwrap.indent(
            f'"""{whole}"""', "    ", lambda line: line.strip() != ""
        ).split("\n")
    return "\n".join(lines)


def main() -> None:
    """Write the docstrings anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", required=True)
    parser.parse_args()
    found = kernels()
    access = accesses(found)
    for path in sorted(set(found.values())):
        wanted = {one.function.__name__: told(access[one]) for one, file in found.items() if file == path}
        path.write_text(rewritten(path.read_text(), wanted))


if __name__ == "__main__":
    main()
