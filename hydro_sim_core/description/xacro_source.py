"""Expansion of xacro, with the same safeguards as for plain XML.

The package ``xacro`` implements the macro language. It runs without the means to run code (``xacro_package``), and with
our own evaluator, readers of files and bounds in place of its own (``xacro_expansion``): every XML file with a DOCTYPE
is refused before xacro parses it, and ``$(find package)`` also searches ``package_dirs``, so that ROS need not be
installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hydro_sim_core.description.expressions import BudgetExceeded
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.xacro_expansion import Expansion
from hydro_sim_core.description.xacro_package import xacro_package
from hydro_sim_core.description.xml_source import XmlDocument, read_bytes
from hydro_sim_core.errors import InputError, printable, shortened

_XACRO_NAMESPACES = {"xacro": "http://www.ros.org/wiki/xacro"}
_ARGUMENT_USE = re.compile(r"\$\(arg\s+([^\s)]+)\s*\)")


def expand_xacro(
    path: Path, arguments: Mapping[str, object], resolver: PackageResolver, others_too: bool = False
) -> XmlDocument:
    """Expand a xacro file to URDF.

    Args:
        path: The xacro file.
        arguments: Values for its ``<xacro:arg>`` declarations.
        resolver: Finds the packages that ``$(find …)`` names.
        others_too: Some of the arguments may be for other files, so that it need not declare them.

    Raises:
        InputError: The file, or one it includes, is missing, malformed, has a DOCTYPE, includes itself or fails to
            expand; or an argument is not declared or has no value.
    """
    read_bytes(path)  # its own errors name no xacro
    expansion = Expansion(resolver)
    mappings = {name: _xacro_text(value) for name, value in arguments.items()}
    try:
        text = expansion.run(path, mappings).toprettyxml(encoding="utf-8")
    except Exception as error:  # expressions of the file can raise anything
        raise _as_input_error(error, path) from None
    if arguments and not others_too:
        _check_arguments(path, arguments, expansion.documents)
    return XmlDocument(text, path, note=" after xacro")


def _as_input_error(error: Exception, path: Path) -> InputError:
    cause, where = _first_cause(error)
    if isinstance(cause, InputError):
        return cause
    xacro = xacro_package()
    problem = printable(shortened(f"{cause} {where}", 400)).removesuffix(".") or type(cause).__name__
    mend = "correct the xacro file"
    included = dict.fromkeys(file for file in reversed(xacro.filestack or ()) if Path(file) != path)
    files = [Path(file).name for file in included]
    if isinstance(cause, BudgetExceeded):
        problem, mend = str(cause), "end what repeats without end in it"
    elif isinstance(cause, RecursionError):
        problem, mend = _recursion(), "end the recursion"
    elif isinstance(cause, OSError):
        problem, mend = f"cannot read {cause.filename} ({cause.strerror})", "correct the path"
    elif isinstance(cause, xacro.substitution_args.ArgException):
        problem = f"argument '{cause}' has no value"
        mend = f"give it one: xacro_args, or --xacro-arg {cause}:=VALUE on the command line"
    return InputError(path, ", in ".join(files), f"xacro failed: {problem}", mend)


def _first_cause(error: BaseException) -> tuple[BaseException, str]:
    """What has failed, and xacro's words for the innermost expression around it; each one around that repeats it."""
    where = ""
    while isinstance(inner := getattr(error, "exc", None), BaseException):
        where = getattr(error, "suffix", None) or where
        error = inner
    return error, where


def _recursion() -> str:
    """Description of an infinite recursion, from the stacks that xacro leaves behind when it fails."""
    xacro = xacro_package()
    files = xacro.filestack or []
    for file in files:
        if files.count(file) > 1:
            return f"{Path(file).name} includes itself"
    for macro in xacro.macrostack or []:
        if xacro.macrostack.count(macro) > 1:
            return f"the macro '{macro.body.getAttribute('name')}' calls itself"
    return "it nests too deeply"


def _check_arguments(path: Path, arguments: Mapping[str, object], documents: list[XmlDocument]) -> None:
    known = {str(name) for document in documents for name in _argument_names(document)}
    for name in arguments:
        if name not in known:
            raise InputError(
                path,
                f"xacro argument '{name}'",
                "is declared by no <xacro:arg> and used by no $(arg …)",
                did_you_mean(name, known),
            )


def _argument_names(document: XmlDocument) -> Iterator[str]:
    root = document.root.lxml
    yield from root.xpath("//xacro:arg/@name", namespaces=_XACRO_NAMESPACES)
    for text in root.xpath("//@* | //text()"):
        yield from _ARGUMENT_USE.findall(text)


def _xacro_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
