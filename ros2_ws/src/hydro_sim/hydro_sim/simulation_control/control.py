"""Operations on a simulation: its state, resets, entities and worlds, independent of message types.

Everything runs in the executor's thread, which alone exchanges the World. Long operations run in threads of their own
and are awaited: a new World is built there while the old one continues stepping.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from enum import Enum
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from hydro_sim.simulation_control.catalogue import world_file
from hydro_sim.simulation_control.refusals import Reason, Refused, refusing, refusing_resource
from hydro_sim.simulation_control.spawning import SpawnRequest, build_spawned, overlapped, remarks_on
from hydro_sim_core.description import LoadedScene, SceneBuilder
from hydro_sim_core.description.scene_edits import moved, without
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation import FixedRateRunner, Snapshot, World
from hydro_sim_core.simulation.scenes import open_world

Array = NDArray[np.float64]
T = TypeVar("T")
#: Largest distance of an entity from the origin, m: beyond it coordinates lack the precision that contact needs.
WORLD_EXTENT = 1e5
_FASTEST = 1e5  # m/s or rad/s


class SimulationState(Enum):
    """State of a simulation, as in simulation_interfaces."""

    STOPPED = 0
    PLAYING = 1
    PAUSED = 2
    QUITTING = 3
    NO_WORLD = 4
    LOADING_WORLD = 5


class Host(Protocol):
    """Protocol of the owner of the World."""

    @property
    def runner(self) -> FixedRateRunner:
        """Runner of the World; another one after ``replace_world``."""

    def exchange_world(self, world: World, *, carry_over: bool) -> None:
        """Continue with a World of an edited scene, in the old World's state or at its own start."""

    def replace_world(self, world: World) -> None:
        """Restart with any World, paused.

        Raises:
            InputError: A parameter does not fit the scene; the old World remains.
        """


