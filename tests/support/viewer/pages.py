"""Pages without a browser: what a browser sends to the server, and what it takes from it."""

from __future__ import annotations

import http.client
import json
import struct
import time
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import numpy as np
from websockets.sync.client import connect

from hydro_sim_core.drawing.patch_surface import PatchFaces
from hydro_sim_core.drawing.pressure_scale import PressureScale
from hydro_sim_core.viewer.frame import ViewFrame, ViewPatch
from hydro_sim_core.viewer.meshes import encode_mesh
from hydro_sim_core.viewer.scene import ViewScene, ViewVisual

#: Longest wait for what must come, s; busy machines are slow.
PATIENCE = 20.0
IDENTITY = tuple(np.eye(4).ravel())


def header_of(data):
    """Header of a frame."""
    (length,) = struct.unpack_from("<I", data)
    return json.loads(data[4 : 4 + length])


class Page:
    """A connected page; frames are acknowledged by whoever calls ``shown``."""

    def __init__(self, socket):
        self.socket = socket
        self.scenes, self.frames, self.missed, self.rejections, self.statuses = [], [], [], [], []
        self.loadings, self.told = [], []

    def send(self, **message):
        self.socket.send(json.dumps(message))

    def shown(self):
        """Acknowledge all frames so far."""
        self.send(type="shown", seq=self.frames[-1]["seq"])

    def take(self, timeout=PATIENCE):
        """Take in one message."""
        message = self.socket.recv(timeout=timeout)
        if isinstance(message, bytes):
            self.frames.append(header_of(message))
            return
        content = json.loads(message)
        if content["type"] == "missed":
            self.missed += content["frames"]
            return
        kinds = {
            "scene": self.scenes,
            "rejected": self.rejections,
            "status": self.statuses,
            "loading": self.loadings,
            "told": self.told,
        }
        kinds[content["type"]].append(content)

    def wait_for(self, condition, acknowledge=True):
        """Take in messages until the condition holds."""
        until = time.monotonic() + PATIENCE
        while not condition():
            frames = len(self.frames)
            self.take(until - time.monotonic())
            if acknowledge and len(self.frames) > frames:
                self.shown()

    def wait_for_frame(self, condition=lambda frame: True):
        """Wait for a frame, acknowledging all; the frame."""
        seen = len(self.frames)
        self.wait_for(lambda: len(self.frames) > seen and condition(self.frames[-1]))
        return self.frames[-1]


def address(viewer):
    """Host and port of a viewer."""
    parts = urlsplit(viewer.url)
    return parts.hostname, parts.port


def cookies(viewer):
    """What a browser that has opened the viewer's address sends with every further request."""
    token = parse_qs(urlsplit(viewer.url).query).get("token")
    return {"Cookie": f"hydro_sim_{address(viewer)[1]}={token[0]}"} if token else {}


def opening(viewer):
    """The request that opens a WebSocket, for sockets that then do as they like."""
    lines = [
        "GET /ws HTTP/1.1",
        "Host: {}:{}".format(*address(viewer)),
        *(f"{name}: {value}" for name, value in cookies(viewer).items()),
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
    ]
    return "\r\n".join([*lines, "\r\n"]).encode()


@contextmanager
def open_page(viewer, **options):
    """A page that has got its scene, if there is one, and knows that it is counted."""
    host, port = address(viewer)
    options = {"additional_headers": cookies(viewer), "max_size": None, "max_queue": 1024, **options}
    with connect(f"ws://{host}:{port}/ws", **options) as socket:
        page = Page(socket)
        page.wait_for(lambda: page.statuses)
        yield page


def get(viewer, path, **headers):
    """Status, headers and body of the answer to a request, its path sent as it is.

    It comes from a browser that has opened the viewer's address, unless it has a ``Cookie`` of its own.
    """
    headers = {**cookies(viewer), **headers}
    connection = http.client.HTTPConnection(*address(viewer), timeout=PATIENCE)
    connection._validate_path = lambda path: None  # hostile ones too
    try:
        connection.putrequest("GET", path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def wait_until(condition):
    """Wait for what another thread or process brings about."""
    until = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(0.005)


def make_scene(name="test", scale=20e3):
    """A scene of one box."""
    vertices = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
    mesh = encode_mesh(vertices, np.array([[0, 1, 2]]))
    visual = ViewVisual(1, mesh.key, IDENTITY, (1.0, 0.0, 0.0, 1.0))
    return ViewScene(name, ("world", "box"), (visual,), {mesh.key: mesh.data}, PressureScale(scale))


def make_frame(step=0, num_faces=0):
    """A frame of that scene, with a patch of quadrilaterals."""
    faces = PatchFaces(np.zeros((4 * num_faces, 3)), np.ones(4 * num_faces), np.full(num_faces, 4))
    patch = ViewPatch("box", "world", faces, *np.zeros((3, 3)), 1e-4, 1.0)
    return ViewFrame(
        time=1e-3 * step,
        step=step,
        epoch=0,
        poses=np.tile(np.eye(4), (2, 1, 1)),
        joint_positions=np.zeros(0),
        patches=(patch,) if num_faces else (),
    )
