"""The meshes that are only seen: closed, within the sizes of what they show, and what their scripts make of them."""

from __future__ import annotations

import io
import runpy
import sys

import numpy as np
import pytest
import trimesh

from hydro_sim_core.assets import folder
from hydro_sim_core.description import load_robot

URDF = folder("urdf")
MESHES = URDF / "meshes"
SCRIPTS = ("kinova", "kitchen", "pencil", "soft_bubble")
#: Models, and how far what is seen reaches beyond the box around what is touched, m: a limb's cylinder ends at the axis
#: of a joint across it, around which its shell has a drum.
ENVELOPES = {
    "mug": 0.0,
    "plate": 0.0,
    "pancake": 0.0,
    "stove": 0.0,
    "rack": 0.0,
    "worktop": 0.0,
    "kinova_gen3_7dof": 0.046,
    "kinova_gen3_6dof": 0.046,
    "jaco_j2s6": 0.040,
}


@pytest.fixture(scope="module", params=SCRIPTS)
def script(request):
    """A script that makes meshes, as its names."""
    sys.path.insert(0, str(MESHES))
    try:
        return runpy.run_path(str(MESHES / f"{request.param}.py"))
    finally:
        sys.path.remove(str(MESHES))


@pytest.fixture(scope="module")
def written(script, tmp_path_factory):
    """A folder with what the script writes."""
    target = tmp_path_factory.mktemp("meshes")
    script["write"](script["surfaces"](), target)
    return target


def load(path):
    mesh = trimesh.load(io.BytesIO(path.read_bytes()), file_type="obj", process=False)
    mesh.merge_vertices(merge_norm=True, merge_tex=True)
    return mesh


def test_the_files_are_those_of_the_script(written):
    for made in written.iterdir():
        kept = MESHES / made.name
        # Positions have five decimals and normals two; a last digit may depend on the machine.
        assert len(kept.read_text()) == pytest.approx(len(made.read_text()), rel=0.01)
        ours, theirs = load(kept), load(made)
        np.testing.assert_array_equal(ours.faces, theirs.faces)
        np.testing.assert_allclose(ours.vertices, theirs.vertices, rtol=0.0, atol=1.01e-5)
        assert kept.stat().st_size < 156_000


def test_meshes_are_closed_and_face_outwards(written):
    for made in written.iterdir():
        mesh = load(made)
        assert mesh.is_watertight, made.name
        assert mesh.is_winding_consistent, made.name
        assert all(part.volume > 0.0 for part in mesh.split()), made.name


def test_every_mesh_of_the_folder_is_made_and_used():
    text = "".join(path.read_text() for path in [*URDF.glob("*.xacro"), *URDF.glob("macros/*.xacro")])
    for path in MESHES.glob("*.obj"):
        assert f'"{path.stem}"' in text or f"meshes/{path.name}" in text, path.name


@pytest.mark.parametrize("name", ENVELOPES)
def test_what_is_seen_keeps_to_what_is_touched(name):
    for link in load_robot(URDF / f"{name}.urdf.xacro").links:
        touched = [box_of(shape) for shape in link.collisions]
        if not touched:
            continue
        low, high = np.min([box[0] for box in touched], axis=0), np.max([box[1] for box in touched], axis=0)
        for visual in link.visuals:
            lower, upper = box_of(visual)
            far = max((low - lower).max(), (upper - high).max())
            assert far <= ENVELOPES[name] + 1e-6, (link.name, visual.name, far)


def box_of(placed):
    """Corners of the box around a visual or a collision, in its link's frame."""
    shape = placed.shape
    if shape.kind == "mesh":
        points = np.asarray(load(shape.path).vertices) * shape.scale
    elif shape.kind == "cylinder":
        points = trimesh.creation.cylinder(*shape.size, sections=64).vertices
    else:
        size = 2.0 * np.array(shape.size) if shape.kind == "ellipsoid" else shape.size
        points = trimesh.creation.box(extents=size).vertices
    points = points @ placed.X_LG[:3, :3].T + placed.X_LG[:3, 3]
    return points.min(axis=0), points.max(axis=0)


def test_the_membrane_is_the_bubbles_cap_in_front_of_the_rim():
    vertices = load(MESHES / "bubble_membrane.obj").vertices
    offset = (vertices - [0.0, 0.041665, -0.1095]) / [0.04165, 0.04165, 0.0625]
    in_front = vertices[:, 1] < 0.0299
    np.testing.assert_allclose(np.linalg.norm(offset[in_front], axis=1), 1.0, rtol=0.0, atol=3e-4)
    assert vertices[:, 1].max() == pytest.approx(0.030, abs=1e-5)
