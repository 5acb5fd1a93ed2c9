"""Steps that threads of this process ask for while paused: by a count in the mailbox, as clients elsewhere do."""

from __future__ import annotations

from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Condition

from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.realtime.core import Core

#: So many steps cannot be asked for at once: clients add to the low half of the count. More are asked for in portions.
_TOO_MANY, _PORTION = 2**31, 2**30


@dataclass(eq=False)
class StepRequest:
    """Steps that are asked for.

    Attributes:
        number: How many.
        last: Value of ``Control.STEPS_ASKED`` that ends with those that the mailbox has.
        waits: Whether who asks waits for the count itself, so that the compiled loop need not come back for an answer.
        rest: How many of them the mailbox does not have yet.
        is_broken_off: Whether those that are left are wanted no more.
        answer: Receives how many were taken.
    """

    number: int
    last: int
    waits: bool
    rest: int = 0
    is_broken_off: bool = False
    answer: Future[int] = field(default_factory=Future)


class SingleSteps:
    """Requests for steps while paused, in the order of their counts.

    Args:
        condition: Held where requests come and go.
    """

    def __init__(self, condition: Condition) -> None:
        self._condition = condition
        self._requests: deque[StepRequest] = deque()

    # --- from any thread, with the condition

    def ask(self, core: Core, number: int, *, waits: bool) -> StepRequest:
        """Ask for steps.

        Raises:
            InputError: Too many are asked for already.
        """
        first = min(number, _PORTION)
        if core.steps_left + first >= _TOO_MANY:
            raise InputError(
                "step", "n", f"{number} steps are too many beside others", "ask when those are taken"
            )
        request = StepRequest(number, core.ask_for_steps(first), waits, number - first)
        # A future cancelled by the caller must not raise in the stepping thread.
        request.answer.set_running_or_notify_cancel()
        self._requests.append(request)
        return request

    def forget(self, request: StepRequest) -> None:
        """Answer this one no more."""
        if request in self._requests:
            self._requests.remove(request)

    def break_off(self) -> None:
        """Have the stepping thread take none of them any more."""
        for request in self._requests:
            request.is_broken_off = True

    def drop(self, core: Core, dropped: int) -> None:
        """Have it take none of those any more that the mailbox has up to a count."""
        last = core.steps_until(dropped)
        for request in self._requests:
            request.is_broken_off |= core.steps_until(request.last) <= last

    # --- in the stepping thread

    def most(self, core: Core, steps: int) -> int:
        """How many of ``steps`` may be taken until somebody waits for an answer, or has more to ask for."""
        with self._condition:
            heard = (one for one in self._requests if one.rest or not one.waits)
            return min([steps, *(core.steps_until(one.last) for one in heard)])

    def answer(self, core: Core) -> None:
        """Complete those that are taken or broken off."""
        while True:
            with self._condition:
                if not self._requests:
                    return
                request = self._requests[0]
                left = max(0, core.steps_until(request.last))
                if left and not request.is_broken_off:
                    return
                if request.rest and not request.is_broken_off:
                    portion = min(request.rest, _PORTION)
                    request.last, request.rest = core.ask_for_steps(portion), request.rest - portion
                    return
                self._requests.popleft()
            request.answer.set_result(max(0, request.number - request.rest - left))
            core.give_up_steps(left)  # afterwards: who waits for the count looks at the answer then

    def fail(self, core: Core, why: str, asked: int) -> None:
        """Tell all who have asked, clients too, that a step failed; none up to the count ``asked`` is taken."""
        with self._condition:
            requests, left = list(self._requests), core.steps_until(asked)
            self._requests.clear()
        for request in requests:
            request.answer.set_exception(FloatingPointError(why))
        core.give_up_steps(left)
