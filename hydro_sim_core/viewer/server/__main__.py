"""Main function of the server's process; its argument is the descriptor of a socket to the simulation."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import resource
import signal
import socket
import sys
from contextlib import suppress
from functools import partial
from typing import Any

from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from hydro_sim_core.viewer import wire
from hydro_sim_core.viewer.commands import MAX_MESSAGE
from hydro_sim_core.viewer.server.access import Access
from hydro_sim_core.viewer.server.files import FileServer, read_page_files, too_many_viewers
from hydro_sim_core.viewer.server.hub import Hub, receive
from hydro_sim_core.viewer.wire import Kind

#: Number of ports to try, from the requested one.
_PORTS = 100
_BACKLOG = 1024
#: Limit on open files, and so on the connections of a flood.
_MAX_FILES = 65_536
#: Nice value, below the priority of the simulation.
_NICENESS = 5
#: Period of pings, and timeout of their answers, after which a page is dropped, s.
_PING_PERIOD, _PING_TIMEOUT = 10.0, 20.0
#: Timeout for the request of a new connection, s.
_OPEN_TIMEOUT = 10.0
_FROM_SIMULATION = 2**20  # read buffer, bytes


async def main(descriptor: int) -> None:
    """Serve pages until the simulation disconnects."""
    link = socket.socket(fileno=descriptor)
    reader, writer = await asyncio.open_unix_connection(sock=link, limit=_FROM_SIMULATION)
    first = await receive(reader)
    if first is None:
        return
    settings: dict[str, Any] = json.loads(first[1])
    try:
        listener = _listen(settings["host"], settings["port"])
    except ValueError:  # the name has a part longer than 63 characters, or a character that no name has
        problem: str | None = "is no name of a host"
    except OSError as error:
        problem = (error.strerror or str(error)).partition(" (")[0]  # without the address that Python adds
    else:
        problem = None
    if problem is not None:
        writer.write(wire.pack_json(Kind.FAILED, problem))
        await writer.drain()
        return
    port = listener.getsockname()[1]
    access = Access(settings["host"], port, settings["token"], settings["ticket"])
    files = FileServer(read_page_files(), access)
    hub = Hub(reader, writer, files, settings["max_viewers"])
    asyncio.get_running_loop().set_exception_handler(partial(_unexpected, hub))
    server = await serve(
        hub.attend,
        sock=listener,
        process_request=partial(_answer, files, hub),
        compression=None,
        max_size=MAX_MESSAGE,
        open_timeout=_OPEN_TIMEOUT,
        ping_interval=_PING_PERIOD,
        ping_timeout=_PING_TIMEOUT,
        close_timeout=1.0,
        server_header=None,
        logger=_silent_logger(),
    )
    writer.write(wire.pack_json(Kind.READY, port))
    await hub.follow()
    server.close(close_connections=False)  # at once, to free the port for a simulation that is restarted
    await hub.say_goodbye()


def _answer(files: FileServer, hub: Hub, connection: ServerConnection, request: Request) -> Response | None:
    response = files.answer(connection, request)
    return too_many_viewers() if response is None and not hub.make_room() else response


def _listen(host: str, port: int) -> socket.socket:
    """Listen at the first free port from the one given; 0 takes any.

    Raises:
        OSError: No port is free, or the address does not belong to this machine.
    """
    family, _, _, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    last = min(port + _PORTS, 65_536) if port else 1
    for candidate in range(port, last):
        try:
            return socket.create_server((address[0], candidate), family=family, backlog=_BACKLOG)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or candidate == last - 1:
                raise
    raise AssertionError("there is a port to try")


def _unexpected(hub: Hub, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    hub.log(f"viewer: {context.get('message')}" + (f" ({type(error).__name__}: {error})" if error else ""))


def _silent_logger() -> logging.Logger:
    """Logger that discards messages: malformed requests of unknown clients are not worth a line in the terminal."""
    logger = logging.getLogger("hydro_sim_core.viewer.server.websockets")
    logger.addHandler(logging.NullHandler())
    logger.propagate = False
    return logger


def _set_up_process() -> None:
    """Ignore Ctrl-C, lower the priority below the simulation's, and raise the limit on open connections."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the simulation, with which the server ends
    with suppress(OSError):
        os.nice(_NICENESS)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_FILES if most == resource.RLIM_INFINITY else min(most, _MAX_FILES)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


if __name__ == "__main__":
    _set_up_process()
    asyncio.run(main(int(sys.argv[1])))
