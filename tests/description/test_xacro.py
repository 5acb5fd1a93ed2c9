"""xacro files: arguments, includes, packages and failures."""

from __future__ import annotations

import pytest

from hydro_sim_core.description import load_robot
from hydro_sim_core.errors import InputError
from support.description.urdf_text import write_xacro

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
        InputError, match=r"xacro argument 'radus': is declared by no .*did you mean 'radius'"
    ):
        load_robot(path, xacro_args={"radus": 1})


def test_arguments_of_included_files_count(tmp_path):
    write_xacro(tmp_path, SIZED, name="inner.xacro")
    path = write_xacro(tmp_path, '<xacro:include filename="inner.xacro"/>')
    assert load_robot(path, xacro_args={"radius": 3}).links[0].collisions[0].shape.size == (6.0,)


def test_values_from_a_yaml_file(tmp_path):
    (tmp_path / "sizes.yaml").write_text("ball: {radius: 0.75}\nturn: !degrees 180\n")
    write_xacro(tmp_path, '<link name="inner"/>', name="inner.xacro")
    path = write_xacro(
        tmp_path,
        '<xacro:include filename="inner.xacro"/>',
        '<xacro:property name="sizes" value="${xacro.load_yaml(\'sizes.yaml\')}"/>',
        '<link name="a"><collision><origin rpy="0 0 ${sizes.turn}"/><geometry>'
        '<sphere radius="${sizes.ball.radius}"/></geometry></collision></link>',
        '<joint name="weld" type="fixed"><parent link="inner"/><child link="a"/></joint>',
    )
    (ball,) = load_robot(path).links[1].collisions
    assert ball.shape.size == (0.75,)
    assert ball.X_LG[0, 0] == pytest.approx(-1.0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, r"test\.urdf\.xacro: load_yaml: there is no file '.*sizes\.yaml'; check the path"),
        ("a: !!python/object/apply:os.getcwd []", "could not determine a constructor"),
        ("[" * 1000, "xacro failed: it nests too deeply; end the recursion"),
    ],
)
def test_bad_yaml_files(tmp_path, text, problem):
    if text is not None:
        (tmp_path / "sizes.yaml").write_text(text)
    path = write_xacro(tmp_path, "<link name=\"${xacro.load_yaml('sizes.yaml')}\"/>")
    with pytest.raises(InputError, match=problem):
        load_robot(path)


def test_a_doctype_hides_behind_no_file_name(tmp_path):
    (tmp_path / "inner.yaml").write_text('<!DOCTYPE robot [<!ENTITY x "y">]><robot/>')
    path = write_xacro(tmp_path, '<xacro:include filename="inner.yaml"/>')
    with pytest.raises(InputError, match=r"inner\.yaml: DOCTYPE"):
        load_robot(path)


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
        ("${__import__('os')}", "__import__"),
        ("${[].append(1)}", "list has no 'append' here"),
        ("${(lambda: 1)()}", "lambda is not available here"),
        ("${().__class__}", "tuple has no '__class__' here"),
        ("${''.join.__self__}", "Function has no '__self__' here"),
        ("${9**9**9}", "a whole number becomes too large"),
        ("${'a' * 10**10}", "a text becomes too large"),
        ("${list(range(10**9))}", "a range becomes too large"),
        ("${1 + }", "no expression: invalid syntax"),
        ("$(eval (lambda: 1))", "no expression"),
        ("$(eval ().__class__)", "no expression"),
    ],
)
def test_failing_expressions(tmp_path, element, problem):
    path = write_xacro(tmp_path, f'<link name="{element}"/>')
    with pytest.raises(
        InputError, match=rf"test\.urdf\.xacro: xacro failed: .*{problem}.*; correct the xacro file"
    ):
        load_robot(path)


CHAIN = (
    '<xacro:property name="a" value="${b + 1}"/>',
    '<xacro:property name="b" value="${2 * c}"/>',
    '<xacro:property name="c" value="${1 / 0}"/>',
    '<link name="${a}"/>',
)


@pytest.mark.parametrize(
    ("elements", "problem"),
    [
        (CHAIN, "division by zero when evaluating expression '1 / 0'"),
        (('<link name="$(eval 1 / 0)"/>',), "division by zero"),
        (
            ("<link name=\"${xacro.fatal('no arm')}\"/>",),
            "no arm when evaluating expression 'xacro.fatal('no arm')'",
        ),
        (
            ('<xacro:if value="maybe"/>',),
            'Xacro conditional "maybe" evaluated to "maybe", which is not a boolean expression',
        ),
    ],
)
def test_a_failure_is_told_once(tmp_path, elements, problem):
    """The file, the problem, and of a chain of properties the one that fails."""
    path = write_xacro(tmp_path, *elements)
    with pytest.raises(InputError) as caught:
        load_robot(path)
    assert str(caught.value) == f"{path}: xacro failed: {problem}; correct the xacro file"


def test_a_failure_in_an_included_file_names_both(tmp_path):
    write_xacro(tmp_path, '<link name="${1 / 0}"/>', name="inner.xacro")
    write_xacro(tmp_path, '<xacro:include filename="inner.xacro"/>', name="middle.xacro")
    path = write_xacro(tmp_path, '<xacro:include filename="middle.xacro"/>')
    with pytest.raises(InputError) as caught:
        load_robot(path)
    assert str(caught.value).startswith(
        f"{path}: inner.xacro, in middle.xacro: xacro failed: division by zero"
    )


def test_missing_include_names_both_files(tmp_path):
    path = write_xacro(tmp_path, '<xacro:include filename="gone.xacro"/>')
    with pytest.raises(InputError) as caught:
        load_robot(path)
    assert caught.value.source == str(path)
    gone = tmp_path / "gone.xacro"
    assert caught.value.problem == f"xacro failed: cannot read {gone} (No such file or directory)"


def test_optional_include_that_is_missing(tmp_path):
    path = write_xacro(tmp_path, '<xacro:include filename="gone.xacro" optional="true"/>', '<link name="a"/>')
    assert load_robot(path).root == "a"


def test_malformed_include(tmp_path):
    (tmp_path / "inner.xacro").write_text("<robot><link></robot>")
    path = write_xacro(tmp_path, '<xacro:include filename="inner.xacro"/>')
    with pytest.raises(InputError, match=r"inner\.xacro: line 1: malformed XML"):
        load_robot(path)


@pytest.mark.parametrize(
    ("elements", "problem"),
    [
        ('<xacro:include filename="test.urdf.xacro"/>', "test.urdf.xacro includes itself"),
        ('<xacro:include filename="inner.xacro"/>', "test.urdf.xacro includes itself"),
        ('<xacro:macro name="m"><xacro:m/></xacro:macro><xacro:m/>', "the macro 'm' calls itself"),
    ],
)
def test_recursion_is_one_short_line(tmp_path, elements, problem):
    write_xacro(tmp_path, '<xacro:include filename="test.urdf.xacro"/>', name="inner.xacro")
    path = write_xacro(tmp_path, elements)
    with pytest.raises(InputError) as caught:
        load_robot(path)
    assert caught.value.source == str(path)
    assert caught.value.problem == f"xacro failed: {problem}"
    assert len(caught.value.element) < 100


def test_argument_without_a_value(tmp_path):
    path = write_xacro(tmp_path, '<link name="$(arg side)"/>')
    with pytest.raises(InputError, match=r"argument 'side' has no value; .*xacro_args.*--xacro-arg side:="):
        load_robot(path)
    assert load_robot(path, xacro_args={"side": "left"}).root == "left"


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
        load_robot(path, repair="strict")
