"""The viewer: sends scenes and frames to its server process and receives commands of pages."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import subprocess
import sys
import threading
import webbrowser
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from json import dumps, loads
from pathlib import Path
from typing import BinaryIO

import hydro_sim_core
from hydro_sim_core.errors import InputError, shortened
from hydro_sim_core.viewer import wire
from hydro_sim_core.viewer.commands import Command, LetGo, Pull, Shown, read_message
from hydro_sim_core.viewer.frame import ViewFrame, encode_frame
from hydro_sim_core.viewer.scene import ViewScene
from hydro_sim_core.viewer.server.access import is_loopback
from hydro_sim_core.viewer.token import choose_token
from hydro_sim_core.viewer.wire import Kind

logger = logging.getLogger(__name__)

DEFAULT_PORT = 8008
#: Wildcard addresses, with their family and a remote address (reserved for documentation) behind the default route.
_EVERY_ADDRESS = {
    "": (socket.AF_INET, "203.0.113.1"),
    "0.0.0.0": (socket.AF_INET, "203.0.113.1"),
    "::": (socket.AF_INET6, "2001:db8::1"),
}
_DISCARD = 9
#: Characters of an address that messages show.
_LONGEST_SHOWN = 64
_START_TIMEOUT = 30.0
_STOP_TIMEOUT = 5.0


@dataclass(frozen=True)
class ViewerOptions:
    """Options of the viewer's server.

    Attributes:
        host: Address to listen on; whoever reaches it and has the token may command the simulation.
        port: Port, or the first free one after it; 0 for any free port.
        token: Token that browsers need, as in ``choose_token``: by default this user's own where only this machine
            reaches the address, and a new one elsewhere; "none" lets in whoever reaches the address.
        max_viewers: Largest number of pages at once.
    """

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    token: str | None = None
    max_viewers: int = 32


def refuse_commands(command: Command) -> None:
    """Reject every command: for a viewer without controls."""
    raise InputError("viewer", command.type, "takes no commands here", "run a simulation to command it")


class ServerDied(InputError):
    """The viewer's server process ended before it was ready, not because of its options."""


