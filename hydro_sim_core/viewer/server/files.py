"""HTTP responses of the server: files by path from memory, and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from websockets.asyncio.server import ServerConnection
from websockets.datastructures import Headers, MultipleValuesError
from websockets.http11 import Request, Response

from hydro_sim_core.viewer.server.access import Access

PAGE_DIR = Path(__file__).parents[1] / "page"
SOCKET_PATH = "/ws"
_MESH_PATH = "/mesh/"
#: Suffixes of the files that a page loads; other files in its folder are for its developers.
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_TEXT = "text/plain; charset=utf-8"
_BINARY = "application/octet-stream"
_UNCHANGING = "private, max-age=31536000, immutable"
#: Security headers: the page loads from its own server only, and no other site may embed it.
_POLICY = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}


@dataclass(frozen=True)
class PageFile:
    """A file with its content type."""

    content_type: str
    data: bytes


def read_page_files(folder: Path = PAGE_DIR) -> dict[str, PageFile]:
    """Read all files that the page loads, by the path of their URL; the page itself is at ``/``."""
    files = {
        "/" + path.relative_to(folder).as_posix(): PageFile(_TYPES[path.suffix], path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.suffix in _TYPES and path.is_file()
    }
    if "/index.html" in files:
        files["/"] = files["/index.html"]
    return files


class FileServer:
    """Answers HTTP requests.

    Args:
        files: Files as returned by ``read_page_files``.
        access: Access control.

    Attributes:
        meshes: Meshes of the scene by key.
    """

    def __init__(self, files: Mapping[str, PageFile], access: Access) -> None:
        self._files = files
        self._access = access
        self.meshes: Mapping[str, bytes] = {}

    def answer(self, connection: ServerConnection, request: Request) -> Response | None:
        """Answer a request; None accepts the opening of a WebSocket."""
        path, _, query = request.path.partition("?")
        try:
            host = request.headers.get("Host")
        except MultipleValuesError:
            host = None
        if host is None or not self._access.is_own_host(host):
            return _refusal(HTTPStatus.MISDIRECTED_REQUEST, "this server has another name")
        if not self._access.is_own_origin(request.headers.get_all("Origin"), host):
            return _refusal(HTTPStatus.FORBIDDEN, "pages of other sites have no access")
        known = self._access.is_known(query, request.headers.get_all("Cookie"))
        if not known and not (path == "/" and self._access.takes_ticket(query)):
            return _refusal(
                HTTPStatus.FORBIDDEN, "open the address with the token that the simulation printed"
            )
        if getattr(request, "method", "GET") != "GET":
            return _refusal(HTTPStatus.METHOD_NOT_ALLOWED, "only GET is answered")
        if path == SOCKET_PATH:
            return None
        return self._file(path, host)

    def _file(self, path: str, host: str) -> Response:
        if path.startswith(_MESH_PATH):
            mesh = self.meshes.get(path.removeprefix(_MESH_PATH))
            if mesh is None:
                return _refusal(HTTPStatus.NOT_FOUND, "no such mesh")
            return _response(HTTPStatus.OK, _BINARY, mesh, {"Cache-Control": _UNCHANGING})
        file = self._files.get(path)
        if file is None:
            return _refusal(HTTPStatus.NOT_FOUND, "no such page")
        headers = {"Cache-Control": "no-cache", "Content-Security-Policy": _content_policy(host)}
        if path == "/" and self._access.token is not None:
            headers["Set-Cookie"] = self._access.set_cookie
        return _response(HTTPStatus.OK, file.content_type, file.data, headers)


def too_many_viewers() -> Response:
    """Response that refuses another page."""
    return _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too many viewers; close another one")


def _content_policy(host: str) -> str:
    # Some browsers do not count a page's own WebSocket as 'self'.
    return (
        f"default-src 'self'; connect-src 'self' ws://{host}; object-src 'none'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    )


def _refusal(status: HTTPStatus, reason: str) -> Response:
    return _response(status, _TEXT, f"{reason}\n".encode(), {"Cache-Control": "no-store"})


def _response(status: HTTPStatus, content_type: str, data: bytes, headers: Mapping[str, str]) -> Response:
    sent = {
        "Connection": "close",
        "Content-Type": content_type,
        "Content-Length": str(len(data)),
        **_POLICY,
        **headers,
    }
    return Response(status.value, status.phrase, Headers(sent), data)
