"""Requests of simulation_interfaces about entities: lists, states, bounds, spawning and deletion."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

from rclpy.node import Node

from hydro_sim.simulation_control.catalogue import spawnables
from hydro_sim.simulation_control.control import SimulationControl
from hydro_sim.simulation_control.conversions import (
    box_corners,
    has_tags,
    pose_matrix,
    pose_message,
    resource_of,
    twist_message,
    twist_vector,
    volume,
)
from hydro_sim.simulation_control.refusals import Reason, Refused, code_of, refusing
from hydro_sim.simulation_control.spawning import SpawnRequest, queried
from hydro_sim_core.messages.state import split_time
from hydro_sim_core.simulation.world.entities import Entity, matching

_CATEGORIES = tuple(
    f"CATEGORY_{name}" for name in ("OBJECT", "ROBOT", "HUMAN", "DYNAMIC_OBJECT", "STATIC_OBJECT")
)
_LONGEST_TEXT = 10_000
_MOST_TAGS = 100


class EntityServices:
    """Handlers of requests about entities.

    Attributes:
        handlers: Handlers of services by the name of their type.

    Args:
        node: Node with the logger.
        interfaces: ``simulation_interfaces``.
        control: Operations on the simulation.
    """

    def __init__(self, node: Node, interfaces: ModuleType, control: SimulationControl) -> None:
        self._node = node
        self._msg = interfaces.msg
        self._control = control
        self.handlers: dict[str, Callable[[Any, Any], Awaitable[str | None]]] = {
            "GetEntities": self._get_entities,
            "GetEntitiesStates": self._get_states,
            "GetEntityInfo": self._get_info,
            "SetEntityInfo": self._set_info,
            "GetEntityState": self._get_state,
            "SetEntityState": self._set_state,
            "GetEntityBounds": self._get_bounds,
            "GetSpawnables": self._get_spawnables,
            "SpawnEntity": self._spawn,
            "SpawnEntities": self._spawn_all,
            "DeleteEntity": self._delete,
        }

    # --- reading

    async def _get_entities(self, request: Any, response: Any) -> None:
        response.entities = self._filtered(request.filters)

    async def _get_states(self, request: Any, response: Any) -> None:
        response.entities = self._filtered(request.filters)
        response.states = [self._state_of(name) for name in response.entities]

    def _filtered(self, filters: Any) -> list[str]:
        entities, states = self._control.world.entities, self._control.snapshot.entities
        names = list(entities.names)
        if filters.filter:
            with refusing(Reason.OPERATION_FAILED):
                names = matching(names, filters.filter)
        if filters.categories:
            wanted = {category.category for category in filters.categories}
            names = [name for name in names if self._info_of(entities[name]).category.category in wanted]
        names = [name for name in names if has_tags(self._info_of(entities[name]).tags, filters.tags)]
        inside = volume(filters.bounds)
        if inside is not None:
            names = [name for name in names if states.overlaps(name, inside)]
        return names

    def _entity(self, name: str) -> Entity:
        with refusing(Reason.NOT_FOUND):
            return self._control.world.entities[name]

    async def _get_info(self, request: Any, response: Any) -> None:
        response.info = self._info_of(self._entity(request.entity))

    def _info_of(self, entity: Entity) -> Any:
        if entity.name in self._control.infos:
            return self._control.infos[entity.name]
        category = self._msg.EntityCategory
        info = self._msg.EntityInfo(description=f"from {entity.source}")
        if entity.has_joints:
            info.category.category = category.CATEGORY_ROBOT
        elif entity.is_static:
            info.category.category = category.CATEGORY_STATIC_OBJECT
        else:
            info.category.category = category.CATEGORY_OBJECT
        return info

    async def _set_info(self, request: Any, response: Any) -> None:
        name, info = self._entity(request.entity).name, request.info
        if info.category.category not in [getattr(self._msg.EntityCategory, name) for name in _CATEGORIES]:
            raise Refused(Reason.OPERATION_FAILED, f"category {info.category.category} is unknown")
        if len(info.tags) > _MOST_TAGS or len(info.description) + sum(map(len, info.tags)) > _LONGEST_TEXT:
            limits = f"{_MOST_TAGS} tags and {_LONGEST_TEXT} characters"
            raise Refused(Reason.OPERATION_FAILED, f"description and tags are too long: give up to {limits}")
        self._control.infos[name] = info

    async def _get_state(self, request: Any, response: Any) -> None:
        response.state = self._state_of(self._entity(request.entity).name)

    def _state_of(self, name: str) -> Any:
        snapshot = self._control.snapshot
        state = self._msg.EntityState()
        state.header.stamp.sec, state.header.stamp.nanosec = split_time(snapshot.time)
        state.header.frame_id = self._control.world_frame
        state.pose = pose_message(snapshot.entities.pose(name))
        state.twist = twist_message(snapshot.entities.twist(name))
        return state

    async def _get_bounds(self, request: Any, response: Any) -> None:
        found = self._control.snapshot.entities.bounds(self._entity(request.entity).name)
        if found is not None:
            response.bounds.type = self._msg.Bounds.TYPE_BOX
            response.bounds.points = box_corners(*found)

    async def _get_spawnables(self, request: Any, response: Any) -> str:
        found, problems = spawnables(request.sources)
        for resource in found:
            message = self._msg.Spawnable(description=resource.name)
            resource_of(message).uri = resource.uri
            response.spawnables.append(message)
        return "; ".join(problems)

    # --- changing

    async def _set_state(self, request: Any, response: Any) -> str:
        state = request.state
        # Releases before 2.1 have no flags and set both.
        X_FE = pose_matrix(state.pose) if getattr(request, "set_pose", True) else None
        V_FE = twist_vector(state.twist) if getattr(request, "set_twist", True) else None
        await self._control.set_entity_state(request.entity, state.header.frame_id, X_FE, V_FE)
        return "accelerations cannot be set" if getattr(request, "set_acceleration", False) else ""

    async def _spawn(self, request: Any, response: Any) -> str:
        response.entity_name, message = await self._control.spawn(_spawn_request(request))
        if message:
            self._node.get_logger().warning(f"spawned '{response.entity_name}': {message}")
        return message

    async def _spawn_all(self, request: Any, response: Any) -> None:
        failed = 0
        for item in request.spawn_requests:
            result = self._msg.SpawnResult()
            response.results.append(result)
            try:
                result.result.error_message = await self._spawn(item, result)
                result.result.result = self._msg.Result.RESULT_OK
            except Refused as refusal:
                failed += 1
                result.result.error_message = str(refusal)
                result.result.result = code_of(refusal.reason, result, self._msg.Result)
        if failed:
            raise Refused(Reason.ENTITIES_SPAWN_FAILED, f"{failed} of {len(request.spawn_requests)} failed")

    async def _delete(self, request: Any, response: Any) -> None:
        await self._control.delete(request.entity)


def _spawn_request(request: Any) -> SpawnRequest:
    resource = resource_of(request)
    return SpawnRequest(
        **queried(resource.uri),
        name=request.name,
        allow_renaming=request.allow_renaming,
        text=resource.resource_string,
        namespace=request.entity_namespace,
        frame=request.initial_pose.header.frame_id,
        X_FE=pose_matrix(request.initial_pose.pose),
    )