class Viewer:
    """Shows scenes and frames on pages in browsers; all methods may be called from any thread.

    ``show`` and ``show_scene`` only store their argument; a thread encodes and sends it. If the server dies, there is
    one warning and nothing more is shown.

    Args:
        options: Options of the server.
        on_command: Called with every command of a page, in a thread of the viewer's; an ``InputError`` that it raises
            is reported to that page.

    Attributes:
        url: Address of the page; set by ``start``.
    """

    def __init__(
        self,
        options: ViewerOptions = ViewerOptions(),
        on_command: Callable[[Command], None] = refuse_commands,
    ) -> None:
        self.on_command = on_command
        self.url = ""
        self._options = options
        self._ticket = secrets.token_urlsafe(24)
        self._process: subprocess.Popen[bytes] | None = None
        self._threads: list[threading.Thread] = []
        self._watching = 0
        self._pulled: dict[int, set[str]] = {}
        self._closing = False
        self._gone = False
        self._changed = threading.Condition()
        self._outbox: deque[bytes] = deque()
        self._frame: tuple[int, ViewFrame] | None = None
        self._seq = 0
        self._settled = 0
        self._refused: tuple[int, str] | None = None

    def start(self) -> str:
        """Start the server.

        Returns:
            Address of the page, with the token.

        Raises:
            ServerDied: The server's process ended.
            InputError: The page cannot be served at this address, or the token cannot be one.
        """
        options = self._options
        local = is_loopback(options.host)
        token = choose_token(options.token, own=local)
        if token is None and not local:
            logger.warning("viewer: whoever reaches this machine may command the simulation, without a token")
        self._link, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", "-m", "hydro_sim_core.viewer.server", str(theirs.fileno())]
            # In a process group of its own: Ctrl-C is for the simulation, with which the server ends.
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                env=_environment(),
                stdin=subprocess.DEVNULL,
                process_group=0,
            )
        self._inbox: BinaryIO = self._link.makefile("rb")
        settings = {
            "host": options.host,
            "port": options.port,
            "token": token,
            "ticket": self._ticket,
            "max_viewers": options.max_viewers,
        }
        port = self._wait_until_ready(wire.pack_json(Kind.CONFIGURE, settings))
        if options.port and port != options.port:
            logger.warning("viewer: port %d is in use; the page is at port %d", options.port, port)
        self._threads = [
            threading.Thread(target=self._send, name="viewer's sender", daemon=True),
            threading.Thread(target=self._receive, name="viewer's receiver", daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        query = f"/?token={token}" if token is not None else "/"
        self.url = f"http://{_shown_host(options.host)}:{port}{query}"
        return self.url

    def open_browser(self) -> None:
        """Open the page in the user's browser.

        Its command line, which other users may read, has a ticket in place of the token, which opens the page once.
        """
        webbrowser.open(f"{self.url.partition('?')[0]}?ticket={self._ticket}")

    def _wait_until_ready(self, configure: bytes) -> int:
        """Wait for the server; returns the port on which it listens."""
        element = f"{shortened(self._options.host, _LONGEST_SHOWN)} port {self._options.port}"
        self._link.settimeout(_START_TIMEOUT)
        try:
            self._link.sendall(configure)
            answer = wire.read_message(self._inbox)
        except OSError:
            answer = None
        if answer is None:
            self._end_process(timeout=0.0)
            raise ServerDied("viewer", element, "its server does not start, or was killed", "start it again")
        if answer[0] is not Kind.READY:
            self._end_process(timeout=0.0)
            problem = f"cannot be served: {loads(answer[1])}"
            raise InputError("viewer", element, problem, "give an address of this machine and a free port")
        self._link.settimeout(None)
        return int(loads(answer[1]))

    # --- showing

    @property
    def watching(self) -> int:
        """Number of connected pages."""
        return self._watching

    @property
    def alive(self) -> bool:
        """Whether the server runs."""
        return self._process is not None and not (self._gone or self._closing)

    def show_scene(self, scene: ViewScene) -> None:
        """Show another scene; unsent frames of the previous one are dropped."""
        messages = [wire.pack_mesh(key, data) for key, data in scene.meshes.items()]
        messages.append(wire.pack(Kind.SCENE, dumps(scene.as_json(), allow_nan=False).encode()))
        with self._changed:
            if self.alive:
                self._outbox.extend(messages)
                self._frame = None
                self._settled = self._seq
                self._changed.notify_all()

    def show(self, frame: ViewFrame) -> int:
        """Show a frame of the scene; one that has not been sent yet is replaced.

        Returns:
            Number of the frame, which pages use in their replies.
        """
        with self._changed:
            self._seq += 1
            if self.alive:
                self._frame = (self._seq, frame)
                self._changed.notify_all()
            return self._seq

    def wait_until_sent(self, number: int) -> None:
        """Wait until a frame, or one that has replaced it, has been sent to the server.

        Args:
            number: Number returned by ``show``.

        Raises:
            InputError: The frame cannot be shown, or the server has ended.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self.alive or self._settled >= number)
            refused, problem = self._refused or (None, "")
            if refused != number and self._settled < number:
                refused, problem = number, "its server has ended"
        if refused == number:
            mend = "look in the scene for what brings the simulation there"
            raise InputError("viewer", f"frame {number}", problem, mend)

    def tell_loading(self, name: str | None, problem: str | None = None) -> None:
        """Tell all pages what is being loaded, None for nothing any more, and why it could not be."""
        self._tell_all({"type": "loading", "name": name, "problem": problem})

    def tell(self, text: str) -> None:
        """Show all pages a line, for some seconds."""
        self._tell_all({"type": "told", "text": text})

    def _tell_all(self, message: dict[str, str | None]) -> None:
        with self._changed:
            if self.alive:
                self._outbox.append(wire.pack_json(Kind.NEWS, message))
                self._changed.notify_all()

    def let_go(self, staying: Collection[int] = ()) -> None:
        """End all pulls of pages, as they would, except of those whose numbers are given."""
        with self._changed:
            gone = [page for page in self._pulled if page not in staying]
            links = {link for page in gone for link in self._pulled.pop(page)}
        for link in sorted(links):
            with suppress(InputError):
                self.on_command(LetGo(link=link))

    def close(self) -> None:
        """Tell the pages that the simulation has ended, and end the server."""
        if self._process is None:
            return
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._end_process(_STOP_TIMEOUT)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(_STOP_TIMEOUT)

    def _end_process(self, timeout: float) -> None:
        assert self._process is not None
        try:
            self._link.shutdown(socket.SHUT_WR)
            self._process.wait(timeout)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()

    # --- the viewer's threads

    def _send(self) -> None:
        with suppress(OSError):  # ``_receive`` handles it
            while self.alive:
                self._link.sendall(self._next_message())

    def _next_message(self) -> bytes:
        """Wait for the next message to send; empty when the viewer is closed."""
        with self._changed:
            self._changed.wait_for(lambda: not self.alive or self._outbox or self._frame is not None)
            if self._outbox:
                return self._outbox.popleft()
            frame, self._frame = self._frame, None
        # Encode without the lock, because callers of ``show`` must not wait that long.
        return b"" if frame is None else self._encoded(*frame)

    def _encoded(self, seq: int, frame: ViewFrame) -> bytes:
        """The encoded message of a frame; empty if it cannot be encoded."""
        message, refused = b"", self._refused
        try:
            message = wire.pack_frame(seq, encode_frame(frame, seq))
        except Exception as error:
            # After any error, later frames are still sent, and callers that wait for this one get the error.
            if refused is None:
                logger.warning("viewer: the frame at %g s cannot be shown: %s", frame.time, error)
            refused = (seq, f"the frame at {frame.time:g} s cannot be shown: {error}")
        with self._changed:
            self._settled, self._refused = max(self._settled, seq), refused
            self._changed.notify_all()
        return message

    def _receive(self) -> None:
        with suppress(OSError):  # the connection is reset if the server has died
            while (message := wire.read_message(self._inbox)) is not None:
                self._take(*message)
        with self._changed:
            self._gone, self._watching = True, 0
            self._changed.notify_all()
        self.let_go()
        if not self._closing:
            logger.warning("viewer: its server has ended; the simulation goes on without pages")
            self._end_process(_STOP_TIMEOUT)

    def _take(self, kind: Kind, content: bytes) -> None:
        if kind is Kind.WATCHING:
            pages = loads(content)
            self._watching = len(pages)
            self.let_go(pages)
        elif kind is Kind.LOG:
            logger.warning("%s", loads(content))
        elif kind is Kind.COMMAND:
            page, text = wire.unpack_command(content)
            reason = self._obey(text, page)
            if reason is not None:
                with self._changed:
                    self._outbox.append(wire.pack_json(Kind.REJECTED, {"page": page, "reason": reason}))
                    self._changed.notify_all()

    def _obey(self, text: bytes, page: int) -> str | None:
        """Carry out a command of a page; returns the reason if it is impossible."""
        try:
            command = read_message(text, f"page {page}")
            assert not isinstance(command, Shown)
            self.on_command(command)
            self._note_pull(page, command)
        except InputError as error:
            return str(error)
        except Exception as error:
            # An error must not end the thread that receives commands.
            logger.exception("viewer: a command has failed")
            return f"viewer: the command has failed: {error}"
        return None

    def _note_pull(self, page: int, command: Command) -> None:
        """Note what a page pulls, to let go of it when the page is gone."""
        with self._changed:
            if isinstance(command, Pull):
                self._pulled.setdefault(page, set()).add(command.link)
            elif isinstance(command, LetGo):
                self._pulled.get(page, set()).discard(command.link)


def _environment() -> dict[str, str]:
    """Environment of the server, in which it imports this installation of the package."""
    package = str(Path(hydro_sim_core.__file__).parents[1])
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([package, inherited] if inherited else [package])}


def _shown_host(host: str) -> str:
    """Host part of a URL that reaches ``host``."""
    if host in _EVERY_ADDRESS:
        host = _own_address(*_EVERY_ADDRESS[host])
    return f"[{host}]" if ":" in host else host


def _own_address(family: socket.AddressFamily, beyond: str) -> str:
    """This machine's address on its default route, for other devices; its host name if it has no route."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((beyond, _DISCARD))  # only looks up the route; sends nothing
        except OSError:
            return socket.gethostname()
        return str(probe.getsockname()[0])
