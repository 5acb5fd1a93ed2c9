"""Drives that ``<ros2_control>`` blocks describe."""

import logging

import pytest

from hydro_sim_core.description import load_robot
from hydro_sim_core.description.spec import DriveSpec
from hydro_sim_core.errors import InputError
from support.description.urdf_text import HINGE, write_urdf

A, B = '<link name="a"/>', '<link name="b"/>'


def block(joint="hinge", inner='<command_interface name="position"/>'):
    hardware = "<hardware><plugin>some/Plugin</plugin><param name='p'>1</param></hardware>"
    frame = '<param name="frame_id">b</param>'
    sensor = f'<sensor name="s"><state_interface name="force.x"/>{frame}</sensor><gpio name="g"/>'
    driven = f'<joint name="{joint}">{inner}</joint>'
    return f'<ros2_control name="r" type="system">{hardware}{driven}{sensor}</ros2_control>'


def drives(tmp_path, *blocks):
    return load_robot(write_urdf(tmp_path, A, B, HINGE, *blocks)).drives


def test_interfaces_and_initial_value(tmp_path, caplog):
    inner = """<command_interface name="position"><param name="min">-1</param></command_interface>
        <command_interface name="effort"/><state_interface name="velocity"/>
        <state_interface name="position"><param name="initial_value"> 0.25 </param></state_interface>
        <param name="mimic">other</param>"""
    with caplog.at_level(logging.WARNING):
        assert drives(tmp_path, block(inner=inner)) == (DriveSpec("hinge", ("position", "effort"), 0.25),)
    assert not caplog.records


def test_the_first_of_two_blocks_holds(tmp_path):
    second = block(inner='<command_interface name="velocity"/>')
    assert drives(tmp_path, block(), second) == (DriveSpec("hinge", ("position",)),)


def test_names_carry_the_prefix(tmp_path):
    path = write_urdf(tmp_path, A, B, HINGE, block())
    assert load_robot(path, prefix="left_").drives == (DriveSpec("left_hinge", ("position",)),)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (block(joint="k"), "left out of <ros2_control>: joint 'k'"),
        (block(inner='<command_interface name="twist"/>'), "command interface 'twist' of 'hinge'"),
    ],
)
def test_what_is_not_known_is_told(tmp_path, caplog, given, told):
    with caplog.at_level(logging.WARNING):
        drives(tmp_path, given)
    (record,) = caplog.records
    assert told in record.getMessage()


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("2.5", "initial_value 2.5 is outside the joint's limits"),
        ("x", "'x' is not a number"),
        ("", "'' is not a number"),
    ],
)
def test_a_bad_initial_value_is_refused(tmp_path, value, problem):
    parameter = f'<param name="initial_value">{value}</param>'
    inner = f'<state_interface name="position">{parameter}</state_interface>'
    with pytest.raises(InputError, match=problem) as error:
        drives(tmp_path, block(inner=inner))
    assert "joint 'hinge' of <ros2_control>" in str(error.value)
