"""Action goals: accepted in the executor's thread, carried out in the stepping thread."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from rclpy.action import ActionServer, CancelResponse, GoalResponse
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.task import Future

from hydro_sim.hil.link import CommandLink
from hydro_sim.rejections import Rejections
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, World

Outcome = Literal["succeeded", "aborted", "canceled"]


class ActionGoal:
    """An accepted goal, shared by the stepping thread and the client's coroutine.

    Args:
        handle: The server's handle of the goal.
        wake: Wakes the executor, to resume waiting coroutines.
    """

    def __init__(self, handle: Any, wake: Callable[[], None]) -> None:
        self._handle = handle
        self._wake = wake
        self._news = Future()
        self._feedback: Callable[[], Any] | None = None
        self._end: tuple[Outcome, Any] | None = None

    # --- called in the stepping thread

    @property
    def finished(self) -> bool:
        """Whether the outcome is known."""
        return self._end is not None

    def tell(self, make_feedback: Callable[[], Any]) -> None:
        """Send the client the result of ``make_feedback``, which is called in the executor's thread."""
        self._feedback = make_feedback
        self._nudge()

    def finish(self, outcome: Outcome, result: Any) -> None:
        """End the goal; only the first time counts."""
        if self._end is None:
            self._end = (outcome, result)
            self._nudge()

    def _nudge(self) -> None:
        news = self._news
        if not news.done():
            news.set_result(None)
        self._wake()

    # --- awaited in the executor's thread

    async def follow(self) -> Any:
        """Send feedback until the outcome is known; return the result."""
        while True:
            await self._news
            # Feedback stored from here on sets the event again; earlier feedback is read below.
            self._news = Future()
            end, feedback, self._feedback = self._end, self._feedback, None
            if feedback is not None:
                self._handle.publish_feedback(feedback())
            if end is not None:
                outcome, result = end
                conclude = {
                    "succeeded": self._handle.succeed,
                    "aborted": self._handle.abort,
                    "canceled": self._handle.canceled,
                }
                conclude[outcome]()
                return result


#: Function that starts a goal, in the stepping thread.
Start = Callable[[World, ActionGoal], None]


class GoalServer:
    """Action server whose goals pass the command link and are carried out in the stepping thread.

    Args:
        node: Owner of the server.
        action_type: Type of the action.
        name: Name of the action.
        interface: Command interface of its goals.
        check: Checks a goal and returns the function that starts it, or raises ``InputError`` to reject the goal.
        cancel: Ends a goal that a client cancels, in the stepping thread.
        aborted: Makes the result of a goal that was not carried out, from the reason.
        runner: Runner of the World.
        link: Command link.
        rejections: Counter of rejected goals.
    """

    def __init__(
        self,
        node: Node,
        action_type: Any,
        name: str,
        interface: str,
        check: Callable[[Any], Start],
        cancel: Start,
        aborted: Callable[[str], Any],
        runner: FixedRateRunner,
        link: CommandLink,
        rejections: Rejections,
    ) -> None:
        self._interface = interface
        self._check = check
        self._cancel = cancel
        self._aborted = aborted
        self._node = node
        self._runner = runner
        self._link = link
        self._rejections = rejections
        self._name = node.resolve_service_name(name)
        self._start: Start | None = None
        self._goals: dict[bytes, ActionGoal] = {}
        self._ended = Future()
        # Goals stay open while they are carried out; a callback group of their own keeps them from blocking others.
        group = ReentrantCallbackGroup()
        self._news = node.create_guard_condition(lambda: None, callback_group=group)
        self._server = ActionServer(
            node,
            action_type,
            name,
            execute_callback=self._execute,
            callback_group=group,
            goal_callback=self._judge,
            handle_accepted_callback=self._accept,
            cancel_callback=self._ask_to_cancel,
        )

    def close(self) -> None:
        """Destroy the server once the clients of open goals have their results."""
        self.abort("the simulation has ended")
        if self._goals:
            assert self._node.executor is not None, "goals come by way of it"
            self._node.executor.create_task(self._leave)
        else:
            self._server.destroy()

    async def _leave(self) -> None:
        while self._goals:
            await self._ended
        self._server.destroy()

    @property
    def open_goals(self) -> int:
        """Number of goals whose clients do not have a result yet."""
        return len(self._goals)

    def abort(self, reason: str) -> None:
        """Abort all goals and their motions; the runner is stopped."""
        for goal in self._goals.values():
            self._give_up(goal, reason)
            self._end_motion(goal)

    def _give_up(self, goal: ActionGoal, reason: str) -> None:
        goal.finish("aborted", self._aborted(reason))

    def _judge(self, request: Any) -> GoalResponse:
        try:
            if not self._runner.running:
                raise InputError("goal", self._name, "the node is not active", "activate it first")
            self._start = self._check(request)
        except InputError as error:
            self._rejections.count(self._name, error)
            return GoalResponse.REJECT
        return GoalResponse.ACCEPT

    def _accept(self, handle: Any) -> None:
        """Called right after ``_judge`` has accepted the same goal."""
        start = self._start
        assert start is not None
        goal = ActionGoal(handle, self._news.trigger)
        self._goals[bytes(handle.goal_id.uuid)] = goal

        def begin(world: World) -> None:
            if not goal.finished:  # cancelled on its way over the link
                start(world, goal)

        self._link.send(self._interface, self._name, begin, partial(self._give_up, goal))
        handle.execute()

    async def _execute(self, handle: Any) -> Any:
        key = bytes(handle.goal_id.uuid)
        try:
            return await self._goals[key].follow()
        finally:
            del self._goals[key]
            ended, self._ended = self._ended, Future()
            ended.set_result(None)

    def _ask_to_cancel(self, handle: Any) -> CancelResponse:
        goal = self._goals.get(bytes(handle.goal_id.uuid))
        if goal is None:
            return CancelResponse.REJECT
        # A cancellation must end the motion, so it does not pass the link, which may lose commands.
        self._end_motion(goal)
        return CancelResponse.ACCEPT

    def _end_motion(self, goal: ActionGoal) -> None:
        self._runner.submit(lambda world: self._cancel(world, goal))
