"""A copy of the package ``xacro`` for this program alone, that cannot run code, open files or print.

The package expands macros well, but evaluates ``${…}`` with Python's ``eval`` behind a barrier that a lambda passes. It
is therefore loaded a second time, under another name and with other built-in functions: ``eval``, ``exec``, ``compile``
and ``open`` refuse, in every module of it and in every version, so that what is not replaced here fails instead of
running code. Whoever imports ``xacro`` has the original, unchanged.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from hydro_sim_core.errors import InputError

NAME = "hydro_sim_core.description._xacro"
#: What a robot's description may not reach, whatever the version of xacro.
_REFUSED = ("eval", "exec", "compile", "open", "input", "breakpoint")
#: Functions that are replaced; a version without one of them works in another way, and is refused.
REPLACED = (
    "safe_eval", "eval_text", "eval_all", "eval_extension", "parse", "load_yaml", "get_include_files",
    "parse_macro_arg", "is_valid_name", "replace_node", "warning", "error", "message", "print_location",
)  # fmt: skip
_REPLACED_IN_SUBSTITUTIONS = ("_eval", "_eval_find")
_NEEDED = (
    "process_file",
    "XacroException",
    "NameSpace",
    "YamlDictWrapper",
    "YamlListWrapper",
    "_global_symbols",
)


class RefusedCall(Exception):
    """The package tried to run code or to open a file by itself."""


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module with other built-in functions, which all of its functions keep."""

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__["__builtins__"] = vars(builtins) | {name: _refuse(name) for name in _REFUSED}
        super().exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the copy in the folder of the package."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != NAME and not fullname.startswith(f"{NAME}."):
            return None
        inner = fullname.removeprefix(NAME).lstrip(".").replace(".", "/")
        is_package = (self._folder / inner / "__init__.py").is_file()
        file = self._folder / inner / "__init__.py" if is_package else self._folder / f"{inner}.py"
        if not file.is_file():
            return None
        return importlib.util.spec_from_file_location(
            fullname,
            file,
            loader=_Loader(fullname, str(file)),
            submodule_search_locations=[str(file.parent)] if is_package else None,
        )


@functools.cache
def xacro_package() -> Any:
    """The copy of xacro.

    Raises:
        InputError: The installed version lacks a function that is replaced.
    """
    spec = importlib.util.find_spec("xacro")
    if spec is None or spec.origin is None:
        raise InputError("xacro", "", "is not installed", "install it: pip install xacro")
    finder = _Finder(Path(spec.origin).parent)
    sys.meta_path.insert(0, finder)
    try:
        package = importlib.import_module(NAME)
        substitutions = importlib.import_module(f"{NAME}.substitution_args")
    finally:
        sys.meta_path.remove(finder)
    missing = [name for name in (*REPLACED, *_NEEDED) if not hasattr(package, name)]
    missing += [name for name in _REPLACED_IN_SUBSTITUTIONS if not hasattr(substitutions, name)]
    if missing:
        raise InputError(
            "xacro", f"'{missing[0]}'", "is missing in the installed version, so that files cannot be expanded safely",
            "install xacro 2.1.1",
        )  # fmt: skip
    return package


def _refuse(name: str) -> Any:
    def refuse(*_arguments: object, **_named: object) -> NoReturn:
        raise RefusedCall(f"'{name}' is not available to robot descriptions")

    return refuse
