"""Surfaces that are not convex are filled with tetrahedra: volume, surface, depth, repeatability, cache, limits."""

import logging
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import trimesh

from hydro_sim_core import geometry as hs
from hydro_sim_core import load_urdf
from hydro_sim_core.contact import compute_patch
from hydro_sim_core.errors import InputError
from hydro_sim_core.geometry import tetrahedralisation, tetwild_process
from hydro_sim_core.geometry.distance import distance_to_surface
from hydro_sim_core.geometry.simplices import boundary_triangles, tetrahedron_volumes
from hydro_sim_core.progress import watched_by, working
from support.ctrl_c import heed_ctrl_c
from support.geometry.fields import assert_watertight
from support.geometry.surfaces import ball, bracket, cube, plate, ring

SOLIDS = {"bracket": (bracket, 0.4), "ring": (ring, 0.06), "plate": (plate, 0.12)}


@pytest.fixture(params=sorted(SOLIDS))
def solid(request):
    make, resolution = SOLIDS[request.param]
    surface = make()
    return surface, hs.tetrahedralise(surface.vertices, surface.faces, resolution=resolution)


def test_tetrahedra_fill_the_surface(solid):
    surface, mesh = solid
    volumes = tetrahedron_volumes(mesh.vertices, mesh.tetrahedra)
    assert (volumes > 0.0).all()
    assert volumes.sum() == pytest.approx(surface.volume, rel=5e-3)
    outer = boundary_triangles(mesh.tetrahedra)
    assert_watertight(outer)
    # The mesher's envelope is 1e-3 of the diagonal; vertices are moved onto the surface but where that spoils elements.
    faces = np.asarray(surface.faces)
    off = distance_to_surface(mesh.vertices[np.unique(outer)], np.asarray(surface.vertices), faces)
    assert off.max() <= 1e-3 * mesh.surface.extent
    assert np.median(off) <= 1e-12 * mesh.surface.extent
    back = distance_to_surface(np.asarray(surface.vertices), mesh.vertices, outer)
    assert back.max() <= 2e-3 * mesh.surface.extent


def test_every_tetrahedron_reaches_inside(solid):
    _, mesh = solid
    on_surface = np.zeros(len(mesh.vertices), dtype=bool)
    on_surface[boundary_triangles(mesh.tetrahedra)] = True
    assert not on_surface[mesh.tetrahedra].all(axis=1).any()
    for field in ("distance", "laplace"):
        geometry = hs.pressurised(mesh.vertices, mesh.tetrahedra, modulus=1e6, field=field)
        assert (geometry.pressure[~on_surface] > 0.0).all()
        slopes = np.linalg.norm(geometry.fields[:, :3], axis=1)
        assert slopes.min() > 1e-6 * slopes.max()


def test_thin_walls_and_corners_need_that_repair(solid):
    surface, mesh = solid
    if surface.is_convex or len(surface.faces) < 100:  # the plate and the bracket, not the ring
        assert any("without pressure gradient" in repair for repair in mesh.repairs)


def test_resolution_sets_the_edge_length():
    surface = ring()
    counts = []
    for resolution in (0.06, 0.03):
        mesh = hs.tetrahedralise(surface.vertices, surface.faces, resolution=resolution)
        corners = mesh.vertices[mesh.tetrahedra]
        lengths = np.linalg.norm(corners[:, [0, 0, 0, 1, 1, 2]] - corners[:, [1, 2, 3, 2, 3, 3]], axis=2)
        assert 0.6 * resolution < np.median(lengths) < 1.4 * resolution
        counts.append(len(mesh.tetrahedra))
    assert counts[1] > 3 * counts[0]


@pytest.mark.long
def test_fine_enough_meshes_are_several_tetrahedra_deep():
    surface = ring()
    mesh = hs.tetrahedralise(surface.vertices, surface.faces)  # a third of the thickness
    geometry = hs.pressurised(mesh.vertices, mesh.tetrahedra, modulus=1e6)
    assert hs.mesh_quality(geometry).layers >= 3
    coarse = hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.06)
    assert hs.mesh_quality(hs.pressurised(coarse.vertices, coarse.tetrahedra, modulus=1e6)).layers == 1


