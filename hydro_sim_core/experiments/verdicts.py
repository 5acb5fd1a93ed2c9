"""What a row says of a paper: that a result is reproduced, or that it differs; and packages that a row needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from importlib.util import find_spec

from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments.report import Comparison


def with_verdicts(rows: Iterable[Comparison], differing: Collection[str]) -> list[Comparison]:
    """Rows whose quantities begin with "reproduced", or with "differs" where they are among those."""
    return [
        replace(row, quantity=f"{'differs' if row.quantity in differing else 'reproduced'}: {row.quantity}")
        for row in rows
    ]


def require_mujoco(experiment: str) -> None:
    """Check that MuJoCo is installed.

    Raises:
        InputError: It is not.
    """
    if find_spec("mujoco") is None:
        raise InputError(experiment, "MuJoCo", "is not installed", "install it: pip install mujoco")
