"""Links that gravity does not pull: their inertia stays, their weight goes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.description import parse_robot
from hydro_sim_core.dynamics import TreeEvaluator
from support.dynamics.random_robots import random_robot
from support.dynamics.trees import build

GRAVITY = np.array([1.0, -2.0, -9.0])
