"""How much work, memory and time the expressions of one file may take."""

from __future__ import annotations

import time

from hydro_sim_core.description.expressions.values import ExpressionError, units_of

#: Work of one file: steps of the evaluator, items and 8 characters of text that it makes. The largest public robots
#: need 120 thousand.
MOST_WORK = 2_000_000
#: Processor time of one file, s. It is measured for the thread, so that a busy machine refuses nothing.
MOST_SECONDS = 4.0
#: Calls of ``spend`` between two looks at the clock.
_CALLS_PER_LOOK = 16


class BudgetExceeded(ExpressionError):
    """A file takes more work or time than its budget."""


class Budget:
    """Work and time that are left for one file.

    Args:
        work: Steps and items.
        seconds: Processor time of the calling thread, s.
    """

    def __init__(self, work: int = MOST_WORK, seconds: float = MOST_SECONDS) -> None:
        self._left = work
        self._seconds = seconds
        self._end = time.thread_time() + seconds
        self._calls = 0

    def spend(self, work: int = 1) -> None:
        """Take ``work`` from what is left.

        Raises:
            BudgetExceeded: Not so much is left, or the time is over.
        """
        self._left -= work
        self._calls += 1
        if self._left < 0:
            raise BudgetExceeded("expands to more than any robot has")
        if self._calls % _CALLS_PER_LOOK == 0 and time.thread_time() > self._end:
            raise BudgetExceeded(f"takes more than {self._seconds:g} s to expand")

    def accept(self, value: object) -> object:
        """``value``, after its size was checked and spent.

        Raises:
            ExpressionError: The value is too large.
            BudgetExceeded: Not so much is left.
        """
        self.spend(units_of(value))
        return value
