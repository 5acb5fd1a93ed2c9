"""Compiled kernels neither allocate nor count references: Numba's private option ``_nrt=False`` does what it says.

Numba calls its runtime through functions whose names start with ``NRT_``. None may be left in a kernel, nor in what it
calls: the code looked at holds all callees.
"""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

import hydro_sim_core as hs
from hydro_sim_core import jit
from hydro_sim_core.contact.pressure_field.energy import _energy_half_space
from hydro_sim_core.contact.pressure_field.query import find_faces
from hydro_sim_core.simulation.step import advance

SCENE = Path(__file__).parents[2] / "config" / "scenes" / "spatula_slip.yaml"
#: Options of every kernel.
OPTIONS = {name: find_faces.targetoptions[name] for name in ("nogil", "error_model", "_nrt")}


def compiled_code(function: Dispatcher) -> list[str]:
    """LLVM code of every compiled signature; ``inspect_llvm`` has none for functions loaded from the disk."""
    return [str(found.library._get_module_for_linking()) for found in function.overloads.values()]


def all_kernels() -> dict[str, Dispatcher]:
    """Every compiled function of the engine by name."""
    kernels = {}
    for found in pkgutil.walk_packages(hs.__path__, "hydro_sim_core."):
        if found.name.endswith(("__main__", "cuda_query")):
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if isinstance(value, Dispatcher) and value.py_func.__module__ == found.name:
                kernels[f"{found.name}.{name}"] = value
    return kernels


@pytest.fixture(scope="module")
def after_steps():
    """A gripper holds a spatula for some steps, so that the step and all it calls are compiled."""
    world = hs.load_scene(SCENE)
    world.step(3)
    ball = hs.geometry.sphere(0.1, resolution=0.1, modulus=1e5)
    assert hs.contact.compute_patch(ball, np.eye(4), hs.geometry.half_space(), np.eye(4)).energy > 0.0


@pytest.mark.usefixtures("after_steps")
@pytest.mark.parametrize("function", [advance, find_faces, _energy_half_space], ids=lambda f: f.__name__)
def test_kernel_has_no_runtime_calls(function):
    code = compiled_code(function)
    assert code
    for module in code:
        assert function.__name__ in module
        assert "NRT_" not in module


@pytest.mark.usefixtures("after_steps")
def test_no_kernel_has_runtime_calls():
    kernels = all_kernels()
    assert len(kernels) > 50
    assert all(function.targetoptions["_nrt"] is False for function in kernels.values())
    compiled = {name: compiled_code(function) for name, function in kernels.items()}
    assert [name for name, code in compiled.items() if any("NRT_" in module for module in code)] == []


def allocating(x):
    """Makes an array."""
    return np.zeros(3)[0] + x[0]


def listing(x):
    """Makes a list."""
    values = [x[0], x[1]]
    return values[0]


@pytest.mark.parametrize("function", [allocating, listing])
def test_a_kernel_that_allocates_does_not_compile(function):
    with pytest.raises(numba.core.errors.NumbaError):
        numba.njit(**OPTIONS)(function)(np.ones(3))


@pytest.mark.parametrize("function", [allocating, listing])
def test_a_kernel_that_calls_what_allocates_is_noticed(function):
    """Even if it compiles, because its callee was compiled before and without the option."""
    callee = numba.njit(function)
    callee(np.ones(3))

    @numba.njit(**OPTIONS)
    def caller(x):
        return callee(x)

    caller(np.ones(3))
    assert any("NRT_" in module for module in compiled_code(caller))


@pytest.mark.parametrize("module", ["jit.py", "handles.py"])
def test_changed_options_are_compiled_anew(tmp_path, monkeypatch, module):
    """The sources of the decorator and of handles are part of the name of the cache folder."""
    folder = jit._kernel_cache_dir.__wrapped__("contact")
    assert jit._kernel_cache_dir.__wrapped__("contact") == folder
    for name in ("jit.py", "handles.py"):
        (tmp_path / name).write_bytes(Path(jit.__file__).with_name(name).read_bytes())
    monkeypatch.setattr(jit, "__file__", str(tmp_path / "jit.py"))
    assert jit._kernel_cache_dir.__wrapped__("contact") == folder
    with (tmp_path / module).open("a") as file:
        file.write("# another option\n")
    assert jit._kernel_cache_dir.__wrapped__("contact") != folder
