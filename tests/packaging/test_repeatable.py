"""Property tests draw the same examples for the same commit, and others when they are told to explore."""

import re

import pytest

from support.packaging.inner_pytest import run_pytest

TEST = """
import pytest
from hypothesis import given, settings, strategies as st

@settings(max_examples=20, database=None)
@given(st.integers(), st.floats())
def test_draws(x, y):
    print("light drew", x, y)

@pytest.mark.heavy
@settings(max_examples=20, database=None)
@given(st.integers(), st.floats())
def test_draws_much(x, y):
    print("heavy drew", x, y)
"""


@pytest.mark.parametrize(
    ("profile", "light", "heavy", "repeats"),
    [
        (None, 20, 2, True),
        ("full", 20, 20, True),
        pytest.param("explore", 200, 200, False, marks=pytest.mark.long),
    ],
)
def test_examples_repeat_unless_told_to_explore(tmp_path, profile, light, heavy, repeats):
    """A tenth of them is drawn of a heavy test, unless for a full run or to explore."""
    options = [f"--hypothesis-profile={profile}"] if profile else []
    drawn = []
    for _ in range(2):
        printed = run_pytest(tmp_path, "test_draws.py", TEST, *options)
        drawn.append({kind: re.findall(f"{kind} drew .*", printed) for kind in ("light", "heavy")})
    for kind, count in (("light", light), ("heavy", heavy)):
        assert len(drawn[0][kind]) == len(drawn[1][kind]) == count
        assert (drawn[0][kind] == drawn[1][kind]) == repeats
