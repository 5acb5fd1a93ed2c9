"""Where package://, file:// and relative paths lead, and where they must not."""

from __future__ import annotations

import pytest

from hydro_sim_core.description import load_robot
from hydro_sim_core.errors import InputError
from support.description.urdf_text import collision, write_urdf


@pytest.fixture
def package(tmp_path):
    """A package ``arm_description`` in a folder of another name, with one mesh and an empty urdf folder."""
    folder = tmp_path / "checkout"
    (folder / "meshes").mkdir(parents=True)
    (folder / "urdf").mkdir()
    (folder / "meshes" / "part one.stl").touch()
    (folder / "package.xml").write_text("<package><name>arm_description</name></package>")
    return folder


def mesh_of(folder, uri, **options):
    robot = load_robot(write_urdf(folder, collision(f'<mesh filename="{uri}"/>')), **options)
    return robot.links[0].collisions[0].shape.path


@pytest.fixture(autouse=True)
def no_ros_environment(monkeypatch):
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)


def test_relative_to_the_urdf(package):
    assert mesh_of(package / "urdf", "../meshes/part one.stl") == package / "meshes" / "part one.stl"


def test_own_package_by_its_manifest(package):
    uri = "package://arm_description/meshes/part%20one.stl"
    assert mesh_of(package / "urdf", uri) == package / "meshes" / "part one.stl"


def test_an_empty_manifest_is_that_of_no_package(package, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()
    (empty / "package.xml").touch()
    uri = "package://arm_description/meshes/part one.stl"
    assert mesh_of(tmp_path, uri, package_dirs=[empty, package]) == package / "meshes" / "part one.stl"


def test_own_package_by_its_folder(package):
    uri = "package://checkout/meshes/part one.stl"
    assert mesh_of(package / "urdf", uri) == package / "meshes" / "part one.stl"


def test_file_uri(package):
    uri = (package / "meshes" / "part one.stl").as_uri()
    assert mesh_of(package / "urdf", uri) == package / "meshes" / "part one.stl"


@pytest.mark.parametrize("given", ["the package", "the folder above"])
def test_package_dirs(package, tmp_path, given):
    elsewhere = tmp_path / "elsewhere" / "deep"
    elsewhere.mkdir(parents=True)
    name, folder = ("arm_description", package) if given == "the package" else ("checkout", tmp_path)
    path = mesh_of(elsewhere, f"package://{name}/meshes/part one.stl", package_dirs=[folder])
    assert path == package / "meshes" / "part one.stl"


def test_ros_package_path(package, tmp_path, monkeypatch):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(package))
    path = mesh_of(elsewhere, "package://arm_description/meshes/part one.stl")
    assert path == package / "meshes" / "part one.stl"


def test_ament_prefix_path(tmp_path, monkeypatch):
    share = tmp_path / "install" / "share" / "arm_description"
    share.mkdir(parents=True)
    (share / "part.stl").touch()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"/nowhere:{tmp_path / 'install'}")
    assert mesh_of(elsewhere, "package://arm_description/part.stl") == share / "part.stl"


def test_package_dirs_come_before_the_environment(tmp_path, monkeypatch):
    for place in ("given", "environment"):
        folder = tmp_path / place / "arm_description"
        folder.mkdir(parents=True)
        (folder / "part.stl").touch()
    monkeypatch.setenv("ROS_PACKAGE_PATH", str(tmp_path / "environment"))
    path = mesh_of(tmp_path, "package://arm_description/part.stl", package_dirs=[tmp_path / "given"])
    assert path == tmp_path / "given" / "arm_description" / "part.stl"


@pytest.mark.parametrize(
    "uri",
    [
        "../../outside.stl",
        "package://arm_description/../outside.stl",
        "package://arm_description/%2e%2e/outside.stl",
        "package://arm_description//{outside}",
        "{outside}",
    ],
)
def test_paths_outside_the_package(package, tmp_path, uri):
    outside = tmp_path / "outside.stl"
    outside.touch()
    with pytest.raises(InputError, match=r"link 'a', <mesh>, line 2: .* path outside the package"):
        mesh_of(package / "urdf", uri.format(outside=outside))


def test_file_uris_name_any_file(package, tmp_path):
    outside = tmp_path / "outside.stl"
    outside.touch()
    assert mesh_of(package / "urdf", f"file://{outside}") == outside
    with pytest.raises(InputError, match=r"<mesh>, line 2: 'file://part.stl' is not absolute"):
        mesh_of(package / "urdf", "file://part.stl")


def test_outside_is_allowed_where_package_dirs_say_so(package, tmp_path):
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "part.stl").touch()
    assert (
        mesh_of(package / "urdf", f"file://{shared}/part.stl", package_dirs=[shared]) == shared / "part.stl"
    )


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("package://gone/part.stl", "no package 'gone'; pass the folder that holds it in package_dirs"),
        ("package:///part.stl", "no package ''"),
        ("package://../part.stl", r"no package '\.\.'"),
        ("http://example.com/part.stl", "unknown scheme 'http://'; use package://"),
        ("model://arm/part.stl", "no package 'arm'; pass the folder"),
        ("model://../part.stl", r"no package '\.\.'"),
        ("meshes", "no file extension"),
        ("../meshes/gone.stl", r"names no file \(/.*/checkout/meshes/gone.stl\); correct the path"),
        (" ", "'filename' of <mesh> is empty"),
    ],
)
def test_what_cannot_be_found(package, uri, problem):
    with pytest.raises(InputError, match=problem):
        mesh_of(package / "urdf", uri)


def test_package_dirs_must_exist(package, tmp_path):
    with pytest.raises(InputError, match=r"package_dirs, .*gone: no such folder; correct package_dirs"):
        mesh_of(package / "urdf", "x.stl", package_dirs=[tmp_path / "gone"])


@pytest.mark.parametrize("variable", ["GZ_SIM_RESOURCE_PATH", "GAZEBO_MODEL_PATH", "ROS_PACKAGE_PATH"])
def test_a_model_is_where_gazebo_looks_or_where_packages_are(package, tmp_path, monkeypatch, variable):
    models = tmp_path / "models"
    part = models / "arm" / "meshes" / "part.stl"
    part.parent.mkdir(parents=True)
    part.touch()
    monkeypatch.setenv(variable, f"{tmp_path / 'gone'}:{models}")
    assert mesh_of(package / "urdf", "model://arm/meshes/part.stl") == part
    with pytest.raises(InputError, match="path outside the package"):
        mesh_of(package / "urdf", "model://arm/../other/part.stl")
