"""Distances of two convex meshes come from coal, which is not there beside NumPy 1."""

from importlib.util import find_spec

import pytest

needs_coal = pytest.mark.skipif(find_spec("coal") is None, reason="coal is not installed: it needs NumPy 2")
