"""The site: the Markdown pages of this folder, and an API reference from the docstrings (decision 12)."""

import ast
import builtins
import gc
import os
import re
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

from docutils.nodes import document
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx

DOCS = Path(__file__).parent

# Nearly all that the build makes lives to its end; to look for garbage in it took a quarter of the time.
gc.disable()

# Kernels are described as the plain functions that they are compiled from.
os.environ["NUMBA_DISABLE_JIT"] = "1"

project = "hydro-sim"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]

# Anchors as GitHub makes them of headings, so that one link serves both.
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"no-value": True}
autodoc_typehints_format = "short"
autodoc_typehints_description_target = "documented"
autodoc_use_type_comments = False
napoleon_numpy_docstring = False
napoleon_use_ivar = True
toc_object_entries = False  # a sidebar of 2000 names helps nobody

html_theme = "furo"
html_title = "hydro-sim"
html_show_sourcelink = False
html_copy_source = False


_comments: dict[str, list[str]] = {}


def _set_comments_aside(
    _app: Sphinx, what: str, name: str, _thing: Any, _options: Any, lines: list[str]
) -> None:
    """Napoleon would take what stands before a colon in the comment on a constant for its type."""
    if what in ("data", "attribute"):
        _comments[name] = list(lines)


def _mend_docstring(
    _app: Sphinx, _what: str, name: str, _thing: Any, _options: Any, lines: list[str]
) -> None:
    """Bars in docstrings are norms; to reStructuredText they would be substitutions."""
    lines[:] = _comments.pop(name, lines)
    for i, line in enumerate(lines):
        text_and_code = re.split("(``.*?``)", line)
        text_and_code[::2] = [text.replace("|", r"\|") for text in text_and_code[::2]]
        lines[i] = "".join(text_and_code)


_PAGE = """\
``{name}``
{line}

.. automodule:: {name}

.. toctree::

{subpackages}

{modules}
"""
# What a package re-exports is described once, where it is written.
_MODULE = """\
``{name}``
{line}

.. automodule:: {name}
   :members:
   :ignore-module-all:

"""


def _write_api_pages(package: Path, folder: Path) -> None:
    """Write a page for autodoc to fill for every package in that folder, and remove those of packages that are gone."""
    folder.mkdir(parents=True, exist_ok=True)
    pages = {
        folder / f"{_name(init.parent, package)}.rst": init for init in sorted(package.rglob("__init__.py"))
    }
    for old in set(folder.glob("*.rst")) - pages.keys():
        old.unlink()
    for page, init in pages.items():
        text = _page(init.parent, package)
        # An unchanged page is not built again.
        if not page.exists() or page.read_text() != text:
            page.write_text(text)


def _page(folder: Path, root: Path) -> str:
    name = _name(folder, root)
    subpackages = sorted(init.parent for init in folder.glob("*/__init__.py"))
    modules = sorted(path.with_suffix("") for path in folder.glob("*.py") if not path.name.startswith("_"))
    return _PAGE.format(
        name=name,
        line="=" * 80,
        subpackages="\n".join(f"   {path.name} <{_name(path, root)}>" for path in subpackages),
        modules="\n".join(_MODULE.format(name=_name(path, root), line="-" * 80) for path in modules),
    )


def _name(path: Path, root: Path) -> str:
    return ".".join(path.relative_to(root.parent).parts)


def _skip_what_is_imported(
    app: Sphinx, what: str, name: str, thing: Any, _skip: bool, _options: Any
) -> bool | None:
    """Autodoc leaves it out too, but only after it has read its signature and the source that it comes from."""
    if what != "module" or not isinstance(thing, type | FunctionType) or thing.__name__ != name:
        return None
    return thing.__module__ != app.env.current_document.autodoc_module or None


def _complete_names(_app: Sphinx, doctree: document) -> None:
    """Sphinx would look for each type of an argument among the ends of all names, also for ``float``.

    A class whose name another module uses, too, is the one that the module at hand imports or defines.
    """
    for reference in doctree.findall(pending_xref):
        target = reference.get("reftarget", "")
        if "." not in target and not hasattr(builtins, target):
            module = reference.get("py:module") or ""
            target = reference["reftarget"] = _full_names(module).get(target, target)
        if "." in target or hasattr(builtins, target):
            reference.attributes.pop("refspecific", None)


@cache
def _full_names(module: str) -> dict[str, str]:
    """Full names of our classes by what a module calls them, also of those that it imports for type checkers alone."""
    source = getattr(sys.modules.get(module), "__file__", None)
    tree = ast.parse(Path(source).read_text() if source else "")
    imported = [
        (name.asname or name.name, getattr(import_module(node.module), name.name))
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("hydro_sim")
        for name in node.names
    ]
    defined = [
        (node.name, getattr(sys.modules[module], node.name))
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    ]
    classes = ((name, thing) for name, thing in imported + defined if isinstance(thing, type))
    return {name: f"{thing.__module__}.{thing.__qualname__}" for name, thing in classes}


def setup(app: Sphinx) -> None:
    _write_api_pages(DOCS.parent / "hydro_sim_core", DOCS / "api" / "engine")
    _write_api_pages(DOCS.parent / "ros2_ws" / "src" / "hydro_sim" / "hydro_sim", DOCS / "api" / "node")
    app.connect("autodoc-process-docstring", _set_comments_aside, priority=0)
    app.connect("autodoc-process-docstring", _mend_docstring, priority=1000)
    app.connect("autodoc-skip-member", _skip_what_is_imported)
    app.connect("doctree-read", _complete_names)
