"""Programs for an NVIDIA GPU: kept on disk, loaded, and, to test without one, run on this machine's processor."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

from hydro_sim_core.compilation import store
from hydro_sim_core.compilation.store import cache_root, make_private_folder
from hydro_sim_core.errors import InputError

_LOG = logging.getLogger(__name__)


def kept_code(name: str, told: str, compiled: Callable[[], bytes]) -> bytes:
    """PTX from disk if it is there; else compiled, and kept.

    Args:
        name: Name of the file, without ``.ptx``, which tells all that the code depends on.
        told: What is logged where it has to be compiled.
        compiled: Compiles it.
    """
    path = cache_root() / "gpu" / f"{name}.ptx"
    code = store.read_kept(path)
    if code is None:
        _LOG.warning("%s", told)
        code = compiled()
        try:
            make_private_folder(path.parent)
            store.write(path, code)
        except OSError as error:
            _LOG.warning("%s: cannot be kept (%s); it is compiled again next time", path, error.strerror)
    return code


def loaded(cupy: Any, code: bytes, names: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """CuPy's module of PTX, and its kernels by name; the driver assembles it when the first one is asked for."""
    with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
        file.write(code)
        file.flush()
        module = cupy.RawModule(path=file.name)
        return module, {name: module.get_function(name) for name in names}


def host_engine(code: bytes) -> Any:
    """LLVM's engine with an object file, ready to be called."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def cupy_with_gpu(source: str, backend: str, mend: str) -> Any:
    """CuPy with a GPU that it can use.

    Args:
        source: Who asks, for the error.
        backend: What was asked for.
        mend: What to do without.

    Raises:
        InputError: It is not installed, or finds no GPU.
    """
    element = f"backend '{backend}'"
    try:
        import cupy
    except ImportError:
        problem, install = "needs CuPy, which is not installed", "install hydro-sim-core[gpu]"
        raise InputError(source, element, problem, f"{install}, or {mend}") from None
    try:
        number = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise InputError(source, element, f"finds no usable GPU ({error})", mend) from None
    if number == 0:
        raise InputError(source, element, "finds no GPU", mend)
    return cupy


def processor_of(cupy: Any) -> str:
    """LLVM's name of the present GPU's processor."""
    return f"sm_{cupy.cuda.Device().compute_capability}"
