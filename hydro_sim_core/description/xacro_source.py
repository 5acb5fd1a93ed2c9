"""Expands xacro, with the same safeguards as plain XML.

The macro language itself is the maintained ``xacro`` package. Two things are added around it: every file it
takes part in is refused when it has a DOCTYPE, and ``$(find package)`` also searches ``package_dirs``, so
that ROS need not be installed.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import xacro
import xacro.substitution_args

from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.xml_source import XmlDocument, read_bytes
from hydro_sim_core.errors import InputError

_XACRO_NAMESPACES = {"xacro": "http://www.ros.org/wiki/xacro"}


def expand_xacro(path: Path, arguments: Mapping[str, object], resolver: PackageResolver) -> XmlDocument:
    """The URDF that a xacro file stands for.

    Args:
        path: The xacro file.
        arguments: Values for its ``<xacro:arg>`` declarations.
        resolver: Finds the packages that ``$(find …)`` names.

    Raises:
        InputError: The file, or one it includes, is missing, malformed, has a DOCTYPE or fails to expand; or
            an argument is declared nowhere.
    """
    XmlDocument(read_bytes(path), path)
    already_included = len(xacro.all_includes)
    mappings = {name: _xacro_text(value) for name, value in arguments.items()}
    try:
        with _find_through(resolver):
            expanded = xacro.process_file(str(path), mappings=mappings)
    except InputError:
        raise
    except Exception as error:  # xacro evaluates expressions of the file, which can raise anything
        where = ", in ".join(Path(file).name for file in reversed(xacro.filestack or [path]))
        problem = " ".join(str(error).split()) or type(error).__name__
        raise InputError(path, where, f"xacro failed: {problem}", "correct the xacro file") from None
    included = [
        Path(file) for file in dict.fromkeys(xacro.all_includes[already_included:]) if Path(file).is_file()
    ]
    documents = [XmlDocument(read_bytes(file), file) for file in (path, *included)]
    _check_arguments(path, arguments, documents)
    return XmlDocument(expanded.toprettyxml(encoding="utf-8"), path, note=" after xacro")


def _check_arguments(path: Path, arguments: Mapping[str, object], documents: list[XmlDocument]) -> None:
    declared = {
        str(name)
        for document in documents
        for name in document.root.lxml.xpath("//xacro:arg/@name", namespaces=_XACRO_NAMESPACES)
    }
    for name in arguments:
        if name not in declared:
            raise InputError(
                path,
                f"xacro argument '{name}'",
                "is declared by no <xacro:arg>",
                did_you_mean(name, declared),
            )


def _xacro_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@contextlib.contextmanager
def _find_through(resolver: PackageResolver) -> Iterator[None]:
    """Let ``$(find …)`` ask ``resolver``; xacro has no other place to hand a package index in."""
    module = xacro.substitution_args
    original = module._eval_find, module._eval_dict["find"]

    def find(name: str) -> str:
        return str(resolver.find_package(name, f"$(find {name})"))

    module._eval_find = module._eval_dict["find"] = find
    try:
        yield
    finally:
        module._eval_find, module._eval_dict["find"] = original
