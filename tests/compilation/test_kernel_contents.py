"""What machine code depends on: whatever a kernel reads makes other code, and what cannot be told is refused."""

from __future__ import annotations

import enum
import math
import types
from typing import NamedTuple

import numpy as np
import pytest

from hydro_sim_core.compilation import Float1D, entry, kernel
from hydro_sim_core.compilation.dependencies import dependencies

HEAD = """
from __future__ import annotations
import enum, functools, math
from typing import NamedTuple
import numpy as np
from hydro_sim_core.compilation import Float1D, entry, kernel
import settings, settings.inner

class Point(NamedTuple):
    a: float
    b: float = 3.0

class Kind(enum.IntEnum):
    SOFT = 1
    RIGID = 2

TABLE = np.arange(6.0).reshape(2, 3)
SCALE = 2.0

@kernel
def once(x):
    return x

@kernel
def twice(x):
    return 2.0 * x

@entry
def called(x: Float1D) -> float:
    return x[0]

BOTH = (once, twice)
CALLED = (called,)

{kernel}

@entry
def whole(x: Float1D) -> float:
    return used(x)
"""
PLAIN = "@kernel\ndef used(x):\n    return x[0]"


@pytest.fixture(autouse=True)
def settings(monkeypatch):
    """Two modules with constants."""
    outer, inner = types.ModuleType("settings"), types.ModuleType("settings.inner")
    outer.inner, outer.LIMIT, inner.DEPTH, inner.unread = inner, 4.0, 5.0, object()
    monkeypatch.setitem(__import__("sys").modules, "settings", outer)
    monkeypatch.setitem(__import__("sys").modules, "settings.inner", inner)
    return outer


def defined(body, old="", new=""):
    """The entry point of a module with a kernel in it, one of whose words is another."""
    source = HEAD.replace("{kernel}", body)
    assert old in source
    namespace = {"__name__": "a_module"}
    exec(source.replace(old, new, 1) if old else source, namespace)
    return namespace["whole"]


def digest(body, old="", new=""):
    return dependencies(defined(body, old, new)).digest


READS = {
    "a default": ("@kernel\ndef used(x, y=1.0):\n    return x[0] + y", "y=1.0", "y=2.0"),
    "a keyword's default": ("@kernel\ndef used(x, *, y=1.0):\n    return x[0] + y", "y=1.0", "y=2.0"),
    "how a parameter is passed": ("@kernel\ndef used(x, y=1):\n    return x[0]", "x, y=1", "x, *y"),
    "a member of an enum's class": (
        "@kernel\ndef used(x):\n    return x[0] if Kind.RIGID == 2 else 0.0",
        "RIGID = 2",
        "RIGID = 3",
    ),
    "an enum's member": (
        "SOFT = Kind.SOFT\n@kernel\ndef used(x):\n    return x[0] if SOFT == 1 else 0.0",
        "SOFT = 1",
        "SOFT = 3",
    ),
    "a kernel in a tuple": ("@kernel\ndef used(x):\n    return BOTH[1](x[0])", "2.0 * x", "3.0 * x"),
    "an entry point in a tuple": (
        "@kernel\ndef used(x):\n    return CALLED[0](x)",
        "called(x: Float1D) -> float",
        "called(x: Float1D) -> int",
    ),
    "the fields of a struct that it makes": (
        "@kernel\ndef used(x):\n    return Point(x[0], 1.0).a",
        "a: float\n    b: float = 3.0",
        "b: float\n    a: float = 3.0",
    ),
    "a default of a struct that it makes": (
        "@kernel\ndef used(x):\n    return Point(x[0]).b",
        "b: float = 3.0",
        "b: float = 4.0",
    ),
    "an array": ("@kernel\ndef used(x):\n    return TABLE[0, 0]", "arange(6.0)", "arange(1.0, 7.0)"),
    "an array's order": (
        "@kernel\ndef used(x):\n    return TABLE[0, 0]",
        "arange(6.0).reshape(2, 3)",
        "asfortranarray(np.arange(6.0).reshape(2, 3))",
    ),
    "the type of a number": (
        "@kernel\ndef used(x):\n    return x[0] * SCALE",
        "SCALE = 2.0",
        "SCALE = np.float32(2.0)",
    ),
    "a constant of a closure": (
        "def made(y):\n    def used(x):\n        return x[0] * y\n    return kernel(used)\nused = made(2.0)",
        "made(2.0)",
        "made(3.0)",
    ),
    "what stands for a name": (
        "other = twice\n@kernel\ndef used(x):\n    return other(x[0]) + once(x[0]) + twice(x[0])",
        "other = twice",
        "other = once",
    ),
}


