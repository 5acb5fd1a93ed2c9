"""What takes the place of functions of the package ``xacro`` while a file is expanded: evaluation, files, messages.

Everything is bounded by one budget a file: steps and values of expressions, elements that macros make, and time.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import itertools
import keyword
import logging
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn
from xml.dom import minidom

import yaml

from hydro_sim_core.description.expressions import Budget, Evaluator, ExpressionError, Function, Namespace
from hydro_sim_core.description.expressions.functions import global_names
from hydro_sim_core.description.expressions.values import check_length
from hydro_sim_core.description.paths import PackageResolver
from hydro_sim_core.description.xacro_package import xacro_package
from hydro_sim_core.description.xml_source import XmlDocument, read_bytes
from hydro_sim_core.description.yaml_loaders import MOST_BYTES, BoundedLoader
from hydro_sim_core.errors import InputError, printable, shortened
from hydro_sim_core.files import read_regular_file

_LOG = logging.getLogger(__name__)
#: Work of an element and of an attribute of the expansion: minidom takes about 1 kB for each.
_ELEMENT_WORK, _ATTRIBUTE_WORK = 15, 5
#: Work of a message, so that a file cannot flood the terminal.
_MESSAGE_WORK = 20_000
#: Units of ``!degrees 90`` and the like in YAML files, in rad and m.
_YAML_UNITS = {
    "radians": 1.0, "degrees": 3.141592653589793 / 180.0,
    "meters": 1.0, "millimeters": 0.001, "foot": 0.3048, "inches": 0.0254,
}  # fmt: skip
#: A parameter of a macro with its default, as xacro reads it; no part can be divided in two ways, so that no text takes
#: long to be refused.
_PARAMETER = re.compile(
    r"""\s*+([^\s:=]++)\s*+:?=\s*+(\^\|?)?(\$\{.*?\}(?=\s|$)|\$\(.*?\)(?=\s|$)|(?:'[^']*+'|"[^"]*+"|[^\s'"]++)++|)"""
    r"(?:\s++|$)(.*)",
    re.DOTALL,
)
#: Files are expanded one at a time: the package keeps what it does in global variables.
_LOCK = threading.RLock()


