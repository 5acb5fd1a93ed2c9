"""Topics of a Soft-bubble finger as the punyo sensor kit names them, for tactile programs made for the real one."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import Float32MultiArray, MultiArrayDimension

from hydro_sim.parameters import Parameters
from hydro_sim_core.contact import ContactPatch
from hydro_sim_core.description.names import did_you_mean
from hydro_sim_core.description.spec import CollisionSpec
from hydro_sim_core.errors import InputError
from hydro_sim_core.messages.state import split_time
from hydro_sim_core.sensors import BubbleCamera, EllipsoidCap, PinholeCamera
from hydro_sim_core.simulation import Snapshot, World

Array = NDArray[np.float64]
_SOURCE = "parameters"
_LARGEST_IMAGE = 4096
_WRENCH_SIZE = 7  # what the kit's node sends: force, torque, and a magnitude to scale arrows by


class BubbleView:
    """``bubble_N/depth/...``, ``bubble_N/contact_pressure/...`` and ``bubble_N/force`` of one bubble.

    Args:
        node: Owner of the publishers.
        number: N.
        link: The finger.
        frame: Its camera's frame.
        world: Asked for the finger's shape.
        parameters: Size of the membrane and of the images.

    Raises:
        InputError: The link or the frame is not in the scene, the finger has no ellipsoid, or the camera sees none of
            the membrane or does not move with it.
    """

    def __init__(
        self, node: Node, number: int, link: str, frame: str, world: World, parameters: Parameters
    ) -> None:
        self._link, self._frame = link, frame
        self._camera, self._geometry = _make_camera(link, frame, world, parameters)
        self._in_mm = parameters.bubble_depth_encoding == "16UC1"

        def create(message_type: type, topic: str) -> Any:
            return node.create_publisher(message_type, f"bubble_{number}/{topic}", 5)

        self._depth = create(Image, "depth/image_rect_raw")
        self._info = create(CameraInfo, "depth/camera_info")
        self._pressure = create(Image, "contact_pressure/image_rect_raw")
        self._force = create(Float32MultiArray, "force")
        camera = self._camera.camera
        self._info_message = _camera_info(camera, frame)
        self._depth_message = _image(camera, frame, parameters.bubble_depth_encoding)
        self._pressure_message = _image(camera, frame, "32FC1")

    def publish(self, snapshot: Snapshot) -> None:
        """Publish what someone listens to; nothing while the finger is deleted."""
        if self._link not in snapshot.frames:
            return
        stamp = Time(**dict(zip(("sec", "nanosec"), split_time(snapshot.time), strict=True)))
        X_WC = snapshot.frames[self._frame]
        if self._info.get_subscription_count():
            self._info_message.header.stamp = stamp
            self._info.publish(self._info_message)
        if self._depth.get_subscription_count() or self._pressure.get_subscription_count():
            images = self._camera.draw([patch.faces for patch in self._patches(snapshot)], X_WC)
            depth = depth_in_mm(images.depth) if self._in_mm else images.depth.astype(np.float32)
            _publish_image(self._depth, self._depth_message, depth, stamp)
            _publish_image(self._pressure, self._pressure_message, images.pressure.astype(np.float32), stamp)
        if self._force.get_subscription_count():
            self._force.publish(shear_message(self.shear(snapshot)))

    def shear(self, snapshot: Snapshot) -> Array:
        """Contact force on the membrane along the plane of its rim, N: (2,), to the right and down in the image."""
        force = np.zeros(3)
        for patch in self._patches(snapshot):
            force += patch.force_on_b if patch.name_b == self._link else -patch.force_on_b
        return self._camera.shear(force, snapshot.frames[self._frame])

    def _patches(self, snapshot: Snapshot) -> list[ContactPatch]:
        bubble = (self._link, self._geometry)
        return [
            patch
            for patch in snapshot.contacts
            if bubble in ((patch.name_a, patch.geometry_a), (patch.name_b, patch.geometry_b))
        ]


def bubble_views(node: Node, world: World, parameters: Parameters) -> list[BubbleView]:
    """A view of every bubble that the parameters name.

    Raises:
        InputError: They do not fit the scene or each other.
    """
    bubbles = [name for name in parameters.bubbles if name]
    cameras = [name for name in parameters.bubble_cameras if name]
    if len(bubbles) != len(cameras):
        problem = f"{len(cameras)} cameras for {len(bubbles)} bubbles"
        raise InputError(_SOURCE, "bubble_cameras", problem, "name one camera frame for every bubble")
    return [
        BubbleView(node, number, link, frame, world, parameters)
        for number, (link, frame) in enumerate(zip(bubbles, cameras, strict=True), start=1)
    ]


def _make_camera(link: str, frame: str, world: World, parameters: Parameters) -> tuple[BubbleCamera, str]:
    """The camera and the name of the finger's ellipsoid."""
    for parameter, name in (("bubbles", link), ("bubble_cameras", frame)):
        if name not in world.frame_names:
            problem = f"link '{name}' is not in the scene"
            raise InputError(_SOURCE, parameter, problem, did_you_mean(name, world.frame_names))
    size = parameters.bubble_image_size
    if len(size) != 2 or not all(1 <= pixels <= _LARGEST_IMAGE for pixels in size):
        mend = f"give width and height, each from 1 to {_LARGEST_IMAGE}"
        raise InputError(_SOURCE, "bubble_image_size", f"{tuple(size)} is no size of an image", mend)
    bodies = world.built.assembly.link_body
    if bodies[world.frame_names.index(link)] != bodies[world.frame_names.index(frame)]:
        problem = f"'{frame}' does not move with '{link}'"
        raise InputError(
            _SOURCE, "bubble_cameras", problem, "name a frame that is fixed to the bubble's link"
        )

    collision = _ellipsoid_of(link, world)
    X_CL = np.linalg.inv(world.frame_pose(frame)) @ world.frame_pose(link)
    cap = EllipsoidCap(np.array(collision.shape.size), X_CL @ collision.X_LG, parameters.bubble_cap_height)
    camera = BubbleCamera(PinholeCamera(size[0], size[1], parameters.bubble_field_of_view), cap)
    if not np.isfinite(camera.rest_depth).any():
        problem = f"'{frame}' sees nothing of the membrane of '{link}'"
        raise InputError(
            _SOURCE, "bubble_cameras", problem, "turn the frame: z points from the camera to the membrane"
        )
    camera.draw([], np.eye(4))
    return camera, collision.name


