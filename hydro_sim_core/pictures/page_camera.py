"""Pictures of the viewer's page, one frame after the other, in a headless browser."""

from __future__ import annotations

import base64
import json
import secrets
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urlencode

from hydro_sim_core.errors import InputError
from hydro_sim_core.pictures.browser import open_browser
from hydro_sim_core.viewer.frame import ViewFrame
from hydro_sim_core.viewer.scene import ViewScene
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions

if TYPE_CHECKING:
    from playwright.sync_api import CDPSession, Page

#: Named views of the page's camera.
CameraName = Literal["iso", "front", "side", "top", "contact"]

#: Timeout of a frame, s: a frame takes a fraction of a second, but machines may be busy.
_FRAME_TIMEOUT = 120.0
_SHOWN = "number => window.hydroSim && window.hydroSim.seq !== null && window.hydroSim.seq >= number"


#: Limits of a picture's width and height, pixels.
LEAST_SIDE, LARGEST_SIDE = 64, 4096


class PictureSize(NamedTuple):
    """Size of a picture, pixels."""

    width: int = 1280
    height: int = 720


class PageCamera:
    """Takes pictures of the viewer's page without its controls. A context manager, for one thread.

    Args:
        size: Size of the pictures.
        view: View of the camera; ``contact`` faces the contacts of the first frame that has any.
        links: Links that fill the other views where they are in the first frame; by default all that is near.
        solid: Whether bodies hide their contacts.

    Raises:
        InputError: On entering: there is no browser.
    """

    def __init__(
        self, size: PictureSize, view: CameraName, links: Sequence[str] = (), solid: bool = False
    ) -> None:
        self._size = size
        self._query = urlencode(
            {"view": view, "bodies": "solid" if solid else "contact", "links": json.dumps(list(links))}
        )
        self._scene: ViewScene | None = None
        self._page: Page | None = None

    def __enter__(self) -> PageCamera:
        with ExitStack() as stack:
            self._browser = stack.enter_context(open_browser())
            self._viewer = Viewer(ViewerOptions(port=0, token=secrets.token_urlsafe()))
            self._viewer.start()
            stack.callback(self._viewer.close)
            self._ending = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.close()

    def picture(self, scene: ViewScene, frame: ViewFrame) -> bytes:
        """Take a picture of a frame, as PNG.

        Args:
            scene: The scene; the same object as long as it stays the same.
            frame: One of its frames.

        Raises:
            InputError: The frame cannot be shown, or the page does not draw.
        """
        from playwright.sync_api import Error

        if scene is not self._scene:
            self._viewer.show_scene(scene)
            self._scene = scene
        number = self._viewer.show(frame)
        self._viewer.wait_until_sent(number)
        try:
            page, session = self._open_page()
            page.wait_for_function(_SHOWN, arg=number, timeout=1e3 * _FRAME_TIMEOUT)
            # Takes half the time of Playwright's own screenshots, for the same pixels.
            shot = session.send("Page.captureScreenshot", {"format": "png", "optimizeForSpeed": True})
        except Error as error:
            problem = f"the page was not drawn: {error.message.splitlines()[0]}"
            raise InputError(
                "pictures", "browser", problem, "try a smaller picture, or another browser"
            ) from None
        return base64.b64decode(shot["data"])

    def _open_page(self) -> tuple[Page, CDPSession]:
        """Open the page, at the first picture, so that it finds its scene."""
        if self._page is None:
            self._page = self._browser.new_page(
                viewport={"width": self._size.width, "height": self._size.height}
            )
            self._session = self._page.context.new_cdp_session(self._page)
            self._page.goto(f"{self._viewer.url}&still&{self._query}")
        return self._page, self._session