class Expansion:
    """One file that is being expanded.

    Args:
        resolver: Finds the packages that ``$(find …)`` names.
    """

    def __init__(self, resolver: PackageResolver) -> None:
        self.documents: list[XmlDocument] = []
        self._xacro = xacro_package()
        self._resolver = resolver
        self._budget = Budget()
        self._evaluator = Evaluator(self._budget, (self._xacro.NameSpace,), self._xacro.YamlDictWrapper)
        self._names = self._global_names()

    def run(self, path: Path, mappings: Mapping[str, str]) -> minidom.Document:
        """Expand a file.

        Raises:
            Exception: The file is wrong, or takes too much.
        """
        arguments = {name: Function(name, getattr(self, f"_{name}")) for name in ("arg", "env", "optenv")}
        arguments |= {"find": Function("find", self._find), "dirname": Function("dirname", self._dirname)}
        self._functions_of_eval = {**self._names, **arguments, "true": True, "false": False}
        package, substitutions = self._xacro, self._xacro.substitution_args
        with _LOCK, contextlib.ExitStack() as stack:
            for name, function in self._replacements().items():
                stack.enter_context(_replaced(vars(package), name, function))
            stack.enter_context(_replaced(vars(substitutions), "_eval", self._eval))
            stack.enter_context(_replaced(vars(substitutions), "_eval_find", self._find))
            return package.process_file(str(path), mappings=dict(mappings), verbosity=0)

    def _replacements(self) -> dict[str, object]:
        """What stands for which name of the package: all of ``xacro_package.REPLACED``, and its global symbols."""
        package = self._xacro
        return {
            "_global_symbols": self._names,
            "safe_eval": lambda text, names, *_: self._evaluator.evaluate(text, names),
            "eval_text": self._bounded_text(package.eval_text),
            "eval_all": self._bounded_elements(package.eval_all),
            "eval_extension": self._bounded_extension(package.eval_extension),
            "parse": self._parse,
            "load_yaml": self._load_yaml,
            "get_include_files": self._included_files,
            "parse_macro_arg": self._macro_parameter,
            "is_valid_name": lambda name: name.isidentifier() and not keyword.iskeyword(name),
            "replace_node": self._replace_node,
            "print_location": lambda: None,
            **dict.fromkeys(("message", "warning", "error"), self._message),
        }

    def _global_names(self) -> dict[str, object]:
        dotted = self._xacro.YamlDictWrapper
        functions: dict[str, Callable[..., object]] = {
            "load_yaml": self._load_yaml,
            "abs_filename": self._xacro.abs_filename_spec,
            "dotify": lambda values: dotted(values) if isinstance(values, dict) else _no_dict(values),
            "arg": self._arg,
            "message": self._message,
            "warning": self._message,
            "error": self._message,
            "print_location": lambda: "",
            "fatal": self._fatal,
            "tokenize": _tokenize,
        }
        of_xacro = {name: Function(name, call) for name, call in functions.items()}
        bare = {name: of_xacro[name] for name in ("load_yaml", "abs_filename", "dotify")}
        return {**global_names(self._budget), **bare, "xacro": Namespace("xacro", of_xacro)}

    def _bounded_text(self, original: Callable[..., object]) -> Callable[..., object]:
        def eval_text(text: str, symbols: Any) -> object:
            expressions = text.count("$")
            # The lexer copies what is left of the text for each part of it.
            self._budget.spend(1 + expressions * len(text) // 4096)
            result = original(text, symbols) if expressions else text
            if isinstance(result, str):
                check_length(len(result))
                self._budget.spend(len(result) // 8)
            return result

        return eval_text

    def _bounded_elements(self, original: Callable[..., None]) -> Callable[..., None]:
        def eval_all(node: minidom.Element, macros: Any, symbols: Any) -> None:
            # A node without parent is the copy of a macro's body or of a block.
            is_new = node.parentNode is None or node.parentNode.nodeType == minidom.Node.DOCUMENT_NODE
            self._budget.spend(_work_of(node) if is_new else 1)
            original(node, macros, symbols)

        return eval_all

    def _replace_node(self, node: Any, by: Any, content_only: bool = False) -> None:
        """Put nodes, or what they hold, in the place of ``node``, in time that grows with their number alone."""
        parent = node.parentNode
        sources = [] if by is None else by if isinstance(by, list) else [by]
        made = [child for source in sources for child in (source.childNodes if content_only else [source])]
        siblings = parent.childNodes
        self._budget.spend(1 + len(made) // 4 + len(siblings) // 256)
        for source in sources:
            if content_only:
                source.childNodes[:] = []
            elif source.parentNode is not None:
                source.parentNode.removeChild(source)
        place = siblings.index(node)
        siblings[place : place + 1] = made
        row = [node.previousSibling, *made, node.nextSibling]
        for left, right in itertools.pairwise(row):
            if left is not None:
                left.nextSibling = right
            if right is not None:
                right.previousSibling = left
        for child in made:
            child.parentNode = parent
        node.parentNode = node.previousSibling = node.nextSibling = None

    def _bounded_extension(self, original: Callable[[str], object]) -> Callable[[str], object]:
        def eval_extension(text: str) -> object:
            check_length(len(text))
            result = original(text)
            self._budget.spend(1 + len(str(result)) // 8)
            return result

        return eval_extension

    def _parse(self, text: str | None, filename: str) -> minidom.Document:
        path = Path(filename)
        if not os.path.lexists(path):
            # As xacro tells of it, so that an optional include may be absent.
            self._xacro.filestack.pop()
            reason = os.strerror(errno.ENOENT)
            cause = FileNotFoundError(errno.ENOENT, reason, filename)
            raise self._xacro.XacroException(f"{reason}: {filename}", exc=cause)
        content = read_bytes(path)
        self._budget.spend(1 + len(content) // 32)
        self.documents.append(XmlDocument(content, path))
        return minidom.parseString(content)

    def _load_yaml(self, filename: str) -> object:
        name = self._xacro.abs_filename_spec(str(filename))
        content = read_regular_file(
            Path(name), MOST_BYTES, source=self._xacro.filestack[-1], element="load_yaml"
        )
        self._budget.spend(1 + len(content) // 32)
        loader = type("Loader", (BoundedLoader,), {})
        for unit, factor in _YAML_UNITS.items():
            loader.add_constructor(f"!{unit}", self._unit(factor))  # type: ignore[attr-defined]
        try:
            data = yaml.load(content, loader)
        except yaml.YAMLError as error:
            problem = " ".join(str(getattr(error, "problem", None) or error).split())
            raise InputError(name, _line_of(error), f"not YAML: {problem}", "correct the file") from None
        return self._budget.accept(self._xacro.YamlListWrapper.wrap(data))

    def _unit(self, factor: float) -> Callable[[Any, yaml.Node], float]:
        def construct(loader: Any, node: yaml.Node) -> float:
            return float(self._evaluator.evaluate(loader.construct_scalar(node), self._names)) * factor  # type: ignore[arg-type]

        return construct

    def _included_files(self, specification: str, symbols: Any) -> Iterator[str]:
        name = self._xacro.abs_filename_spec(str(self._xacro.eval_text(specification, symbols)))
        folder, _, pattern = name.rpartition("/")
        if not re.search(r"[*?[]", name):
            yield name
            return
        if re.search(r"[*?[]", folder):
            raise ExpressionError(f"'{shortened(name)}' has a wildcard in the name of a folder")
        found = fnmatch.filter(os.listdir(folder or "/") if os.path.isdir(folder or "/") else [], pattern)
        self._budget.spend(1 + len(found))
        if not found:
            self._message(f"'{name}' matches no file")
        yield from (
            f"{folder}/{one}" for one in sorted(found) if not one.startswith(".") or pattern[0] == "."
        )

    def _macro_parameter(self, text: str) -> tuple[str, tuple[str | None, str | None] | None, str]:
        self._budget.spend(1 + len(text) // 64)
        found = _PARAMETER.match(text)
        if found is None:
            words = text.lstrip().split(None, 1)
            return words[0] if words else "", None, words[1] if len(words) > 1 else ""
        name, forward, default, rest = found.groups()
        return name, (name if forward else None, default or None), rest

    def _eval(self, text: str, context: Mapping[str, Any]) -> str:
        """Value of ``$(eval …)`` as text: names are arguments and functions."""
        arguments = context.get("arg") or {}
        convert = self._xacro.substitution_args.convert_value
        names = {name: convert(str(value), "auto") for name, value in arguments.items()}
        return str(self._evaluator.evaluate(text, {**names, **self._functions_of_eval}))

    def _find(self, name: str) -> str:
        return str(self._resolver.find_package(name, f"$(find {shortened(name)})"))

    def _arg(self, name: str) -> object:
        arguments = self._xacro.substitution_args_context["arg"]
        if name not in arguments:
            raise self._xacro.substitution_args.ArgException(name)
        return arguments[name]

    def _env(self, name: str) -> str:
        if name not in os.environ:
            raise ExpressionError(f"environment variable '{name}' is not set")
        return os.environ[name]

    def _optenv(self, name: str, default: str = "") -> str:
        return os.environ.get(name, default)

    def _dirname(self) -> str:
        return str(Path(self._xacro.filestack[-1]).absolute().parent)

    def _message(self, *parts: object, **_options: object) -> str:
        self._budget.spend(_MESSAGE_WORK)
        text = shortened(" ".join(map(str, parts)), 500)
        _LOG.warning("%s: %s", self._xacro.filestack[-1], printable(text))
        return ""

    def _fatal(self, *parts: object) -> NoReturn:
        raise self._xacro.XacroException(shortened(" ".join(map(str, parts)), 500))


@contextlib.contextmanager
def _replaced(names: dict[str, Any], name: str, value: object) -> Iterator[None]:
    original = names[name]
    names[name] = value
    try:
        yield
    finally:
        names[name] = original


def _work_of(root: minidom.Element) -> int:
    """Work of a copy of an element with all that it holds."""
    waiting: list[Any] = [root]
    work = 0
    while waiting:
        node = waiting.pop()
        work += 1
        if node.nodeType == minidom.Node.ELEMENT_NODE:
            attributes = node.attributes
            work += _ELEMENT_WORK + _ATTRIBUTE_WORK * len(attributes)
            waiting.extend(node.childNodes)
        else:
            work += len(node.data) // 8
    return work


def _line_of(error: yaml.YAMLError) -> str:
    mark = getattr(error, "problem_mark", None)
    return f"line {mark.line + 1}" if mark else ""


def _no_dict(value: object) -> NoReturn:
    raise ExpressionError(f"dotify takes a dict, not {type(value).__name__}")


def _tokenize(text: str, sep: str = ",; ", skip_empty: bool = True) -> list[str]:
    """Parts of ``text`` between the characters ``sep``."""
    parts = re.split(f"[{re.escape(sep)}]", text) if sep else [text]
    return [part for part in parts if part] if skip_empty else parts
