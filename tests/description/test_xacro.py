"""xacro files: arguments, includes, packages and failures."""

from __future__ import annotations

import pytest

from hydro_sim_core.description import load_robot
from hydro_sim_core.errors import InputError


def write_xacro(folder, *elements, name="test.urdf.xacro"):
    path = folder / name
    path.write_text(
        f'<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">{"".join(elements)}</robot>'
    )
    return path


SIZED = (
    '<xacro:arg name="radius" default="0.5"/><xacro:arg name="hollow" default="false"/>'
    '<link name="a"><xacro:unless value="$(arg hollow)"><collision><geometry>'
    '<sphere radius="${2 * $(arg radius)}"/></geometry></collision></xacro:unless></link>'
)


def test_arguments(tmp_path):
    path = write_xacro(tmp_path, SIZED)
    assert load_robot(path).links[0].collisions[0].shape.size == (1.0,)
    assert load_robot(path, xacro_args={"radius": 0.25}).links[0].collisions[0].shape.size == (0.5,)
    assert load_robot(path, xacro_args={"hollow": True}).links[0].collisions == ()


def test_unknown_argument(tmp_path):
    path = write_xacro(tmp_path, SIZED)
    with pytest.raises(
        InputError, match=r"xacro argument 'radus': is declared by no .* did you mean 'radius'"
    ):
        load_robot(path, xacro_args={"radus": 1})


def test_arguments_of_included_files_count(tmp_path):
    write_xacro(tmp_path, SIZED, name="inner.xacro")
    path = write_xacro(tmp_path, '<xacro:include filename="inner.xacro"/>')
    assert load_robot(path, xacro_args={"radius": 3}).links[0].collisions[0].shape.size == (6.0,)


def test_numbers_keep_full_precision(tmp_path):
    path = write_xacro(
        tmp_path,
        '<link name="a"><collision><geometry><sphere radius="${pi / 3}"/></geometry></collision></link>',
    )
    assert load_robot(path).links[0].collisions[0].shape.size == (3.141592653589793 / 3,)


def test_find_looks_into_package_dirs(tmp_path):
    package = tmp_path / "parts"
    package.mkdir()
    write_xacro(package, '<link name="found"/>', name="part.xacro")
    path = write_xacro(tmp_path, '<xacro:include filename="$(find parts)/part.xacro"/>')
    assert load_robot(path, package_dirs=[tmp_path]).root == "found"


def test_find_of_an_unknown_package(tmp_path, monkeypatch):
    monkeypatch.delenv("AMENT_PREFIX_PATH", raising=False)
    path = write_xacro(tmp_path, '<xacro:include filename="$(find nowhere)/part.xacro"/>')
    with pytest.raises(InputError, match="no package 'nowhere'"):
        load_robot(path)


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        ("${undefined}", "undefined"),
        ("${1 / 0}", "division by zero"),
        ("$(arg nothing)", "nothing"),
        ("${__import__('os')}", "__import__"),
        ("${[].append(1).x}", "NoneType"),
    ],
)
def test_failing_expressions(tmp_path, element, problem):
    path = write_xacro(tmp_path, f'<link name="{element}"/>')
    with pytest.raises(
        InputError, match=rf"test\.urdf\.xacro: xacro failed: .*{problem}.*; correct the xacro file"
    ):
        load_robot(path)


def test_missing_include_names_both_files(tmp_path):
    path = write_xacro(tmp_path, '<xacro:include filename="gone.xacro"/>')
    with pytest.raises(InputError, match=r"test\.urdf\.xacro.*gone\.xacro"):
        load_robot(path)


def test_malformed_include(tmp_path):
    (tmp_path / "inner.xacro").write_text("<robot><link></robot>")
    path = write_xacro(tmp_path, '<xacro:include filename="inner.xacro"/>')
    with pytest.raises(InputError, match=r"inner\.xacro.*mismatched tag"):
        load_robot(path)


def test_a_failure_leaves_nothing_behind(tmp_path):
    """xacro keeps module-wide state; a good file must load after a bad one."""
    bad = write_xacro(tmp_path, '<link name="${undefined}"/>', name="bad.xacro")
    good = write_xacro(tmp_path, SIZED)
    with pytest.raises(InputError):
        load_robot(bad, package_dirs=[tmp_path])
    assert load_robot(good).links[0].collisions[0].shape.size == (1.0,)


def test_errors_after_expansion_say_so(tmp_path):
    path = write_xacro(tmp_path, '<link name="a"><inertial><mass value="${1 - 2}"/></inertial></link>')
    with pytest.raises(InputError, match=r"link 'a', <mass>, line \d+ after xacro: mass -1 kg"):
        load_robot(path)
