"""The shipped scenes end in the same state, to the last bit: after every change, and on every processor."""

from __future__ import annotations

import json
import platform
from pathlib import Path

import pytest
from hypothesis import settings

from hydro_sim_core.compilation import cache_root
from support.simulation import golden

try:
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
except ImportError:  # before NumPy 2
    from numpy.core._multiarray_umath import __cpu_dispatch__, __cpu_features__

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="the digests and the variants are those of x86-64"
)

#: What a processor without these would run instead. Libraries ignore names that they do not know.
OTHER_PROCESSORS = {
    "machine code for this processor": {"NUMBA_CPU_NAME": None},
    "NumPy without its dispatched loops": {
        "NPY_DISABLE_CPU_FEATURES": " ".join(name for name in __cpu_dispatch__ if __cpu_features__.get(name))
    },
    "OpenBLAS for Nehalem": {"OPENBLAS_CORETYPE": "Nehalem"},
    "OpenBLAS for Haswell": {"OPENBLAS_CORETYPE": "Haswell"},
    "C library without AVX and FMA": {
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps="
        "-AVX,-AVX2,-AVX2_Usable,-FMA,-FMA_Usable,-FMA4,-FMA4_Usable,-AVX512F,-AVX512VL"
    },
}
#: What an old processor lacks, all at once.
OLD = ["NumPy without its dispatched loops", "OpenBLAS for Nehalem", "C library without AVX and FMA"]


@pytest.fixture(scope="module")
def plain() -> dict[str, str]:
    """States of the shipped scenes on this machine.

    In a quick run by the machine code that is there anyway: the other takes minutes to make, and a full run compares
    the two.
    """
    return golden.states_elsewhere(**({} if is_quick() else golden.PLAIN_CODE))


def test_shipped_scenes_end_as_they_did(plain: dict[str, str]) -> None:
    changed = golden.difference(json.loads(golden.FILE.read_text()), plain, golden.versions())
    assert not changed, changed


def is_quick() -> bool:
    """Whether this is no full run."""
    return settings.get_current_profile_name() == "repeatable"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One by one in a full run, else all old ones as one: a difference shows, though not what it comes from."""
    if "processors" in metafunc.fixturenames:
        cases = {"older ones": OLD} if is_quick() else {name: [name] for name in OTHER_PROCESSORS}
        metafunc.parametrize("processors", cases.values(), ids=cases)


def test_other_processors_give_the_same_bits(
    tmp_path: Path, plain: dict[str, str], processors: list[str]
) -> None:
    """With meshes made there too; machine code, which is named by its contents, is shared."""
    kernels = cache_root() / "kernels"
    kernels.mkdir(parents=True, exist_ok=True)
    (tmp_path / "kernels").symlink_to(kernels)
    code = {} if is_quick() else golden.PLAIN_CODE
    environment = {name: value for one in processors for name, value in OTHER_PROCESSORS[one].items()}
    there = golden.states_elsewhere(**{"HYDRO_SIM_CACHE_DIR": str(tmp_path), **code, **environment})
    assert there == plain


def test_a_change_is_told() -> None:
    """Which scenes, with what versions the file was written, and how to accept it."""
    written = {"versions": {"numpy": "2.0.0"}, "states": {"a": "1", "b": "2", "c": "3"}}
    assert not golden.difference(written, {"a": "1", "b": "2", "c": "3"}, {"numpy": "2.1.0"})
    told = golden.difference(written, {"a": "1", "b": "5", "d": "4"}, {"numpy": "2.1.0"})
    assert "changed: b\nnew: d\ngone: c\n" in told
    assert "numpy 2.0.0, here 2.1.0" in told
    assert golden.ACCEPT in told


def test_the_last_bit_of_a_state_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One step more or less is seen in every scene in which anything moves."""
    some = golden.ROOT / "config" / "scenes" / "drop_box.yaml"
    monkeypatch.setattr(golden.Path, "glob", lambda *_: [some])
    assert golden.states(3) == golden.states(3)
    assert golden.states(3) != golden.states(4)
