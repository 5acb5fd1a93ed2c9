"""Services of simulation_interfaces 2 under the node's name, if that package is installed.

Every request is answered with a result code of the standard and, if refused, one line with the reason.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from rclpy.node import Node

from hydro_sim.simulation_control.catalogue import worlds
from hydro_sim.simulation_control.control import SimulationControl, SimulationState
from hydro_sim.simulation_control.conversions import resource_of
from hydro_sim.simulation_control.refusals import Reason, Refused, code_of, refusal_of
from hydro_sim.simulation_control.standard_entities import EntityServices
from hydro_sim.simulation_control.standard_steps import StepServices
from hydro_sim.simulation_control.waiting import Waiting

#: Function that fills the response to a request except its result, and returns a message.
Handler = Callable[[Any, Any], Awaitable[str | None]]

_FEATURES = (
    "SPAWNING",
    "SPAWNING_ENTITIES",
    "SPAWNING_RESOURCE_STRING",
    "SPAWNABLES",
    "DELETING",
    "ENTITY_TAGS",
    "ENTITY_BOUNDS",
    "ENTITY_BOUNDS_BOX",
    "ENTITY_BOUNDS_CONVEX",
    "ENTITY_CATEGORIES",
    "ENTITY_STATE_GETTING",
    "ENTITY_STATE_SETTING",
    "ENTITY_INFO_GETTING",
    "ENTITY_INFO_SETTING",
    "SIMULATION_RESET",
    "SIMULATION_RESET_TIME",
    "SIMULATION_RESET_STATE",
    "SIMULATION_RESET_SPAWNED",
    "SIMULATION_STATE_GETTING",
    "SIMULATION_STATE_SETTING",
    "SIMULATION_STATE_PAUSE",
    "STEP_SIMULATION_SINGLE",
    "STEP_SIMULATION_MULTIPLE",
    "STEP_SIMULATION_ACTION",
    "WORLD_LOADING",
    "WORLD_UNLOADING",
    "WORLD_INFO_GETTING",
    "AVAILABLE_WORLDS",
)
_INFO = (
    "hydro-sim, pressure-field (hydroelastic) contact. Entities are the scene's models and static shapes. "
    "Accelerations are not given. See docs/ros_simulation.md."
)


class StandardServices:
    """Serves the requests of the standard.

    Args:
        node: Owner of the services.
        interfaces: ``simulation_interfaces``, with its ``msg``, ``srv`` and ``action``.
        control: Operations on the simulation.
        waiting: Waits for long operations.
    """

    def __init__(
        self, node: Node, interfaces: ModuleType, control: SimulationControl, waiting: Waiting
    ) -> None:
        self._node = node
        self._interfaces = interfaces
        self._control = control
        self._waiting = waiting
        self._open = 0
        self._steps = StepServices(node, interfaces, control, waiting)
        entities = EntityServices(node, interfaces, control)
        handlers: dict[str, Handler] = {
            "GetSimulationState": self._get_state,
            "SetSimulationState": self._set_state,
            "ResetSimulation": self._reset,
            "StepSimulation": self._steps.step,
            "LoadWorld": self._load_world,
            "UnloadWorld": self._unload_world,
            "GetCurrentWorld": self._get_current_world,
            "GetAvailableWorlds": self._get_available_worlds,
            "GetNamedPoses": _unsupported,
            "GetNamedPoseBounds": _unsupported,
            **entities.handlers,
        }
        for name, handler in handlers.items():
            self._serve(name, handler)
        node.create_service(
            interfaces.srv.GetSimulatorFeatures, "~/get_simulator_features", self._get_features
        )

    @property
    def serving(self) -> bool:
        """Whether a request has not been answered yet."""
        return self._open > 0 or self._steps.serving

    def close(self) -> None:
        """Destroy the action server; services are destroyed with the node's other entities."""
        self._steps.close()

    def _serve(self, name: str, handler: Handler) -> None:
        service_type = getattr(self._interfaces.srv, name, None)
        if service_type is None:  # an older release
            return

        async def answer(request: Any, response: Any) -> Any:
            self._open += 1
            try:
                message = await handler(request, response) or ""
            except Exception as error:
                refusal = refusal_of(error, name, self._node.get_logger())
                code = code_of(refusal.reason, response, self._interfaces.msg.Result)
                return _answered(response, code, str(refusal))
            finally:
                self._open -= 1
            return _answered(response, self._interfaces.msg.Result.RESULT_OK, message)

        self._node.create_service(
            service_type, f"~/{_snake_case(name)}", answer, callback_group=self._waiting.group
        )

    def _get_features(self, request: Any, response: Any) -> Any:
        features = self._interfaces.msg.SimulatorFeatures
        response.features.features = [
            getattr(features, name) for name in _FEATURES if hasattr(features, name)
        ]
        response.features.spawn_formats = ["urdf", "xacro"]
        response.features.custom_info = _INFO
        return response

    # --- state

    async def _get_state(self, request: Any, response: Any) -> None:
        response.state.state = self._control.state.value

    async def _set_state(self, request: Any, response: Any) -> None:
        try:
            target = SimulationState(request.state.state)
        except ValueError:
            raise Refused(Reason.FEATURE_UNSUPPORTED, f"state {request.state.state} is unknown") from None
        await self._control.set_state(target)

    async def _reset(self, request: Any, response: Any) -> None:
        scope = request.scope
        if scope in (request.SCOPE_DEFAULT, request.SCOPE_ALL):
            await self._control.reset_all(time=True if scope == request.SCOPE_ALL else None)
            return
        known = request.SCOPE_TIME | request.SCOPE_STATE | request.SCOPE_SPAWNED
        if scope & ~known:
            raise Refused(
                Reason.FEATURE_UNSUPPORTED, f"scope {scope} is unknown; add up 1, 2 and 4, or give 255"
            )
        await self._control.reset(
            time=bool(scope & request.SCOPE_TIME),
            state=bool(scope & request.SCOPE_STATE),
            spawned=bool(scope & request.SCOPE_SPAWNED),
        )

    # --- worlds

    async def _load_world(self, request: Any, response: Any) -> None:
        resource = resource_of(request)
        if not resource.uri:
            if resource.resource_string:
                raise Refused(Reason.FEATURE_UNSUPPORTED, "a scene names files beside it; give its uri")
            raise Refused(Reason.NO_RESOURCE, "give a uri")
        await self._control.load_world(resource.uri)
        self._describe_world(response.world)

    async def _unload_world(self, request: Any, response: Any) -> None:
        await self._control.unload_world()

    async def _get_current_world(self, request: Any, response: Any) -> None:
        if self._control.state is SimulationState.NO_WORLD:
            raise Refused(Reason.NO_WORLD_LOADED, "no world is loaded")
        self._describe_world(response.world)

    def _describe_world(self, message: Any) -> None:
        world = self._control.world
        message.name = world.name
        resource_of(message).uri = world.scene.source.as_uri()

    async def _get_available_worlds(self, request: Any, response: Any) -> str:
        if request.filter.tags:
            raise Refused(Reason.FEATURE_UNSUPPORTED, "worlds have no tags; leave the filter empty")
        found, problems = worlds(request.additional_sources)
        if problems and not (found and request.continue_on_error):
            raise Refused(Reason.OPERATION_FAILED, "; ".join(problems))
        for world in found:
            message = self._interfaces.msg.WorldResource(name=world.name)
            resource_of(message).uri = world.uri
            response.worlds.append(message)
        return "; ".join(problems)


async def _unsupported(request: Any, response: Any) -> None:
    raise Refused(Reason.FEATURE_UNSUPPORTED, "scenes have no named poses")


def _answered(response: Any, code: int, message: str) -> Any:
    response.result.result = code
    response.result.error_message = message
    return response


def _snake_case(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
