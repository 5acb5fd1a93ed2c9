"""Whether a simulation has the scene that a task is judged by."""

from __future__ import annotations

from typing import Any

from rcl_interfaces.srv import GetParameters
from rclpy.node import Node
from rclpy.task import Future

from hydro_sim.loading import parse_scene_values
from hydro_sim_core.description import LoadedScene
from hydro_sim_core.errors import InputError

_VALUES = "scene_values"


class SceneCheck:
    """Asks the node of a simulation once for its values of the scene; whoever has no such parameter is believed.

    Args:
        node: Node of the service's client.
        simulator: Name of the simulation's node.
        meant: The task's scene as it is meant to be.
        judge: The scene that the task is judged by.
    """

    def __init__(self, node: Node, simulator: str, meant: LoadedScene, judge: LoadedScene) -> None:
        self._node, self._meant, self._judge = node, meant, judge
        self._client = node.create_client(GetParameters, f"{simulator}/get_parameters")
        self._asked: Future | None = None
        self._done = False

    def passed(self) -> bool:
        """Whether there is nothing to wait for any more.

        Raises:
            InputError: The simulation has other values.
        """
        if self._done:
            return True
        if self._asked is None:
            if not self._client.service_is_ready():
                return True  # as the driver of a real arm; asked again at the next look
            self._asked = self._client.call_async(GetParameters.Request(names=[_VALUES]))
        if not self._asked.done():
            return False
        self._compare(self._asked.result())
        self._done = True
        return True

    def _compare(self, response: Any) -> None:
        told = [text for value in response.values for text in value.string_array_value]
        values = parse_scene_values(told)
        simulated = self._meant.with_(values) if values else self._meant
        if simulated.spec != self._judge.spec:  # what judges: where models start, and settings of the scene
            problem = f"has other {_VALUES} than the seed and {_VALUES} of this controller make"
            mend = "tell both the same: task.launch.py does, and hydro_sim_bringup.task_plan.plan_task tells what"
            raise InputError("task", "the scene that is simulated", problem, mend)
