"""What a row says of a paper: that a result is reproduced, or that it differs; and packages that a row needs."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from importlib.util import find_spec

from hydro_sim_core.errors import InputError
from hydro_sim_core.experiments.report import Comparison


def with_verdicts(rows: Iterable[Comparison], unstated: Collection[str] = ()) -> list[Comparison]:
    """Rows whose quantities begin with what they say of a paper.

    That is "differs" where a row tells by how much at least (it fails when it no longer does), "not reproducible" for
    the quantities in ``unstated``, of which the paper has no value, and else "reproduced".
    """
    return [replace(row, quantity=f"{_verdict(row, unstated)}: {row.quantity}") for row in rows]


def _verdict(row: Comparison, unstated: Collection[str]) -> str:
    if row.quantity in unstated:
        return "not reproducible"
    return "differs" if row.least > 0.0 else "reproduced"


def require_mujoco(experiment: str) -> None:
    """Check that MuJoCo is installed.

    Raises:
        InputError: It is not.
    """
    if find_spec("mujoco") is None:
        raise InputError(experiment, "MuJoCo", "is not installed", "install it: pip install mujoco")