class SimulationControl:
    """Operations on a simulation; those that cannot be carried out raise ``Refused`` and change nothing.

    Args:
        host: Owner of the World.
        wait: Awaits a future of another thread, while the executor serves other callbacks.
        quit: Ends the process.
        world_frame: Frame id of the world.
        resets_time: Whether a full reset sets the time to zero.
        went_back: Called after simulated time has gone back, with the time before (s).
    """

    def __init__(
        self,
        host: Host,
        wait: Callable[[Future[Any]], Awaitable[Any]],
        quit: Callable[[], None],
        world_frame: str,
        resets_time: Callable[[], bool] = lambda: True,
        went_back: Callable[[float], None] = lambda before: None,
    ) -> None:
        self._host = host
        self._wait = wait
        self._quit = quit
        self.world_frame = world_frame
        self._resets_time = resets_time
        self._went_back = went_back
        self._special: SimulationState | None = None  # quitting, loading, or without a world
        self._stopped_at: tuple[int, int] | None = None
        self._open_steps = 0
        self._builders: list[Thread] = []
        self._begin_with(host.runner.world.scene)

    def _begin_with(self, scene: LoadedScene) -> None:
        self._original = scene
        #: Names of spawned entities, in the order of spawning.
        self.spawned: list[str] = []
        #: What clients have told of entities, by name; goes with the entity.
        self.infos: dict[str, Any] = {}

    @property
    def _runner(self) -> FixedRateRunner:
        return self._host.runner

    @property
    def snapshot(self) -> Snapshot:
        """State after the last step, or the last change from outside."""
        return self._runner.snapshot()

    @property
    def world(self) -> World:
        """The World, for properties that do not change from step to step."""
        return self._runner.world

    # --- the state of the simulation

    @property
    def state(self) -> SimulationState:
        """Present state; a node that is not active is paused."""
        if self._special is not None:
            return self._special
        if self._runner.running and not self._runner.paused:
            return SimulationState.PLAYING
        return SimulationState.STOPPED if self._stopped_at == self._mark() else SimulationState.PAUSED

    def _mark(self) -> tuple[int, int]:
        return self.snapshot.epoch, self.snapshot.step

    async def set_state(self, target: SimulationState) -> None:
        """Play, pause, stop (which is to pause and reset everything) or quit."""
        if target is SimulationState.QUITTING:
            self._runner.pause()
            self._special = target
            self._quit()
            return
        if target is self.state:
            raise Refused(Reason.ALREADY_IN_TARGET_STATE, f"is {target.name} already")
        if target in (SimulationState.NO_WORLD, SimulationState.LOADING_WORLD):
            raise Refused(Reason.INCORRECT_TRANSITION, "load or unload a world instead")
        if self._special is not None:
            raise Refused(Reason.INCORRECT_TRANSITION, f"is {self._special.name}; load a world first")
        self.pause(target is not SimulationState.PLAYING)
        self._stopped_at = None
        if target is SimulationState.STOPPED:
            await self.reset_all()
            self._stopped_at = self._mark()

    def require_world(self) -> None:
        """Refuse requests that need a world while none is loaded."""
        if self._special is not None:
            raise Refused(Reason.INCORRECT_STATE, f"is {self._special.name}; load a world first")

    def pause(self, paused: bool) -> None:
        """Pause or resume stepping."""
        self.require_world()
        if not self._runner.running:
            raise Refused(Reason.STATE_TRANSITION_ERROR, "the node is not active; activate it first")
        if paused:
            self._runner.pause()
        else:
            self._runner.resume()

    @property
    def stepping(self) -> bool:
        """Whether requested steps are still to be taken."""
        return self._open_steps > 0

    async def step(self, steps: int) -> None:
        """Take steps while paused."""
        self.require_world()
        self._open_steps += 1
        try:
            taken = await self._wait(self._runner.begin_steps(steps))
        except FloatingPointError as error:
            raise Refused(Reason.OPERATION_FAILED, str(error)) from None
        except InputError as error:
            raise Refused(Reason.OPERATION_FAILED, f"{error.problem}; {error.mend}") from None
        finally:
            self._open_steps -= 1
        if taken < steps:
            raise Refused(Reason.OPERATION_FAILED, f"broken off after {taken} of {steps} steps")

    # --- resets

    async def reset_all(self, *, time: bool | None = None) -> None:
        """Reset everything: remove spawned entities, restore deleted and moved ones.

        Args:
            time: Whether to set the time to zero; by default as ``resets_time`` says.
        """
        self.require_world()
        time = self._resets_time() if time is None else time
        before = self.snapshot.time
        restored = await self._restore_scene(carry_over=not time)
        if not (restored and time):  # a restored scene that carries nothing over is at its start
            self._runner.reset(time=time)
        self._notice_jump(before)

    async def _restore_scene(self, *, carry_over: bool) -> bool:
        """Continue with the original scene; whether there was another one."""
        if self.world.scene is self._original:
            return False
        while self.world.scene is not self._original:
            world = await self._make(partial(World, self._original, self.world), self.world)
            if world is not None:
                self._host.exchange_world(world, carry_over=carry_over)
                self.spawned.clear()
                self._forget_infos()
        return True

    def _notice_jump(self, before: float) -> None:
        if self.snapshot.time < before:
            self._went_back(before)

    async def reset(self, *, time: bool, state: bool, spawned: bool) -> None:
        """Reset simulated time, poses and velocities, or spawned entities."""
        self.require_world()
        if spawned and self.spawned:
            names = tuple(self.spawned)
            await self._edit(partial(_without_all, names=names))
            # Another client may have spawned something meanwhile, which stays.
            self.spawned = [name for name in self.spawned if name not in names]
        before = self.snapshot.time
        if time or state:
            self._runner.reset(time=time, state=state)
        self._notice_jump(before)

    # --- entities

    async def spawn(self, request: SpawnRequest) -> tuple[str, str]:
        """Add a robot or an object.

        Returns:
            Full name of the entity, and a message.
        """
        self.require_world()
        X_WF, _ = self._frame(request.frame)
        X_WE = X_WF @ checked_pose(request.X_FE)
        world = await self._edit(partial(build_spawned, request=request, X_WE=X_WE))
        name = world.scene.spec.models[-1].name
        self.spawned.append(name)
        remarks = remarks_on(world, request)
        met = overlapped(self.snapshot.entities, world.entities.names, name)
        if met:
            remarks.append(f"its box meets those of {', '.join(met)}")
        return name, "; ".join(remarks)

    async def delete(self, name: str) -> None:
        """Delete an entity from the world."""
        self._entity(name)
        await self._edit(partial(_without_one, name=name))
        if name in self.spawned:
            self.spawned.remove(name)

    async def set_entity_state(self, name: str, frame: str, X_FE: Array | None, V_FE: Array | None) -> None:
        """Set pose or twist of an entity.

        Args:
            name: Name of the entity.
            frame: Link that pose and twist are relative to, or the world.
            X_FE: (4, 4) pose; None leaves it unchanged.
            V_FE: (6,) angular and linear velocity of its origin; None leaves it unchanged.
        """
        entity = self.world.entities[self._entity(name)]
        X_WF, V_WF = self._frame(frame)
        X_WE = None if X_FE is None else X_WF @ checked_pose(X_FE)
        V_WE = (
            None if V_FE is None else _twist_in_world(self._pose(name, X_WE), X_WF, V_WF, checked_twist(V_FE))
        )
        if entity.joint is not None:
            joint = entity.joint
            stopped = self.state is SimulationState.STOPPED
            self._runner.change(lambda world: world.place(joint, X_WE, V_WE))
            self._keep_stopped(stopped)
            return
        if V_WE is not None and np.any(V_WE != 0.0):
            raise Refused(
                Reason.OPERATION_FAILED, f"'{name}' is fixed; spawn it floating to give it a velocity"
            )
        if X_WE is not None:
            await self._edit(partial(_with_moved, name=name, X_WE=X_WE))

    def _entity(self, name: str) -> str:
        self.require_world()
        with refusing(Reason.NOT_FOUND):
            return self.world.entities[name].name

    def _pose(self, name: str, X_WE: Array | None) -> Array:
        return self.snapshot.entities.pose(name) if X_WE is None else X_WE

    def _frame(self, frame: str) -> tuple[Array, Array]:
        if frame in ("", "world", self.world_frame):
            return np.eye(4), np.zeros(6)
        with refusing(Reason.INVALID_POSE):
            return self.snapshot.entities.frame(frame)

    # --- worlds

    async def load_world(self, uri: str) -> None:
        """Load another scene and stop the simulation; if loading fails, the present scene remains."""
        if self._special in (SimulationState.LOADING_WORLD, SimulationState.QUITTING):
            raise Refused(Reason.INCORRECT_STATE, f"is {self._special.name} already")
        before, was_paused = self._special, self._runner.paused
        path = world_file(uri)
        self._special = SimulationState.LOADING_WORLD
        self._runner.pause()
        try:
            self._replace(await self._wait(self._in_thread(partial(_load, path))))
            self._special = None
            self._stopped_at = self._mark()
        finally:
            if self._special is SimulationState.LOADING_WORLD:
                self._special = before
                if not was_paused:
                    self._runner.resume()

    async def unload_world(self) -> None:
        """Replace the world by an empty, stopped one."""
        if self._special is SimulationState.NO_WORLD:
            raise Refused(Reason.NO_WORLD_LOADED, "no world is loaded")
        self.require_world()
        empty = World(SceneBuilder("empty", time_step=self.world.time_step).build())
        was_paused = self._runner.paused
        self._runner.pause()
        try:
            self._replace(empty)
        except Refused:
            if not was_paused:
                self._runner.resume()
            raise
        self._special = SimulationState.NO_WORLD

    def _replace(self, world: World) -> None:
        before = self.snapshot.time
        with refusing(Reason.OPERATION_FAILED):
            self._host.replace_world(world)
        self._begin_with(world.scene)
        self._notice_jump(before)

    # --- making worlds beside the stepping thread

    async def _edit(self, change: Callable[[World], World]) -> World:
        """Continue with the World that ``change`` makes of the present one; repeat if it was exchanged meanwhile."""
        while True:
            base = self.world
            world = await self._make(partial(change, base), base)
            if world is not None:
                stopped = self.state is SimulationState.STOPPED
                self._host.exchange_world(world, carry_over=True)
                self._forget_infos()
                self._keep_stopped(stopped)
                return world

    def _forget_infos(self) -> None:
        """Forget what was told of entities that are there no more: others may come by their names."""
        self.infos = {name: self.infos[name] for name in self.world.entities.names if name in self.infos}

    async def _make(self, build: Callable[[], World], base: World) -> World | None:
        """Build a World; None if ``base`` was exchanged meanwhile."""
        world = await self._wait(self._in_thread(build))
        self.require_world()
        return world if self.world is base else None

    @property
    def building(self) -> bool:
        """Whether a World is being built, and perhaps compiled."""
        return any(builder.is_alive() for builder in self._builders)

    def _in_thread(self, make: Callable[[], T]) -> Future[T]:
        """Run a call in a daemon thread, which does not delay the end of the process; return its result."""
        made: Future[T] = Future()

        def run() -> None:
            try:
                result = make()
                # Parsing XML leaves reference cycles: collecting a few takes 2 ms, and those of many spawned robots
                # would stop every thread for tens of milliseconds.
                gc.collect()
                made.set_result(result)
            except BaseException as error:
                # Any exception is passed to the waiting caller.
                made.set_exception(error)

        self._builders = [builder for builder in self._builders if builder.is_alive()]
        self._builders.append(Thread(target=run, name="world-builder", daemon=True))
        self._builders[-1].start()
        return made

    def _keep_stopped(self, stopped: bool) -> None:
        """Keep a stopped simulation stopped after a change from outside."""
        if stopped:
            self._stopped_at = self._mark()


