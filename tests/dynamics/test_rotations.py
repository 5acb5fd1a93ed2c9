"""Rotations against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hydro_sim_core.rotations import matrix_of, matrix_of_turn, quaternions_of, roll_pitch_yaw

ANGLES = st.tuples(*[st.floats(-np.pi, np.pi)] * 3)
#: Half turns and quarter turns, where signs and branches change.
TURNS = [(a, b, c) for a in range(-2, 3) for b in (-1, 0, 1) for c in range(-2, 3)]


def close_rotations(R: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.abs(R - other).max() < 4e-15)


@given(ANGLES)
def test_quaternions_are_unit_ones_of_the_same_rotation(rpy):
    rotation = Rotation.from_euler("xyz", rpy)
    quaternion = quaternions_of(rotation.as_matrix())
    assert quaternion[3] >= 0.0
    assert np.linalg.norm(quaternion) == pytest.approx(1.0, abs=4e-16)
    assert close_rotations(Rotation.from_quat(quaternion).as_matrix(), rotation.as_matrix())
    assert close_rotations(matrix_of(3.0 * quaternion), rotation.as_matrix())


@given(ANGLES)
def test_roll_pitch_yaw_give_the_rotation_again(rpy):
    R = Rotation.from_euler("xyz", rpy).as_matrix()
    assert close_rotations(Rotation.from_euler("xyz", roll_pitch_yaw(R)).as_matrix(), R)


@pytest.mark.parametrize("quarters", TURNS)
def test_quarter_turns(quarters):
    R = Rotation.from_euler("xyz", np.array(quarters) * 0.5 * np.pi).as_matrix()
    assert close_rotations(Rotation.from_quat(quaternions_of(R)).as_matrix(), R)
    assert close_rotations(Rotation.from_euler("xyz", roll_pitch_yaw(R)).as_matrix(), R)


@pytest.mark.parametrize("angle", [0.0, 1e-200, 1e-9, 0.11, 3.0, np.pi, 7.0])
def test_turns_are_those_about_their_axis(angle):
    turn = angle * np.array([0.48, -0.6, 0.64])
    assert close_rotations(matrix_of_turn(turn), Rotation.from_rotvec(turn).as_matrix())


def test_many_at_once_are_those_one_by_one():
    R = Rotation.random(20, random_state=1).as_matrix()
    assert np.array_equal(quaternions_of(R), [quaternions_of(each) for each in R])
    assert quaternions_of(np.zeros((0, 3, 3))).shape == (0, 4)
