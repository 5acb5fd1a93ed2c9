"""Which processor machine code is for, and what else decides how it looks: nothing that a user sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from hydro_sim_core.compilation import Float1D, builds, entry, store, targets
from hydro_sim_core.compilation.targets import Target, levels

ENGINE = Path(__file__).parents[2]
MODULE = """
from hydro_sim_core.compilation import Float1D, entry, kernel

@kernel
def added(x, y):
    return x + y

@entry
def total(x: Float1D, y: Float1D) -> float:
    for i in range(len(x)):
        y[i] = 2.0 * x[i] + y[i]
    for i in range(1, len(x), 2):
        y[i] += 3.0 * x[i]
        y[i - 1] += 3.0 * x[i - 1]
    return added(x[0], y[1])
"""
SETTINGS = {
    "NUMBA_BOUNDSCHECK": "1",
    "NUMBA_LOOP_VECTORIZE": "0",
    "NUMBA_SLP_VECTORIZE": "1",
    "NUMBA_DEBUGINFO": "1",
    "NUMBA_OPT": "1",
    "NUMBA_LLVM_REFPRUNE_PASS": "0",
    "NUMBA_ENABLE_AVX": "0",
}


def compiled(folder, file="", alone="", **environment):
    """What a fresh process compiles in a folder with a file of settings, after a kernel was perhaps called alone."""
    folder.mkdir()
    (folder / "summing.py").write_text(MODULE)
    (folder / ".numba_config.yaml").write_text(file)
    subprocess.run(
        [
            sys.executable,
            "-c",
            f"import numpy as np\nimport summing\n{alone}\nsumming.total(np.ones(9), np.ones(9))",
        ],
        cwd=folder,
        env={
            **{name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")},
            "HYDRO_SIM_CACHE_DIR": str(folder / "cache"),
            "PYTHONPATH": f"{folder}:{ENGINE}",
            **environment,
        },
        check=True,
        timeout=120,
    )
    (path,) = folder.glob("cache/kernels/*/summing.total-*.o")
    return path.parent.name, path.name, path.read_bytes()


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("targets") / "plain")


@pytest.mark.heavy(4)
@pytest.mark.parametrize("setting", [*SETTINGS, "all"])
def test_settings_of_numba_do_not_matter(tmp_path, plain, setting):
    """Code that is kept is found without them too, so it must not differ."""
    chosen = SETTINGS if setting == "all" else {setting: SETTINGS[setting]}
    assert compiled(tmp_path / "other", alone="summing.added(1.0, 2.0)", **chosen) == plain


def test_a_file_of_settings_does_not_matter(tmp_path, plain):
    file = "cpu_name: generic\ncpu_features: ''\nboundscheck: 1\nloop_vectorize: 0\n"
    assert compiled(tmp_path / "other", file) == plain


@pytest.mark.parametrize(
    ("triple", "names"),
    [
        ("x86_64-unknown-linux-gnu", ["x86-64-v3", "x86-64"]),
        ("aarch64-unknown-linux-gnu", ["generic"]),
        ("arm64-apple-darwin22.0", ["generic"]),
        ("riscv64-unknown-linux-gnu", []),
    ],
)
def test_levels_are_those_of_the_machines_architecture(monkeypatch, triple, names):
    monkeypatch.setattr(llvm, "get_process_triple", lambda: triple)
    assert [level.cpu for level in levels()] == names


def test_a_level_runs_where_its_features_are(monkeypatch):
    """Best first, and on every machine of an architecture whose level needs none."""
    monkeypatch.delenv("NUMBA_CPU_NAME", raising=False)
    monkeypatch.setattr(llvm, "get_process_triple", lambda: "x86_64-unknown-linux-gnu")
    monkeypatch.setattr(llvm, "get_host_cpu_features", lambda: {"sse2": True, "avx": True})
    assert [level.cpu for level in targets.levels_of_this_machine()] == ["x86-64"]
    monkeypatch.setattr(llvm, "get_process_triple", lambda: "aarch64-unknown-linux-gnu")
    assert [level.cpu for level in targets.levels_of_this_machine()] == ["generic"]
    monkeypatch.setenv("NUMBA_CPU_NAME", "cortex-a53")
    assert not targets.levels_of_this_machine()


@entry
def first(x: Float1D) -> float:
    return x[0]


def test_code_for_a_level_is_kept_apart(monkeypatch, tmp_path):
    """And is found for that level alone."""
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(store, "_folders", {})
    level = list(levels())[-1]
    code = builds.machine_code([first], [level])[level][first]
    (path,) = tmp_path.glob("kernels/*/*.o")
    assert path.parent.name == level.folder
    assert store.load(first, level) == code
    assert store.load(first, Target("another", "")) is None
