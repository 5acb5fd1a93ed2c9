"""Values of YAML files: numbers of YAML 1.2, and as many values as a scene may have."""

from __future__ import annotations

import math
import os

import pytest

from hydro_sim_core.description import load_scene_spec
from hydro_sim_core.description.yaml_source import parse_value
from hydro_sim_core.errors import InputError


def written(folder, text):
    path = folder / "scene.yaml"
    path.write_text(text)
    return path


def test_many_names_of_a_large_value_are_refused(tmp_path):
    names = "".join(f"  - b{i}\n" for i in range(50_000))
    with pytest.raises(InputError, match="its aliases expand to more than 100000 values"):
        load_scene_spec(written(tmp_path, f"name: &a\n{names}models: [{', '.join(['*a'] * 3000)}]"))


def test_more_values_than_any_scene_has_are_refused(tmp_path):
    with pytest.raises(InputError, match="it has more than 100000 values"):
        load_scene_spec(written(tmp_path, f"name: [{'1,' * 100_000}]"))


def test_keys_with_equal_hashes_are_refused(tmp_path):
    """Python's hash of a number repeats after 2^61 - 1: a dict of such keys takes quadratic time."""
    keys = ", ".join(f"{hex(i * (2**61 - 1))}: 1" for i in range(20_000))
    with pytest.raises(InputError, match="keys that are not text"):
        load_scene_spec(written(tmp_path, f"name: {{{keys}}}"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("010", 10), ("+12", 12), ("0x1f", 31), ("0o17", 15), ("1e-4", 1e-4), ("12e03", 12000.0), (".5", 0.5),
        ("5.", 5.0), ("-.inf", -math.inf), ("1:30", "1:30"), ("1_000", "1_000"), ("0b1", "0b1"), ("-0x1", "-0x1"),
        ("on", "on"), ("yes", "yes"), ("2020-01-01", "2020-01-01"), ("true", True), ("FALSE", False), ("~", None),
        ("Null", None), ("", None), ("'1'", "1"), ("{<<: {a: 1}, b: 2}", {"a": 1, "b": 2}),
    ],
)  # fmt: skip
def test_values_are_those_of_yaml_1_2(text, value):
    found = parse_value(text)
    assert found == value
    assert type(found) is type(value)


def test_a_pipe_is_no_scene(tmp_path):
    os.mkfifo(tmp_path / "scene.yaml")
    with pytest.raises(InputError, match=r"scene\.yaml: is a named pipe"):
        load_scene_spec(tmp_path / "scene.yaml")


@pytest.mark.parametrize(
    ("pairs", "told"),
    [
        ("none", "contact.pairs, line 1: 'none' is not accepted; it should be a list"),
        (
            "[{links: [1, b], law: none}]",
            "contact.pairs.0.links.0, line 1: 1 is not accepted; it should be text",
        ),
        (
            "[{links: [a, b, c], law: none}]",
            "contact.pairs.0.links, line 1: ['a', 'b', 'c'] has 3 entries; give 2",
        ),
    ],
)
def test_what_a_value_should_be_is_told_in_words_of_the_file(tmp_path, pairs, told):
    """A file has no tuples, and nobody needs to know that they are there after validation."""
    with pytest.raises(InputError) as caught:
        load_scene_spec(written(tmp_path, f"{{name: s, contact: {{pairs: {pairs}}}}}"))
    assert told in str(caught.value)


@pytest.mark.parametrize(
    ("rest", "told"),
    [
        (
            "report: {wrenches: none}",
            "report.wrenches, line 2: 'none' is not accepted; it should be 'all' or a list",
        ),
        ("report: {wrenches: [[a]]}", "report.wrenches.0.1, line 2: is missing; add it"),
        ("report: {wrenches: [[a, 3]]}", "report.wrenches.0.1, line 2: 3 is not accepted; it should be text"),
        (
            "models: [{name: m, urdf: m.urdf, xacro_args: {str: null}}]",
            "models.0.xacro_args.str, line 2: null is not accepted; it should be text or true or false or "
            "a valid integer or a valid number",
        ),
        (
            "models: [{name: m, urdf: m.urdf, positions: [1]}]",
            "models.0.positions, line 2: [1] is not accepted; it should be a mapping of names to values",
        ),
        ("actuators: [{joints: [], kp: 1}]", "actuators.0.joints, line 2: [] is empty; write one at least"),
        ("models: [{name: '', urdf: m.urdf}]", "models.0.name, line 2: '' is empty; write a text"),
    ],
)
def test_a_value_of_several_types_and_an_empty_one_are_told_in_words_of_the_file(tmp_path, rest, told):
    """The place was followed by a type of Python's, and each of these counted as one more value that does not fit."""
    path = written(tmp_path, f"name: test\n{rest}\n")
    with pytest.raises(InputError) as caught:
        load_scene_spec(path)
    assert str(caught.value) == f"{path}: {told}"
