"""Connection to one page: frames and messages to it, commands from it."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from contextlib import suppress
from typing import Any, Protocol

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed, ConnectionClosedError
from websockets.frames import CloseCode

from hydro_sim_core.errors import InputError
from hydro_sim_core.viewer.commands import MAX_MESSAGE, Command, Shown, read_message

#: Largest number of frames sent to a page that it has not drawn yet.
MAX_IN_FLIGHT = 2
#: Sustained rate of messages that are read from a page, Hz, and size of a burst.
MAX_RATE = 120.0
MAX_BURST = 120
#: Largest number of text messages in a page's queue; the oldest are dropped.
_MAX_WAITING = 16


class PageSource(Protocol):
    """What pages show, and the way of their commands; the hub is one, and describes the attributes."""

    scene: str | None
    frame: tuple[int, bytes] | None
    headers: deque[tuple[int, str]]

    def log(self, line: str) -> None:
        """Have the simulation log a line."""

    async def command(self, page: int, command: Command) -> None:
        """Pass a command on."""


class Page:
    """A connected page.

    Only the newest frame waits until the page is ready for it: a slow page gets fewer frames and a stalled page none,
    without holding up others. Of the skipped frames it gets the headers, for its charts.

    Args:
        connection: Its WebSocket.
        hub: Source of scenes and frames, and receiver of commands.
        number: Number that identifies the page.
    """

    def __init__(self, connection: ServerConnection, hub: PageSource, number: int) -> None:
        self.number = number
        self._connection = connection
        self._hub = hub
        self._scene: str | None = None
        self._words: deque[str] = deque(maxlen=_MAX_WAITING)
        self._in_flight: deque[int] = deque()
        self._last_seq = -1
        self._heard = 0.0
        self._news = asyncio.Event()
        self._allowance = float(MAX_BURST)
        self._refilled = time.monotonic()

    @property
    def name(self) -> str:
        """Name used in error messages."""
        return f"page {self.number}"

    @property
    def idle(self) -> float:
        """How long it has not drawn a frame that it has got, s of wall-clock time; 0 if it has drawn all."""
        return time.monotonic() - self._heard if self._in_flight else 0.0

    async def serve(self) -> None:
        """Exchange messages with the page until it disconnects."""
        sender = asyncio.create_task(self._send())
        try:
            await self._receive()
        except ConnectionClosedError as closed:
            if closed.sent is not None and closed.sent.code == CloseCode.MESSAGE_TOO_BIG:
                problem = f"sent more than {MAX_MESSAGE} bytes at once and was closed"
                self._hub.log(str(InputError("viewer", self.name, problem, "send short messages")))
        except ConnectionClosed:
            pass
        finally:
            sender.cancel()

    def has_news(self) -> None:
        """Wake the sender to check for something to send."""
        self._news.set()

    def tell(self, message: dict[str, Any]) -> None:
        """Queue a message."""
        self._words.append(json.dumps(message))
        self._news.set()

    def reject(self, reason: str) -> None:
        """Tell the page, and the log, why its command was rejected."""
        self.tell({"type": "rejected", "reason": reason})
        self._hub.log(reason)

    async def leave(self, last: dict[str, Any]) -> None:
        """Send a last message and close the connection, as the simulation has ended."""
        with suppress(ConnectionClosed):
            await self._connection.send(json.dumps(last))
        await self._connection.close(CloseCode.GOING_AWAY, "the simulation has ended")

    async def make_way(self) -> None:
        """Close the connection, in favour of another page."""
        await self._connection.close(CloseCode.TRY_AGAIN_LATER, "idle, and others came")

    async def _send(self) -> None:
        with suppress(ConnectionClosed):  # ``_receive`` handles it
            while True:
                await self._news.wait()
                self._news.clear()
                await self._send_what_waits()

    async def _send_what_waits(self) -> None:
        if self._scene is not (scene := self._hub.scene) and scene is not None:
            self._scene = scene
            self._last_seq = -1
            await self._connection.send(scene)
        while self._words:
            await self._connection.send(self._words.popleft())
        frame = self._hub.frame
        # A frame is valid only for its scene, which may have changed while others were sent.
        if frame is None or self._scene is not self._hub.scene or len(self._in_flight) >= MAX_IN_FLIGHT:
            return
        seq, data = frame
        if seq == self._last_seq:
            return
        missed = [header for number, header in self._hub.headers if self._last_seq < number < seq]
        if missed and self._last_seq >= 0:
            await self._connection.send(f'{{"type": "missed", "frames": [{", ".join(missed)}]}}')
        self._last_seq = seq
        if not self._in_flight:
            self._heard = time.monotonic()
        self._in_flight.append(seq)
        await self._connection.send(data)

    async def _receive(self) -> None:
        async for text in self._connection:
            await self._keep_rate()
            try:
                if isinstance(text, bytes):
                    raise InputError(
                        "viewer", self.name, "sent binary data", "send what docs/viewer.md lists"
                    )
                message = read_message(text, self.name)
            except InputError as error:
                self.reject(str(error))
                continue
            if isinstance(message, Shown):
                self._shown(message.seq)
            else:
                await self._hub.command(self.number, message)

    def _shown(self, seq: int) -> None:
        while self._in_flight and self._in_flight[0] <= seq:
            self._in_flight.popleft()
            self._heard = time.monotonic()
        self._news.set()

    async def _keep_rate(self) -> None:
        """Wait as long as the message rate requires; further messages stay in the connection's buffers."""
        now = time.monotonic()
        self._allowance = min(MAX_BURST, self._allowance + MAX_RATE * (now - self._refilled)) - 1.0
        self._refilled = now
        if self._allowance < 0.0:
            await asyncio.sleep(-self._allowance / MAX_RATE)