RUN_AGAIN = """
import hashlib, sys
import trimesh
from hydro_sim_core import geometry as hs
from hydro_sim_core import load_urdf
surface = trimesh.creation.torus(0.2, 0.06, major_sections=16, minor_sections=8)
mesh = hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.06)
print(hashlib.sha256(mesh.vertices.tobytes() + mesh.tetrahedra.tobytes()).hexdigest())
"""


@pytest.mark.long
def test_same_input_gives_the_same_mesh_in_every_process(tmp_path):
    digests = []
    for number in range(2):
        environment = {
            **os.environ,
            "HYDRO_SIM_CACHE_DIR": str(tmp_path / str(number)),
            "OMP_NUM_THREADS": str(1 + number),
        }
        done = subprocess.run(
            [sys.executable, "-c", RUN_AGAIN], capture_output=True, text=True, check=True, env=environment
        )
        digests.append(done.stdout.strip())
    assert len(digests[0]) == 64  # and nothing else on standard output
    assert len(set(digests)) == 1


@pytest.fixture(scope="module")
def mesher_output(tmp_path_factory):
    """What the real mesher makes of the coarse ball."""
    outputs = []
    real = tetrahedralisation._mesher
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(
            tetrahedralisation, "_mesher", lambda *job: outputs.append(real(*job)) or dict(outputs[-1])
        )
        coarse_ball()
    return outputs[0]


@pytest.fixture
def mesher_runs(mesher_output, monkeypatch):
    """Counts runs of the mesher, each of which gives the coarse ball at once."""
    runs = []
    monkeypatch.setattr(tetrahedralisation, "_mesher", lambda *_: runs.append(1) or dict(mesher_output))
    return runs


def coarse_ball(**options):
    surface = ball()
    return hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.7, **options)


def test_stored_mesh_is_used_again(empty_cache, mesher_runs):
    first = coarse_ball()
    (stored,) = (empty_cache / "meshes").iterdir()
    assert stored.suffix == ".npz"
    second = coarse_ball()
    assert len(mesher_runs) == 1
    np.testing.assert_array_equal(second.vertices, first.vertices)
    np.testing.assert_array_equal(second.tetrahedra, first.tetrahedra)
    assert second.repairs == first.repairs


def test_other_input_is_meshed_anew(empty_cache, mesher_runs, monkeypatch):
    surface = ball()
    coarse_ball()
    hs.tetrahedralise(surface.vertices * (1.0 + 1e-15), surface.faces, resolution=0.69)
    hs.tetrahedralise(surface.vertices, surface.faces, resolution=0.68)
    monkeypatch.setattr(tetrahedralisation, "PASSES", 24)
    coarse_ball()
    assert len(mesher_runs) == 4
    assert len(list((empty_cache / "meshes").iterdir())) == 4


