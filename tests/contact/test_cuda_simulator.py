"""The GPU query, in Numba's CUDA simulator, finds the faces of the CPU query to the last bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.contact.geometry_set import make_geometry_set
from hydro_sim_core.contact.pressure_field.faces import FaceBuffer, make_face_buffer
from hydro_sim_core.contact.pressure_field.query import find_faces, make_query_scratch
from hydro_sim_core.geometry import Geometry
from support.contact.poses import random_rotation

SCRIPT = Path(__file__).parents[1] / "support" / "contact" / "run_cuda_query.py"
SIMULATOR = {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
CAPACITY = 100
R_BA = random_rotation(np.random.default_rng(1))
P_BA = np.array([0.02, 0.01, 0.07])


def ball(modulus: float | None) -> Geometry:
    """An octahedral ball: few elements, because the simulator runs every thread in Python."""
    return hs.geometry.sphere(0.1, resolution=0.2, modulus=modulus)


PAIRS = {
    "compliant mesh, compliant mesh": (ball(1e5), hs.geometry.box(0.2, 0.15, 0.1, modulus=2e5)),
    "rigid mesh, compliant mesh": (ball(None), hs.geometry.box(0.2, 0.15, 0.1, modulus=2e5)),
    "compliant mesh, rigid half space": (ball(1e5), hs.geometry.half_space()),
    "compliant mesh, compliant half space": (ball(1e5), hs.geometry.half_space(1e5, slab_thickness=0.1)),
    "rigid mesh, compliant half space": (ball(None), hs.geometry.half_space(1e5, slab_thickness=0.1)),
}


def on_cpu(pair: tuple[Geometry, Geometry]) -> tuple[FaceBuffer, int]:
    """Faces of the tree search."""
    geometries = make_geometry_set(pair)
    faces = make_face_buffer(CAPACITY)
    count = find_faces(geometries, 0, 1, R_BA, P_BA, False, make_query_scratch(geometries), faces, 0)
    assert 3 < count < CAPACITY
    return faces, count


def in_simulator(pair: tuple[Geometry, Geometry], capacity: int, folder: Path) -> tuple[FaceBuffer, int]:
    """Faces of the GPU's kernel, run by a process of its own."""
    given, result = folder / "given.npz", folder / "result.npz"
    np.savez(given, **make_geometry_set(pair)._asdict(), R_BA=R_BA, p_BA=P_BA, capacity=capacity)
    command = [sys.executable, str(SCRIPT), str(given), str(result)]
    subprocess.run(command, env=os.environ | SIMULATOR, check=True)
    found = np.load(result)
    elements = np.zeros((len(found["num_vertices"]), 2), dtype=np.int64)
    faces = FaceBuffer(found["data"], found["polygons"], found["num_vertices"], elements)
    return faces, int(found["count"])


def sorted_rows(faces: FaceBuffer, count: int) -> np.ndarray:
    """Stored faces as rows, in an order that does not depend on who found them."""
    used = np.arange(faces.polygons.shape[1])[None, :] < faces.num_vertices[:, None]
    vertices = np.where(used[:, :, None], faces.polygons, 0.0)
    data = faces.data[:, : len(faces.num_vertices)]
    rows = np.column_stack([data.T, faces.num_vertices, vertices.reshape(len(vertices), -1)])[:count]
    return rows[np.lexsort(rows.T)]


@pytest.mark.heavy(5)
@pytest.mark.parametrize("pair", PAIRS)
def test_same_faces(pair, tmp_path):
    expected, count = on_cpu(PAIRS[pair])
    found, found_count = in_simulator(PAIRS[pair], CAPACITY, tmp_path)
    assert found_count == count
    assert np.array_equal(sorted_rows(found, count), sorted_rows(expected, count))
    assert not found.num_vertices[count:].any()


def test_too_many_faces_are_counted_not_written(tmp_path):
    """The faces that have room are some of the right ones; the count says how much room there should have been."""
    pair = PAIRS["compliant mesh, compliant mesh"]
    expected, count = on_cpu(pair)
    found, found_count = in_simulator(pair, 5, tmp_path)
    assert found_count == count > 5
    assert len(found.num_vertices) == 5
    right = {row.tobytes() for row in sorted_rows(expected, count)}
    assert {row.tobytes() for row in sorted_rows(found, 5)} < right


def test_the_engine_does_not_import_cuda():
    code = "import sys, hydro_sim_core; sys.exit('numba.cuda' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