def checked_pose(X: Array) -> Array:
    """Return ``X`` if it is a possible pose, else raise ``Refused``."""
    if not np.all(np.isfinite(X)) or np.abs(X[:3, 3]).max() > WORLD_EXTENT:
        raise Refused(
            Reason.INVALID_POSE, f"give finite positions up to {WORLD_EXTENT:g} m and a unit quaternion"
        )
    return X


def checked_twist(V: Array) -> Array:
    """Return ``V`` if it is a possible twist, else raise ``Refused``."""
    if not np.all(np.isfinite(V)) or np.abs(V).max() > _FASTEST:
        raise Refused(Reason.OPERATION_FAILED, f"give finite velocities up to {_FASTEST:g} m/s and rad/s")
    return V


def _twist_in_world(X_WE: Array, X_WF: Array, V_WF: Array, V_FE: Array) -> Array:
    """Twist of E's origin in the world, from its twist relative to a moving frame F."""
    w_WF, p_FE_W = V_WF[:3], X_WE[:3, 3] - X_WF[:3, 3]
    w = w_WF + X_WF[:3, :3] @ V_FE[:3]
    return np.concatenate([w, V_WF[3:] + np.cross(w_WF, p_FE_W) + X_WF[:3, :3] @ V_FE[3:]])


def _load(path: Path) -> World:
    """Load a World, compile it and test its first step."""
    with refusing_resource():
        world = open_world(str(path))
    try:
        world.step()
    except FloatingPointError as error:
        raise Refused(Reason.OPERATION_FAILED, str(error)) from None
    world.reset()
    return world


def _without_one(base: World, name: str) -> World:
    with refusing(Reason.OPERATION_FAILED):
        return World(without(base.scene, name), base)


def _without_all(base: World, names: tuple[str, ...]) -> World:
    """Remove entities; another client may have deleted some of them already."""
    scene = base.scene
    with refusing(Reason.OPERATION_FAILED):
        for name in reversed(names):  # later entities may be attached to earlier ones
            if name in base.entities.names:
                scene = without(scene, name)
        return World(scene, base)


def _with_moved(base: World, name: str, X_WE: Array) -> World:
    with refusing(Reason.OPERATION_FAILED):
        return World(moved(base.scene, name, X_WE), base)
