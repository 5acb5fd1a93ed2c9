"""Hub between one simulation and many pages."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from typing import Any

from websockets.asyncio.server import ServerConnection
from websockets.frames import CloseCode

from hydro_sim_core.viewer import wire
from hydro_sim_core.viewer.commands import Command
from hydro_sim_core.viewer.server.files import FileServer
from hydro_sim_core.viewer.server.page import Page
from hydro_sim_core.viewer.wire import Kind

#: Wall-clock time between two log lines about faulty messages of pages, s.
_LOG_PERIOD = 5.0
#: Number of frames whose headers are kept for the charts of pages that skip frames: 20 s, the length of a chart.
_HISTORY = 600
#: Wall-clock time after which a page that does not draw what it has got may be replaced by another one, s.
_IDLE = 10.0
#: Timeout for pages to close their connections, s.
_FAREWELL = 2.0


class Hub:
    """Forwards scenes and frames of the simulation to pages, and commands of pages to the simulation.

    Args:
        reader: Stream from the simulation.
        writer: Stream to the simulation.
        files: File server, which gets the scene's meshes.
        max_viewers: Largest number of pages.

    Attributes:
        scene: The scene's message as text; None before the first.
        frame: Number and bytes of the newest frame; None before there is one of this scene.
        headers: Numbers and headers (text) of the last frames of this scene.
    """

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, files: FileServer, max_viewers: int
    ) -> None:
        self.scene: str | None = None
        self.frame: tuple[int, bytes] | None = None
        self.headers: deque[tuple[int, str]] = deque(maxlen=_HISTORY)
        self._reader, self._writer = reader, writer
        self._files = files
        self._max_viewers = max_viewers
        self._pages: dict[int, Page] = {}
        self._arrivals = 0
        self._departures: set[asyncio.Task[None]] = set()  # the loop holds no tasks itself
        self._new_meshes: dict[str, bytes] = {}
        self._last_log = float("-inf")
        self._unlogged = 0

    # --- pages

    def make_room(self) -> bool:
        """Whether another page may connect; for it, one that draws nothing is sent away, the most idle first."""
        if len(self._pages) < self._max_viewers:
            return True
        idlest = max(self._pages.values(), key=lambda page: page.idle, default=None)
        if idlest is None or idlest.idle < _IDLE:
            return False
        del self._pages[idlest.number]
        self._departures.add(leaving := asyncio.create_task(idlest.make_way()))
        leaving.add_done_callback(self._departures.discard)
        return True

    async def attend(self, connection: ServerConnection) -> None:
        """Serve a page until it disconnects."""
        if not self.make_room():
            await connection.close(CloseCode.TRY_AGAIN_LATER, "too many viewers")
            return
        self._arrivals += 1
        page = Page(connection, self, self._arrivals)
        self._pages[page.number] = page
        try:
            self._tell_who_is_there()
            await page.serve()
        finally:
            self._pages.pop(page.number, None)
            self._tell_who_is_there()

    def _tell_who_is_there(self) -> None:
        self._writer.write(wire.pack_json(Kind.WATCHING, list(self._pages)))
        self._tell_all({"type": "status", "viewers": len(self._pages), "simulation": "running"})

    def _tell_all(self, message: dict[str, Any]) -> None:
        for page in self._pages.values():
            page.tell(message)

    async def command(self, page: int, command: Command) -> None:
        """Forward a command; waits while the simulation is busy with others."""
        self._writer.write(wire.pack_command(page, command.model_dump_json().encode()))
        await self._writer.drain()

    def log(self, line: str) -> None:
        """Have the simulation log a line, at a limited rate."""
        now = time.monotonic()
        if now - self._last_log < _LOG_PERIOD:
            self._unlogged += 1
            return
        if self._unlogged:
            line = f"{line} ({self._unlogged} more since the last such line)"
        self._last_log, self._unlogged = now, 0
        self._writer.write(wire.pack_json(Kind.LOG, line))

    # --- the simulation

    async def follow(self) -> None:
        """Receive messages of the simulation until it disconnects."""
        while (message := await receive(self._reader)) is not None:
            self._take(*message)

    async def say_goodbye(self) -> None:
        """Tell the pages that the simulation has ended."""
        last = {"type": "status", "viewers": len(self._pages), "simulation": "gone"}
        farewells = [asyncio.create_task(page.leave(last)) for page in self._pages.values()]
        if farewells:
            await asyncio.wait(farewells, timeout=_FAREWELL)

    def _take(self, kind: Kind, content: bytes) -> None:
        if kind is Kind.FRAME:
            self.frame = seq, data = wire.unpack_frame(content)
            self.headers.append((seq, wire.header_text(data)))
        elif kind is Kind.MESH:
            key, data = wire.unpack_mesh(content)
            self._new_meshes[key] = data
            return
        elif kind is Kind.SCENE:
            self.scene, self.frame = content.decode(), None
            self.headers.clear()
            self._files.meshes, self._new_meshes = self._new_meshes, {}
        elif kind is Kind.REJECTED:
            self._reject(**json.loads(content))
            return
        elif kind is Kind.NEWS:
            self._tell_all(json.loads(content))
            return
        for page in self._pages.values():
            page.has_news()

    def _reject(self, page: int, reason: str) -> None:
        self.log(reason)
        if page in self._pages:
            self._pages[page].tell({"type": "rejected", "reason": reason})


async def receive(reader: asyncio.StreamReader) -> tuple[Kind, bytes] | None:
    """Wait for a message of the simulation; None when it has disconnected."""
    try:
        kind, length = wire.unpack_header(await reader.readexactly(wire.HEADER_SIZE))
        return kind, await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