@pytest.mark.parametrize("what", READS)
def test_whatever_a_kernel_reads_makes_other_code(what):
    body, old, new = READS[what]
    assert digest(body) == digest(body)
    assert digest(body, old, new) != digest(body)


@pytest.mark.parametrize(
    ("read", "name", "holder"),
    [("settings.LIMIT", "LIMIT", "settings"), ("settings.inner.DEPTH", "DEPTH", "settings.inner")],
)
def test_a_constant_of_another_module_counts(read, name, holder):
    """And nothing else in that module does."""
    body = f"@kernel\ndef used(x):\n    return {read} * x[0]"
    before = digest(body)
    module = __import__("sys").modules[holder]
    module.other = object()
    assert digest(body) == before
    setattr(module, name, 7.0)
    assert digest(body) != before


def test_a_constant_of_another_module_is_compiled_in():
    assert defined("@kernel\ndef used(x):\n    return settings.inner.DEPTH * x[0]")(np.ones(1)) == 5.0


REFUSED = {
    "a function": ("def helper(x):\n    return x", "helper(x[0])", "helper, a function"),
    "a dictionary": ("helper = {1: 2.0}", "helper[1]", "helper, a dict"),
    "a list": ("helper = [1.0]", "helper[0]", "helper, a list"),
    "a list in a tuple": ("helper = ([1.0],)", "helper[0][0]", r"helper\[0\], a list"),
    "a class": ("class helper:\n    pass", "helper.x", "helper, a type"),
    "a function of no library": ("helper = functools.reduce", "helper(x)", "helper, a builtin"),
    "an object": ("helper = object()", "helper", "helper, a object"),
    "a module itself": ("", "len(dir(settings))", "settings, a module"),
    "what a module lacks": ("", "settings.nothing", "settings.nothing, which does not exist"),
    "a large array": ("helper = np.zeros(200_000)", "helper[0]", "helper, a large array"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_told_is_refused_by_name(what):
    """Else it would be described by its name, and machine code of an earlier value be found."""
    setup, read, words = REFUSED[what]
    with pytest.raises(TypeError, match=f"kernel a_module.used.* uses {words}"):
        digest(f"{setup}\n@kernel\ndef used(x):\n    return {read}")


@pytest.mark.parametrize(
    "read",
    [
        "math.sqrt(x[0])",
        "np.sqrt(x[0])",
        "float(int(abs(x[0])))",
        "float(len(x) + max(1, 2))",
        "np.float64(3)",
        "math.pi * np.pi",
        "root(x[0]) + absolute(x[0])",
    ],
)
def test_what_numba_knows_by_its_name_is_fine(read):
    assert digest(f"root = math.sqrt\nabsolute = np.abs\n@kernel\ndef used(x):\n    return {read}")


def test_an_attribute_may_have_the_name_of_what_is_no_constant():
    """Bytecode has one list of names for both."""
    body = "size = object()\nT = settings\n@kernel\ndef used(x):\n    return x.size * settings.LIMIT"
    assert defined(body)(np.ones(2)) == 8.0


def test_a_first_string_of_a_lambda_is_no_docstring():
    body = "@kernel\ndef used(x):\n    f = lambda: 'a'\n    return x[0]"
    assert digest(body) != digest(body, "'a'", "'b'")
    body = '@kernel\ndef used(x):\n    """Text."""\n    return x[0]'
    assert digest(body) == digest(body, "Text", "Other text")


SHADE = 2.0


class Shade(enum.IntEnum):
    DARK = 2


class Pair(NamedTuple):
    first: float
    second: float


@kernel
def shaded(x):
    return SHADE * x


@kernel
def halved(x):
    return 0.5 * x


@entry
def before_change(x: Float1D) -> float:
    return shaded(x[0])


@entry
def after_change(x: Float1D) -> float:
    return shaded(x[0]) + 1.0


def test_all_code_of_a_process_has_the_value_of_its_digest(monkeypatch):
    """A kernel that one entry point has brought along is not translated again for the next one."""
    assert before_change(np.array([5.0])) == 10.0
    monkeypatch.setitem(globals(), "SHADE", 3.0)
    assert after_change(np.array([5.0])) == 11.0


@pytest.mark.filterwarnings("ignore:First-class function")
def test_structs_enums_and_tuples_of_kernels_compile():
    """What the digest knows of is also what the compiler gets."""
    both = (shaded, halved)

    @entry
    def mixed(x: Float1D) -> float:
        pair = Pair(both[0](x[0]), math.sqrt(x[0]))
        return pair.first + pair.second if Shade.DARK == 2 else both[1](x[0])

    assert mixed(np.array([4.0])) == 10.0