def _ellipsoid_of(link: str, world: World) -> CollisionSpec:
    specs = (spec for robot in world.scene.robots for spec in robot.links if spec.name == link)
    ellipsoids = [c for spec in specs for c in spec.collisions if c.shape.kind == "ellipsoid"]
    if len(ellipsoids) != 1:
        problem = f"link '{link}' has {len(ellipsoids)} ellipsoids for collision"
        raise InputError(_SOURCE, "bubbles", problem, "name a link whose bubble is one ellipsoid")
    return ellipsoids[0]


def depth_in_mm(depth: Array) -> NDArray[np.uint16]:
    """Depth in m as whole mm, 0 where there is none, as depth cameras send it (REP 118)."""
    mm = np.where(np.isfinite(depth), np.rint(1e3 * depth), 0.0)
    return np.minimum(mm, np.iinfo(np.uint16).max).astype(np.uint16)


def shear_message(shear: Array) -> Float32MultiArray:
    """The seven numbers of the kit's node: force x, y, four zeros, and the size of the force."""
    values = np.zeros(_WRENCH_SIZE, dtype=np.float32)
    values[:2], values[-1] = shear, np.linalg.norm(shear)
    message = Float32MultiArray(data=array("f", values.tobytes()))
    message.layout.dim = [
        MultiArrayDimension(label="fx fy 0 0 0 0 f", size=_WRENCH_SIZE, stride=_WRENCH_SIZE)
    ]
    return message


def _camera_info(camera: PinholeCamera, frame: str) -> CameraInfo:
    f, (u, v) = float(camera.focal_length), map(float, camera.center)
    message = CameraInfo(width=camera.width, height=camera.height, distortion_model="plumb_bob", d=[0.0] * 5)
    message.header.frame_id = frame
    message.k = [f, 0.0, u, 0.0, f, v, 0.0, 0.0, 1.0]
    message.r = np.eye(3).ravel()
    message.p = [f, 0.0, u, 0.0, 0.0, f, v, 0.0, 0.0, 0.0, 1.0, 0.0]
    return message


def _image(camera: PinholeCamera, frame: str, encoding: str) -> Image:
    width = 2 if encoding == "16UC1" else 4  # bytes a pixel
    message = Image(width=camera.width, height=camera.height, encoding=encoding, step=width * camera.width)
    message.header.frame_id = frame
    return message


def _publish_image(publisher: Any, message: Image, pixels: NDArray[np.generic], stamp: Time) -> None:
    if publisher.get_subscription_count():
        message.header.stamp = stamp
        message.data = array("B", pixels.tobytes())
        publisher.publish(message)
