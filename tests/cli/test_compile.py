"""``hydro-sim compile``: what it keeps and copies, and what it says when it cannot."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from hydro_sim_core.cli import app, compile_kernels
from hydro_sim_core.compilation import Entry, Float1D, builds, entry, store
from hydro_sim_core.compilation.targets import levels

pytestmark = pytest.mark.skipif(not levels(), reason="no level of this machine's kind is known")


@entry
def called(x: Float1D) -> float:
    return x[0]


@entry
def calling(x: Float1D) -> float:
    return called(x)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache for an engine of two entry points, as a new process sees it."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(cache))
    monkeypatch.setattr(compile_kernels, "engine_entries", lambda: [calling])
    monkeypatch.setattr(store, "_folders", {})
    forget(monkeypatch)
    return cache


def forget(monkeypatch):
    """Have what is on disk looked at again."""
    store.kernels_are_kept.cache_clear()
    store._warn_once.cache_clear()
    monkeypatch.setattr(builds, "_codes", {})


def call(*arguments):
    return CliRunner().invoke(app, ["compile", *map(str, arguments)], env={"COLUMNS": "200"})


def refused(result):
    assert result.exit_code == 1
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    return line


def test_entry_points_are_kept_for_this_machine(cache):
    result = call()
    assert (result.exit_code, len(list(cache.glob("kernels/*/*.o")))) == (0, 2), result.output
    assert f"2 entry points, 1 kB, in {cache}" in result.stdout.replace("2 kB", "1 kB")


@pytest.mark.long
def test_portable_code_is_for_every_level(cache, tmp_path):
    """And comes into a folder a level, as wheels carry it."""
    wheel, seen = tmp_path / "wheel", []
    with builds.observed_by(seen.append):
        result = call("--portable", "--out", wheel)
    assert result.exit_code == 0, result.output
    assert {progress.total for progress in seen if progress.done} == {2 * len(levels())}
    kept = cache.glob("kernels/*/*.o")
    assert {path.parent.name for path in kept} == {level.folder for level in levels()}
    assert {path.name for path in wheel.iterdir()} == {level.cpu for level in levels()}
    for folder in wheel.iterdir():
        assert {path.name for path in folder.iterdir()} == {store.file_name(e) for e in (called, calling)}


def test_a_damaged_file_is_made_anew_and_not_copied(cache, tmp_path, monkeypatch):
    call()
    kept = next(cache.glob("kernels/*/*calling-*.o"))
    sound = kept.read_bytes()
    kept.write_bytes(sound[:-1])
    forget(monkeypatch)
    assert call("--out", tmp_path / "wheel").exit_code == 0
    assert kept.read_bytes()[:60] == sound[:60]
    (copied,) = (tmp_path / "wheel").glob("*calling-*.o")
    assert copied.read_bytes() == kept.read_bytes()


@pytest.mark.long
def test_without_a_folder_to_keep_it_in_that_is_said(cache):
    cache.touch()
    assert f"{cache}: kernels: cannot be kept there" in refused(call())


@pytest.mark.long
def test_on_a_full_disk_that_is_said(cache, monkeypatch):
    """After compiling once."""
    compiled = []
    compile_ = builds._compile

    def noted(missing, *others):
        compiled.append(len(missing))
        compile_(missing, *others)

    monkeypatch.setattr(builds, "_compile", noted)

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store, "write", refuse)
    assert "cannot be kept there" in refused(call())
    assert compiled == [2]


@pytest.mark.long
def test_what_came_with_a_wheel_need_not_be_kept(cache, tmp_path, monkeypatch):
    call("--portable", "--out", tmp_path / "wheel")
    forget(monkeypatch)
    monkeypatch.setattr(store, "PREBUILT", tmp_path / "wheel")
    monkeypatch.setattr(store, "_folders", {})
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", "/dev/null")
    result = call()
    assert (result.exit_code, result.stderr) == (0, ""), result.output


def test_where_nothing_is_compiled_that_is_said(cache, monkeypatch):
    monkeypatch.setattr(compile_kernels, "INTERPRETED", True)
    assert "NUMBA_DISABLE_JIT" in refused(call())


def test_a_folder_that_cannot_be_written_is_named(cache, tmp_path):
    (tmp_path / "file").touch()
    assert "--out: cannot be written" in refused(call("--out", tmp_path / "file" / "folder"))


def test_the_engine_compiles(monkeypatch):
    """All its entry points say what they depend on, and none calls itself in a circle."""
    entries = compile_kernels.engine_entries()
    symbols = {one.symbol.removeprefix("hydro_sim_core.") for one in entries}
    assert {
        f"solvers.solve.{name}" for name in ("newton-lagged", "newton-sap", "tamsi-coulomb", "pgs-sap")
    } <= symbols
    assert {"simulation.stepping.step.advance", "contact.pressure_field.walk.walk_surface"} <= symbols
    assert all(isinstance(one, Entry) for one in builds.callees_first(*entries))