@pytest.mark.parametrize("damage", ["truncated", "garbage", "empty", "other arrays", "bad indices", "folder"])
def test_damaged_cache_is_made_again(empty_cache, mesher_runs, damage, caplog):
    first = coarse_ball()
    (stored,) = (empty_cache / "meshes").iterdir()
    content = stored.read_bytes()
    if damage == "truncated":
        stored.write_bytes(content[: len(content) // 2])
    elif damage == "garbage":
        stored.write_bytes(b"PK\3\4 not an archive")
    elif damage == "empty":
        stored.write_bytes(b"")
    elif damage == "other arrays":
        np.savez(stored, vertices=np.zeros((4, 3)))
    elif damage == "bad indices":
        np.savez(
            stored,
            vertices=first.vertices,
            tetrahedra=first.tetrahedra + 10**6,
            repairs=np.array([], dtype=np.str_),
        )
    else:
        stored.unlink()
        stored.mkdir()
    with caplog.at_level(logging.WARNING):
        second = coarse_ball()
    np.testing.assert_array_equal(second.tetrahedra, first.tetrahedra)
    assert "the mesh is made again" in caplog.text
    assert len(mesher_runs) == 2


def test_cache_that_cannot_be_written(tmp_path, mesher_runs, monkeypatch, caplog):
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(file))
    with caplog.at_level(logging.WARNING):
        mesh = coarse_ball()
    assert len(mesh.tetrahedra)
    assert "cannot be written" in caplog.text
    assert file.read_text() == "in the way"


def test_no_half_written_files_are_left(empty_cache, mesher_runs, monkeypatch):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    coarse_ball()
    assert list((empty_cache / "meshes").iterdir()) == []


def test_progress_is_told_and_nothing_printed(empty_cache, capfd):
    messages = []
    coarse_ball(progress=messages.append)
    assert messages[0].startswith("filling it with about")
    assert messages[-1].endswith("tetrahedra")
    assert capfd.readouterr() == ("", "")


@pytest.mark.realtime
@pytest.mark.parametrize("resolution", [1e-3, 1e-9, 1e-200])
def test_absurd_resolution_is_refused_at_once(empty_cache, monkeypatch, resolution):
    """Before any mesh is made."""
    monkeypatch.setattr(tetrahedralisation, "_run", lambda *_: pytest.fail("the mesher was started"))
    surface = bracket()
    with pytest.raises(
        InputError, match=r"part\.stl: resolution: .* m would make .* elements, the limit is 1e\+07"
    ):
        hs.tetrahedralise(surface.vertices, surface.faces, resolution=resolution, source="part.stl")


@pytest.mark.parametrize("resolution", [0.0, -1.0, np.nan, np.inf, "fine"])
def test_resolution_that_is_no_length(resolution):
    surface = ball()
    with pytest.raises(InputError, match="resolution"):
        hs.tetrahedralise(surface.vertices, surface.faces, resolution=resolution)


def test_coarsest_resolution_still_has_an_inside(empty_cache):
    surface = cube(0.0, 0.0, 0.0)
    geometry = hs.compliant_solid(surface.vertices, surface.faces, modulus=1e6, resolution=1e6)
    assert geometry.volume() == pytest.approx(1.0, rel=1e-2)


def test_sheet_that_no_mesh_can_fill_is_refused_at_once():
    sheet = trimesh.creation.box((1.0, 1.0, 1e-5))
    with pytest.raises(InputError, match="1e-05 m thick in the mean"):
        hs.tetrahedralise(sheet.vertices, sheet.faces)


STAND_INS = {
    "hangs": "while True: pass",
    "waits": "import time; time.sleep(600)",
    "crashes": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "complains": "raise RuntimeError('no luck today')",
    "writes nothing": "",
}


@pytest.mark.parametrize("failure", sorted(STAND_INS))
def test_mesher_that_fails_is_one_error(empty_cache, tmp_path, monkeypatch, failure, capfd):
    program = tmp_path / "mesher.py"
    program.write_text(STAND_INS[failure])
    monkeypatch.setattr(tetwild_process, "__file__", str(program))
    monkeypatch.setattr(tetrahedralisation, "_TIME_A_TRY", 0.5)
    monkeypatch.setattr(tetrahedralisation, "_TIME_PER_ELEMENT", 0.0)
    monkeypatch.setattr(tetrahedralisation, "_MOST_IDLE", 2)
    start = time.monotonic()
    with pytest.raises(InputError, match="could not be filled with tetrahedra") as caught:
        coarse_ball()
    assert time.monotonic() - start < 300.0  # half of what the one that waits would take
    assert "\n" not in str(caught.value)
    told = {
        "hangs": "no mesh after 0 s of the processor",
        "waits": "has done nothing for 2 s",
        "complains": "no luck today",
    }
    words = told.get(failure, "failed")
    assert words in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_a_mesher_that_a_busy_machine_keeps_waiting_goes_on(empty_cache, tmp_path, monkeypatch):
    """Its own time counts: by the clock a body would get another mesh, of a second try, or none."""
    (tmp_path / "mesher.py").write_text("import time; time.sleep(2.5); raise RuntimeError('it is through')")
    monkeypatch.setattr(tetwild_process, "__file__", str(tmp_path / "mesher.py"))
    monkeypatch.setattr(tetrahedralisation, "_TIME_A_TRY", 1.0)
    monkeypatch.setattr(tetrahedralisation, "_TIME_PER_ELEMENT", 0.0)
    with pytest.raises(InputError, match="it is through"):
        coarse_ball()


def test_no_mesh_may_take_longer_than_the_limit():
    """The limit is 10 minutes for two tries; small bodies get less, and whoever asks for more gets it."""
    time_of_a_try = tetrahedralisation._time_of_a_try
    assert time_of_a_try(1000.0, tetrahedralisation.TIME_LIMIT) == pytest.approx(38.0)
    assert time_of_a_try(1e7, tetrahedralisation.TIME_LIMIT) == 300.0
    assert time_of_a_try(1e6, 86400.0) == pytest.approx(8030.0)
    with pytest.raises(InputError, match="time_limit"):
        coarse_ball(time_limit=0.0)


def test_a_mesh_that_takes_too_long_names_file_element_and_mend(empty_cache, tmp_path, monkeypatch):
    (tmp_path / "mesher.py").write_text(STAND_INS["hangs"])
    monkeypatch.setattr(tetwild_process, "__file__", str(tmp_path / "mesher.py"))
    monkeypatch.setattr(tetrahedralisation, "_TIME_A_TRY", 0.1)
    monkeypatch.setattr(tetrahedralisation, "_TIME_PER_ELEMENT", 0.0)
    trimesh.creation.torus(0.1, 0.03).export(tmp_path / "ring.stl")
    (tmp_path / "ring.urdf").write_text(
        '<robot name="ring" xmlns:drake="http://drake.mit.edu"><link name="rim"><collision name="tyre"><geometry>'
        '<mesh filename="ring.stl"/></geometry><drake:proximity_properties><drake:compliant_hydroelastic/>'
        '<drake:hydroelastic_modulus value="1e6"/><drake:mesh_resolution_hint value="0.02"/>'
        "</drake:proximity_properties></collision></link></robot>"
    )
    with pytest.raises(InputError) as caught:
        load_urdf(tmp_path / "ring.urdf")
    assert caught.value.source == str(tmp_path / "ring.urdf")
    assert "link 'rim', <collision>" in caught.value.element
    assert "ring.stl" in caught.value.problem
    assert "no mesh after 0 s of the processor, at 0.02 m and about" in caught.value.problem
    assert caught.value.mend.startswith("give a coarser resolution, declare_convex, or mesh it once")


HANGING_LIBRARY = """
import os, signal, sys, time
from pathlib import Path

def tetrahedralize(*args, **options):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # C++ heeds it no more
    Path(os.environ["MESHER_PID"]).write_text(str(os.getpid()))
    time.sleep(600.0)
"""

MESH_A_BALL = """
import sys, trimesh
from hydro_sim_core import geometry as hs
ball = trimesh.creation.icosphere(subdivisions=1)
try:
    hs.tetrahedralise(ball.vertices, ball.faces)
except KeyboardInterrupt:
    sys.exit(130)
"""


def _is_gone(pid):
    """Whether a process has ended; one that nobody has waited for yet is a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


@pytest.mark.heavy(3)
@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc; only Linux ends children with their parents")
@pytest.mark.parametrize(("sent", "status"), [("SIGINT", 130), ("SIGTERM", -15), ("SIGKILL", -9)])
def test_the_mesher_ends_with_who_waits_for_it(tmp_path, sent, status):
    (tmp_path / "pytetwild.py").write_text(HANGING_LIBRARY)
    pid_file = tmp_path / "pid"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        "HYDRO_SIM_CACHE_DIR": str(tmp_path / "cache"),
        "MESHER_PID": str(pid_file),
    }
    waiting = subprocess.Popen(
        [sys.executable, "-c", MESH_A_BALL],
        env=environment,
        preexec_fn=heed_ctrl_c,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        deadline = time.monotonic() + 120.0
        while not (pid_file.exists() and pid_file.read_text()):
            assert waiting.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        mesher = int(pid_file.read_text())
        assert not _is_gone(mesher)
        waiting.send_signal(getattr(signal, sent))
        assert waiting.wait(timeout=30.0) == status
        words = "meshing is stopped, and nothing of it is kept\n" if sent == "SIGINT" else ""
        assert waiting.communicate()[1] == words
        deadline = time.monotonic() + 30.0
        while not _is_gone(mesher):
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        waiting.kill()
        waiting.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parents")
def test_no_file_is_left_when_who_waits_is_killed(tmp_path):
    (tmp_path / "pytetwild.py").write_text(HANGING_LIBRARY)
    (tmp_path / "temporary").mkdir()
    pid_file = tmp_path / "pid"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
        "HYDRO_SIM_CACHE_DIR": str(tmp_path / "cache"),
        "MESHER_PID": str(pid_file),
        "TMPDIR": str(tmp_path / "temporary"),
    }
    waiting = subprocess.Popen([sys.executable, "-c", MESH_A_BALL], env=environment)
    deadline = time.monotonic() + 120.0
    while not (pid_file.exists() and pid_file.read_text()):
        assert waiting.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    waiting.kill()
    waiting.wait()
    assert list((tmp_path / "temporary").iterdir()) == []


def test_long_meshing_tells_a_log_how_long(empty_cache, tmp_path, monkeypatch):
    (tmp_path / "mesher.py").write_text(STAND_INS["hangs"])
    monkeypatch.setattr(tetwild_process, "__file__", str(tmp_path / "mesher.py"))
    monkeypatch.setattr(tetrahedralisation, "_LINE_PERIOD", 0.0)
    monkeypatch.setattr(tetrahedralisation, "_TIME_A_TRY", 2.5)
    monkeypatch.setattr(tetrahedralisation, "_TIME_PER_ELEMENT", 0.0)
    told = []
    with watched_by(told.append), working("making geometry", 1) as parts:
        parts.begin("ball")
        with pytest.raises(InputError):
            coarse_ball()
    details = [work.detail for work in told if work is not None]
    assert any(
        re.fullmatch(r"filling it for \d s of at most 2 s of the processor", detail) for detail in details
    )
    assert any(
        detail.startswith("filling it once more, in a wider envelope: no mesh after") for detail in details
    )


def test_mesher_that_cannot_be_started(empty_cache, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    with pytest.raises(InputError, match="the mesher could not run: No such file"):
        coarse_ball()


def test_nothing_is_left_in_the_working_folder(empty_cache, tmp_path, monkeypatch):
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    coarse_ball()
    assert list(here.iterdir()) == []


def test_mesher_that_cannot_be_made_repeatable_is_told(empty_cache, mesher_output, monkeypatch):
    other = {**mesher_output, "repeatable": np.array(False)}
    monkeypatch.setattr(tetrahedralisation, "_mesher", lambda *_: dict(other))
    assert "the mesher could not be made repeatable on this machine" in coarse_ball().repairs


def test_filled_box_pushes_like_the_primitive():
    """Along convex edges the mesh rounds off the kink of the distance; that costs a few per cent, less when finer."""
    size = (0.1, 0.06, 0.04)
    surface = trimesh.creation.box(size)
    X_WG = np.eye(4)
    X_WG[2, 3] = 0.02 - 2e-3

    def force(geometry):
        return -compute_patch(geometry, X_WG, hs.half_space(), np.eye(4)).force_on_b[2]

    exact = force(hs.box(size, modulus=1e6))
    errors = [
        force(hs.compliant_solid(surface.vertices, surface.faces, modulus=1e6, resolution=resolution)) / exact
        - 1.0
        for resolution in (0.02, 0.01)
    ]
    assert abs(errors[1]) < 0.04
    assert abs(errors[1]) < 0.5 * abs(errors[0])
