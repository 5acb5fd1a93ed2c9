"""Viewers without a browser: they take frames and acknowledge them, in a process of their own."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import struct
from contextlib import suppress
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Self

from websockets.asyncio.client import connect

_PATIENCE = 30.0
#: What viewers do themselves is not what is measured: theirs are other processors.
_LOWEST_PRIORITY = 19


@dataclass
class Received:
    """What a viewer got."""

    frames: int = 0
    bytes: int = 0


class Clients:
    """A process whose viewers come and go as they are told; use it as a context.

    Args:
        address: Of the WebSocket.
    """

    def __init__(self, address: str) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_run, args=(address, theirs), daemon=True)

    def __enter__(self) -> Self:
        self._process.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pipe.close()
        self._process.join(_PATIENCE)

    def come(self, viewers: int, stalled: int = 0) -> None:
        """Connect viewers, some of whom never read nor acknowledge anything."""
        self._ask(["come", viewers, stalled])

    def go(self) -> list[Received]:
        """Disconnect them; what each of those that read has got."""
        return [Received(**one) for one in self._ask(["go"])]

    def _ask(self, request: list[object]) -> list[dict[str, int]]:
        self._pipe.send(request)
        if not self._pipe.poll(_PATIENCE):
            raise TimeoutError(f"viewers do not answer to {request}")
        return self._pipe.recv()


def _run(address: str, pipe: Connection) -> None:
    os.nice(_LOWEST_PRIORITY)
    with suppress(EOFError, KeyboardInterrupt):
        asyncio.run(_obey(address, pipe))


async def _obey(address: str, pipe: Connection) -> None:
    viewers: list[asyncio.Task[None]] = []
    received: list[Received] = []
    loop = asyncio.get_running_loop()
    while True:
        match await loop.run_in_executor(None, pipe.recv):
            case ["come", count, stalled]:
                received = [Received() for _ in range(count)]
                arrived = [asyncio.Event() for _ in range(count + stalled)]
                viewers = [
                    asyncio.create_task(_watch(address, one, event))
                    for one, event in zip([*received, *[None] * stalled], arrived, strict=True)
                ]
                await asyncio.gather(*(event.wait() for event in arrived))
                pipe.send([])
            case ["go"]:
                for viewer in viewers:
                    viewer.cancel()
                await asyncio.gather(*viewers, return_exceptions=True)
                pipe.send([asdict(one) for one in received])


async def _watch(address: str, received: Received | None, arrived: asyncio.Event) -> None:
    """Take what comes and acknowledge frames; a viewer that counts nothing is stalled."""
    async with connect(address, compression=None, max_size=None) as connection:
        arrived.set()
        if received is None:
            await asyncio.Future()
            return
        async for message in connection:
            if isinstance(message, bytes):
                (length,) = struct.unpack_from("<I", message)
                seq = json.loads(message[4 : 4 + length])["seq"]
                await connection.send(json.dumps({"type": "shown", "seq": seq}))
                received.frames += 1
                received.bytes += len(message)
