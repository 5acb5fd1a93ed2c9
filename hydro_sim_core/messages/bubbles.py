"""Topics of a Soft-bubble finger under the names of the punyo sensor kit, for programs made for the real finger."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.spec import CollisionSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.cdr import CdrWriter
from hydro_sim_core.messages.state import split_time
from hydro_sim_core.messages.stream import Stream
from hydro_sim_core.messages.view import Bubble
from hydro_sim_core.sensors import BubbleCamera, BubbleImages, EllipsoidCap, PinholeCamera
from hydro_sim_core.simulation import Snapshot, World

Array = NDArray[np.float64]
_SOURCE = "parameters"
_LARGEST_IMAGE = 4096
_WRENCH_SIZE = 7  # as the kit's node sends it: force, torque, and a magnitude that scales arrows
_IMAGE, _CAMERA_INFO = "sensor_msgs/msg/Image", "sensor_msgs/msg/CameraInfo"


def bubble_streams(number: int, bubble: Bubble, world: World) -> Iterable[Stream]:
    """Streams ``bubble_N/…`` with depth, contact pressure and force of a finger, until the finger is deleted.

    Args:
        number: The number N of the bubble.
        bubble: The finger.
        world: World with the finger, which has its shape.

    Raises:
        InputError: The link or the frame is not in the scene, the finger has no ellipsoid, or the camera sees none of
            the membrane or does not move with it.
    """
    if bubble.link not in world.frame_names:
        return ()
    view = BubbleView(bubble, world)
    streams = {
        "depth/image_rect_raw": (_IMAGE, view.depth),
        "depth/camera_info": (_CAMERA_INFO, view.camera_info),
        "contact_pressure/image_rect_raw": (_IMAGE, view.pressure),
        "force": ("std_msgs/msg/Float32MultiArray", view.force),
    }
    return tuple(
        Stream(f"bubble_{number}/{topic}", type_name, partial(view.encode_if_there, encode))
        for topic, (type_name, encode) in streams.items()
    )


class BubbleView:
    """Draws the images of one bubble's camera, and encodes its messages.

    Args:
        bubble: The finger.
        world: World with the finger.

    Raises:
        InputError: As for ``make_camera``.
    """

    def __init__(self, bubble: Bubble, world: World) -> None:
        self._bubble = bubble
        self._camera, self._geometry = make_camera(bubble, world)
        self._drawn: tuple[Snapshot, BubbleImages] | None = None

    def encode_if_there(self, encode: Callable[[Snapshot], bytes], snapshot: Snapshot) -> bytes | None:
        """Encode a message; None if the finger is not in the snapshot's world."""
        return encode(snapshot) if self._bubble.link in snapshot.frames else None

    def depth(self, snapshot: Snapshot) -> bytes:
        """Depth image: distance of the membrane along the camera's z axis."""
        return self._image(snapshot, self._bubble.depth_encoding, self.depth_pixels(snapshot))

    def depth_pixels(self, snapshot: Snapshot) -> NDArray[np.generic]:
        """Pixels (height, width) of the depth image, as its message has them."""
        depth = self._images(snapshot).depth
        if self._bubble.depth_noise > 0.0:
            depth = depth + self._bubble.depth_noise * self._noise(snapshot.step)
        in_mm = self._bubble.depth_encoding == "16UC1"
        return depth_in_mm(depth) if in_mm else depth.astype(np.float32)

    def _noise(self, step: int) -> Array:
        """Noise (height, width) of the image of a step, of standard deviation 1, the same at every look."""
        width, height = self._bubble.image_size
        generator = np.random.default_rng(
            [self._bubble.noise_seed, zlib.crc32(self._bubble.link.encode()), step]
        )
        return generator.standard_normal((height, width))

    def pressure(self, snapshot: Snapshot) -> bytes:
        """Pressure image: contact pressure on the membrane, Pa."""
        return self._image(snapshot, "32FC1", self._images(snapshot).pressure.astype(np.float32))

    def camera_info(self, snapshot: Snapshot) -> bytes:
        """``CameraInfo`` of a pinhole camera without distortion."""
        camera = self._camera.camera
        f, (u, v) = float(camera.focal_length), map(float, camera.center)
        writer = self._begin(snapshot)
        writer.uint32(camera.height, camera.width)
        writer.string("plumb_bob")
        writer.rows(np.zeros(5))
        writer.float64(f, 0.0, u, 0.0, f, v, 0.0, 0.0, 1.0)
        writer.float64(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
        writer.float64(f, 0.0, u, 0.0, 0.0, f, v, 0.0, 0.0, 0.0, 1.0, 0.0)
        writer.uint32(0, 0)  # no binning
        writer.uint32(0, 0, 0, 0)  # all of the image
        writer.boolean(False)
        return writer.bytes()

    def force(self, snapshot: Snapshot) -> bytes:
        """The seven numbers of the kit's node: shear force x, y, four zeros, and its size, N."""
        values = np.zeros(_WRENCH_SIZE, dtype=np.float32)
        values[:2] = self.shear(snapshot)
        values[-1] = np.linalg.norm(values[:2])
        writer = CdrWriter()
        writer.uint32(1)  # number of dimensions
        writer.string("fx fy 0 0 0 0 f")
        writer.uint32(_WRENCH_SIZE, _WRENCH_SIZE, 0)  # its size and stride, and no offset
        writer.rows(values)
        return writer.bytes()

    def shear(self, snapshot: Snapshot) -> Array:
        """Contact force (2,) on the membrane in the plane of its rim, N: to the right and down in the image."""
        force = np.zeros(3)
        for patch in self._patches(snapshot):
            force += patch.force_on_b if patch.name_b == self._bubble.link else -patch.force_on_b
        return self._camera.shear(force, snapshot.frames[self._bubble.frame])

    def _begin(self, snapshot: Snapshot) -> CdrWriter:
        writer = CdrWriter()
        writer.header(self._bubble.frame, split_time(snapshot.time))
        return writer

    def _image(self, snapshot: Snapshot, encoding: str, pixels: NDArray[np.generic]) -> bytes:
        height, width = pixels.shape
        writer = self._begin(snapshot)
        writer.uint32(height, width)
        writer.string(encoding)
        writer.boolean(False)  # little-endian
        writer.uint32(width * pixels.itemsize)
        writer.rows(np.frombuffer(pixels.tobytes(), dtype=np.uint8))
        return writer.bytes()

    def _images(self, snapshot: Snapshot) -> BubbleImages:
        """Depth and pressure image, drawn once for both topics."""
        if self._drawn is None or self._drawn[0] is not snapshot:
            faces = [patch.faces for patch in self._patches(snapshot)]
            self._drawn = snapshot, self._camera.draw(faces, snapshot.frames[self._bubble.frame])
        return self._drawn[1]

    def _patches(self, snapshot: Snapshot) -> list[ContactPatch]:
        membrane = (self._bubble.link, self._geometry)
        return [
            patch
            for patch in snapshot.contacts
            if membrane in ((patch.name_a, patch.geometry_a), (patch.name_b, patch.geometry_b))
        ]


def make_camera(bubble: Bubble, world: World) -> tuple[BubbleCamera, str]:
    """The camera of a bubble and the name of the finger's ellipsoid.

    Raises:
        InputError: As for ``bubble_streams``, or the link is not in the scene.
    """
    for parameter, name in (("bubbles", bubble.link), ("bubble_cameras", bubble.frame)):
        if name not in world.frame_names:
            problem = f"link '{name}' is not in the scene"
            raise InputError(_SOURCE, parameter, problem, did_you_mean(name, world.frame_names))
    size = bubble.image_size
    if len(size) != 2 or not all(1 <= pixels <= _LARGEST_IMAGE for pixels in size):
        mend = f"give width and height, each from 1 to {_LARGEST_IMAGE}"
        raise InputError(_SOURCE, "bubble_image_size", f"{tuple(size)} is no size of an image", mend)
    bodies = world.built.assembly.link_body
    link, frame = world.frame_names.index(bubble.link), world.frame_names.index(bubble.frame)
    if bodies[link] != bodies[frame]:
        problem = f"'{bubble.frame}' does not move with '{bubble.link}'"
        raise InputError(
            _SOURCE, "bubble_cameras", problem, "name a frame that is fixed to the bubble's link"
        )

    collision = _ellipsoid_of(bubble.link, world)
    X_CL = np.linalg.inv(world.frame_pose(bubble.frame)) @ world.frame_pose(bubble.link)
    cap = EllipsoidCap(np.array(collision.shape.size), X_CL @ collision.X_LG, bubble.cap_height)
    camera = BubbleCamera(PinholeCamera(size[0], size[1], bubble.field_of_view), cap)
    if not np.isfinite(camera.rest_depth).any():
        problem = f"'{bubble.frame}' sees nothing of the membrane of '{bubble.link}'"
        raise InputError(
            _SOURCE, "bubble_cameras", problem, "turn the frame: z points from the camera to the membrane"
        )
    camera.draw([], np.eye(4))  # compiles before the first message
    return camera, collision.name


def _ellipsoid_of(link: str, world: World) -> CollisionSpec:
    specs = (spec for robot in world.scene.robots for spec in robot.links if spec.name == link)
    ellipsoids = [c for spec in specs for c in spec.collisions if c.shape.kind == "ellipsoid"]
    if len(ellipsoids) != 1:
        problem = f"link '{link}' has {len(ellipsoids)} ellipsoids for collision"
        raise InputError(_SOURCE, "bubbles", problem, "name a link whose bubble is one ellipsoid")
    return ellipsoids[0]


def depth_in_mm(depth: Array) -> NDArray[np.uint16]:
    """Convert depth in m to integer mm, 0 where there is none, as REP 118 asks of depth cameras."""
    mm = np.where(np.isfinite(depth), np.rint(1e3 * depth), 0.0)
    return np.minimum(mm, np.iinfo(np.uint16).max).astype(np.uint16)
