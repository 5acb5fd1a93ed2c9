"""The mesh files of a description have a time together, and who names a file twice reads it once."""

from __future__ import annotations

import math
import re
import time

import pytest
import trimesh

from hydro_sim_core import load_scene, load_urdf
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.errors import InputError
from hydro_sim_core.mesh_files import read_coloured_parts, read_surface, shared_allowance
from hydro_sim_core.mesh_files import reading as reading_module
from hydro_sim_core.mesh_files.allowance import VARIABLE, current_allowance
from hydro_sim_core.simulation.scenes import open_world
from hydro_sim_core.viewer.scene import scene_of_urdf
from support.hostile.slow_meshes import slow_dae, write_slow_robot

#: Enough for the process to start and for a few files.
SECONDS = 2.0
#: Instances of a file that takes a quarter of a second.
QUARTER = 10


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setenv(VARIABLE, str(SECONDS))


def slow_files(folder, count, instances=QUARTER):
    paths = [folder / f"m{i}.dae" for i in range(count)]
    for i, path in enumerate(paths):
        path.write_text(slow_dae(instances, i))
    return paths


def read_all(paths, read=read_surface):
    with shared_allowance("robot.urdf"):
        for path in paths:
            read(path)


@pytest.mark.heavy(2)
@pytest.mark.parametrize("read", [read_surface, read_coloured_parts])
def test_many_slow_files_end_with_one_error(tmp_path, short, read):
    words = (
        r"m(\d+)\.dae: is not read: the mesh files of robot\.urdf may take 2 s of the processor together, and have "
        rf"taken 2\.\d s \(files: (\d+)\); simplify the meshes, or set {VARIABLE} to more seconds"
    )
    with pytest.raises(InputError, match=words) as found:
        read_all(slow_files(tmp_path, 40), read)
    last, count = map(int, re.search(words, str(found.value)).groups())
    assert 1 <= last < 12  # at least one was read, so that they share it
    assert count in (last, last + 1)  # it was begun, or not


def test_a_file_ends_when_the_time_of_all_does(tmp_path, monkeypatch):
    """Not only when its own does; and by itself it is read afterwards."""
    (path,) = slow_files(tmp_path, 1, instances=13)
    monkeypatch.setenv(VARIABLE, "0.2")
    with pytest.raises(InputError, match=r"and have taken 0\.2 s \(files: 1\)"):
        read_all([path])
    assert len(read_surface(path)[1]) == 4 * 13**3


LOADERS = {
    "load_urdf": lambda folder: load_urdf(folder / "robot.urdf"),
    "open_world": lambda folder: open_world(str(folder / "robot.urdf")),
    "load_scene": lambda folder: load_scene(folder / "scene.yaml"),
}


@pytest.mark.heavy(3)
@pytest.mark.parametrize("loader", LOADERS)
def test_a_description_of_slow_files_is_refused(tmp_path, short, loader):
    write_slow_robot(tmp_path, count=30, instances=QUARTER)
    (tmp_path / "scene.yaml").write_text("name: s\nmodels: [{name: r, urdf: robot.urdf, base: fixed}]\n")
    with pytest.raises(
        InputError, match=rf"link 'a'.*m\d+\.dae: is not read: the mesh files of .*{VARIABLE}"
    ):
        LOADERS[loader](tmp_path)


def test_what_is_drawn_ends_too(tmp_path, short, caplog):
    write_slow_robot(tmp_path, count=30, instances=QUARTER, element="visual")
    text = (tmp_path / "robot.urdf").read_text().replace('filename="', f'filename="file://{tmp_path}/')
    drawn = scene_of_urdf(text, PressureScale(1e4))
    assert 0 < len(drawn.visuals) < 12
    assert "is not read: the mesh files of robot_description may take 2 s" in caplog.text


def test_within_another_the_outer_one_holds(tmp_path):
    with shared_allowance("outer"):
        outer = current_allowance()
        with shared_allowance("inner"):
            assert current_allowance() is outer
        assert current_allowance() is outer
    assert current_allowance().left == math.inf


def test_a_file_that_is_named_again_is_read_once(tmp_path, monkeypatch):
    trimesh.creation.box().export(tmp_path / "a.obj")
    with shared_allowance("robot.urdf"):
        first = read_surface(tmp_path / "a.obj")
        monkeypatch.setattr(reading_module, "parsers", {})
        again = read_surface(tmp_path / "a.obj")
    for array, other in zip(first, again, strict=True):
        assert array is other
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_surfaces_are_not_kept_without_bound(tmp_path, monkeypatch):
    monkeypatch.setattr("hydro_sim_core.mesh_files.allowance._KEPT_BYTES", 10_000)
    paths = [tmp_path / f"{i}.stl" for i in range(20)]
    with shared_allowance("robot.urdf"):
        for path in paths:
            trimesh.creation.icosphere(subdivisions=1).export(path)
            read_surface(path)
        assert len(current_allowance()._surfaces) < 5


def test_the_time_of_this_process_counts(tmp_path):
    """A binary STL file is read here."""
    surface = trimesh.creation.icosphere(subdivisions=6)
    surface.export(tmp_path / "a.stl")
    with shared_allowance("robot.urdf"):
        before = current_allowance().left
        began = time.thread_time()
        read_surface(tmp_path / "a.stl")
        took = time.thread_time() - began
        assert 0.5 * took < before - current_allowance().left <= took


@pytest.mark.parametrize("value", ["", "soon", "nan", "0", "-3"])
def test_a_time_that_is_none_is_refused(monkeypatch, value):
    monkeypatch.setenv(VARIABLE, value)
    with pytest.raises(InputError, match=f"{VARIABLE}: is '{value}'; give a positive number of seconds"):
        read_all([])


def test_more_time_can_be_given(tmp_path, monkeypatch):
    monkeypatch.setenv(VARIABLE, "inf")
    read_all(slow_files(tmp_path, 3))
