"""Services that control the simulation, with types of std_srvs, hydro_sim_msgs and simulation_interfaces."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from hydro_sim import optional
from hydro_sim.parameters import Parameters
from hydro_sim.simulation_control.control import SimulationControl
from hydro_sim.simulation_control.conversions import pose_matrix, pose_message, twist_message, twist_vector
from hydro_sim.simulation_control.refusals import Reason, Refused, refusal_of
from hydro_sim.simulation_control.spawning import SpawnRequest
from hydro_sim.simulation_control.standard import StandardServices
from hydro_sim.simulation_control.waiting import Waiting
from hydro_sim_core.description.places import CallSite
from hydro_sim_core.description.scene_drives import ActuatorSpec
from hydro_sim_core.description.values import section
from hydro_sim_core.errors import excerpt
from hydro_sim_core.simulation.world.entities import Entity

_MAX_STEPS = 1_000_000
_TIME_GOES_ON = "poses, velocities and commands are at the start; time goes on"
#: Function that carries out a request and returns the message of the answer.
Handler = Callable[[Any, Any], Awaitable[str]]


class ClientServices:
    """Services ``~/pause``, ``~/step``, ``~/reset``, ``~/reset_state``, ``~/entities``, and optional ones.

    Args:
        node: Owner of the services.
        control: Operations on the simulation.
        parameters: Parameters with ``step_count``, the number of steps of ``~/step``.
        waiting: Waits for long operations.
    """

    def __init__(
        self, node: Node, control: SimulationControl, parameters: Parameters, waiting: Waiting
    ) -> None:
        self._node = node
        self._control = control
        self._parameters = parameters
        self._waiting = waiting
        self._open = 0
        self._serve(SetBool, "~/pause", self._pause)
        self._serve(Trigger, "~/step", self._step)
        self._serve(Trigger, "~/reset", self._reset)
        self._serve(Trigger, "~/reset_state", self._reset_state)
        self._serve(Trigger, "~/entities", self._entities)
        ours = optional.hydro_sim_srvs
        if ours is not None:
            self._serve(ours.StepMany, "~/step_many", self._step_many)
            self._serve(ours.Spawn, "~/spawn", self._spawn)
            self._serve(ours.Delete, "~/delete", self._delete)
            self._serve(ours.Place, "~/place", self._place)
        self._standard: StandardServices | None = None
        if optional.simulation_interfaces is not None:
            self._standard = StandardServices(node, optional.simulation_interfaces, control, waiting)

    @property
    def stepping(self) -> bool:
        """Whether a request for steps has not been answered yet."""
        return self._control.stepping

    @property
    def serving(self) -> bool:
        """Whether any request has not been answered yet."""
        return self._open > 0 or (self._standard is not None and self._standard.serving)

    def close(self) -> None:
        """Destroy the action server; services are destroyed with the node's other entities."""
        if self._standard is not None:
            self._standard.close()

    def _serve(self, service_type: Any, name: str, handler: Handler) -> None:
        async def answer(request: Any, response: Any) -> Any:
            self._open += 1
            try:
                response.message = await handler(request, response)
                response.success = True
            except Exception as error:
                refusal = refusal_of(error, name, self._node.get_logger())
                response.message, response.success = str(refusal), False
            finally:
                self._open -= 1
            return response

        self._node.create_service(service_type, name, answer, callback_group=self._waiting.group)

    # --- time

    async def _pause(self, request: Any, response: Any) -> str:
        self._control.pause(request.data)
        return "paused" if request.data else "running"

    async def _step(self, request: Any, response: Any) -> str:
        return await self._advance(self._parameters.step_count)

    async def _step_many(self, request: Any, response: Any) -> str:
        if not 1 <= request.steps <= _MAX_STEPS:
            message = f"{request.steps} steps refused; ask for 1 to {_MAX_STEPS}"
            raise Refused(Reason.OPERATION_FAILED, message)
        return await self._advance(request.steps)

    async def _advance(self, steps: int) -> str:
        await self._control.step(steps)
        return f"at {self._control.snapshot.time:.6f} s"

    async def _reset(self, request: Any, response: Any) -> str:
        await self._control.reset_all()
        return "at the start" if self._parameters.reset_time else _TIME_GOES_ON

    async def _reset_state(self, request: Any, response: Any) -> str:
        await self._control.reset(time=False, state=True, spawned=False)
        return _TIME_GOES_ON

    # --- entities

    async def _entities(self, request: Any, response: Any) -> str:
        """All entities as JSON; quaternions (x, y, z, w) as in ROS."""
        entities = self._control.world.entities
        return json.dumps({name: self._description(entities[name]) for name in entities.names})

    def _description(self, entity: Entity) -> dict[str, Any]:
        states = self._control.snapshot.entities
        pose, twist = pose_message(states.pose(entity.name)), twist_message(states.twist(entity.name))
        bounds = states.bounds(entity.name)
        return {
            "static": entity.is_static,
            "floating": entity.joint is not None and not entity.is_kinematic,
            "kinematic": entity.is_kinematic,
            "spawned": entity.name in self._control.spawned,
            "source": entity.source,
            "position": [getattr(pose.position, axis) for axis in "xyz"],
            "orientation": [getattr(pose.orientation, axis) for axis in "xyzw"],
            "linear": [getattr(twist.linear, axis) for axis in "xyz"],
            "angular": [getattr(twist.angular, axis) for axis in "xyz"],
            "bounds": None if bounds is None else [corner.tolist() for corner in bounds],
        }

    async def _spawn(self, request: Any, response: Any) -> str:
        urdf = request.urdf
        is_text = urdf.lstrip().startswith("<")
        response.name, message = await self._control.spawn(
            SpawnRequest(
                name=request.name,
                allow_renaming=request.allow_renaming,
                uri="" if is_text else urdf,
                text=urdf if is_text else "",
                namespace=request.entity_namespace,
                frame=request.pose.header.frame_id,
                X_FE=pose_matrix(request.pose.pose),
                xacro_args=tuple(request.xacro_args),
                package_dirs=tuple(request.package_dirs),
                srdf=request.srdf,
                ignore=tuple(request.ignore),
                base=request.base,
                gains=tuple(_actuator(one) for one in request.gains),
            )
        )
        return message

    async def _delete(self, request: Any, response: Any) -> str:
        await self._control.delete(request.name)
        return ""

    async def _place(self, request: Any, response: Any) -> str:
        X_FE = pose_matrix(request.pose.pose)
        V_FE = twist_vector(request.twist)
        await self._control.set_entity_state(request.name, request.pose.header.frame_id, X_FE, V_FE)
        return ""


def _actuator(gains: Any) -> ActuatorSpec:
    """Position drive with the gains of a message."""
    values = {"joints": [gains.joint], "mode": "position", "kp": gains.kp, "kd": gains.kd}
    if gains.effort_limit:
        values["effort_limit"] = gains.effort_limit
    return section(values, ActuatorSpec, CallSite("request", f"gains of {excerpt(gains.joint)}"))
