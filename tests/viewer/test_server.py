"""What pages get, and that no page costs another anything."""

import socket
import struct

import pytest
from websockets.exceptions import InvalidStatus

from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions
from support.viewer.pages import address, get, make_frame, make_scene, open_page, opening, wait_until


def test_a_page_gets_the_scene_and_then_the_newest_frame(viewer):
    scene = make_scene("first")
    viewer.show_scene(scene)
    seq = viewer.show(make_frame(7))
    with open_page(viewer) as page:
        frame = page.wait_for_frame(lambda frame: frame["seq"] == seq)
        assert [told["key"] for told in page.scenes][-1] == scene.as_json()["key"]
        assert (frame["step"], frame["time"]) == (7, pytest.approx(7e-3))


def test_meshes_of_the_scene_are_served_and_those_before_are_not(viewer):
    scene = make_scene("with a mesh")
    viewer.show_scene(scene)
    with open_page(viewer) as page:
        page.wait_for(lambda: page.scenes and page.scenes[-1]["name"] == "with a mesh")
        (visual,) = page.scenes[-1]["visuals"]
        status, headers, body = get(viewer, visual["mesh"])
        assert (status, body) == (200, scene.meshes[visual["mesh"].removeprefix("/mesh/")])
        assert headers["Content-Type"] == "application/octet-stream"
    assert get(viewer, "/mesh/" + 40 * "0")[0] == 404


def test_a_new_scene_comes_before_its_frames(viewer):
    with open_page(viewer) as page:
        viewer.show(make_frame(1))
        viewer.show_scene(make_scene("second"))
        seq = viewer.show(make_frame(2))
        page.wait_for(lambda: page.frames and page.frames[-1]["seq"] == seq)
        assert page.scenes[-1]["name"] == "second"
        assert page.frames[-1]["step"] == 2


def test_everybody_sees_the_same_and_how_many_there_are(viewer):
    with open_page(viewer) as first, open_page(viewer) as second, open_page(viewer) as third:
        wait_until(lambda: viewer.watching == 3)
        seq = viewer.show(make_frame(3))
        for page in (first, second, third):
            assert page.wait_for_frame(lambda frame: frame["seq"] == seq)["step"] == 3
        first.wait_for(lambda: first.statuses[-1]["viewers"] == 3)
    wait_until(lambda: viewer.watching == 0)


def test_a_page_that_shows_nothing_gets_two_frames_and_later_the_newest(viewer):
    """It drops frames instead of queueing them, and nobody else notices."""
    viewer.show_scene(make_scene())
    with open_page(viewer) as quick, open_page(viewer) as slow:
        for step in range(30):
            seq = viewer.show(make_frame(step))
            quick.wait_for_frame(lambda frame, seq=seq: frame["seq"] == seq)
        # Whatever the server has sent the slow page lies before the answer to this.
        slow.send(type="nonsense")
        slow.wait_for(lambda: slow.rejections, acknowledge=False)
        assert len(slow.frames) == 2
        slow.shown()
        slow.wait_for(lambda: len(slow.frames) == 3)
        assert slow.frames[-1]["seq"] == seq
        # Its charts need the numbers of the others all the same, once and in order.
        numbers = [header["seq"] for header in (*slow.frames[:2], *slow.missed, slow.frames[-1])]
        assert numbers == list(range(numbers[0], seq + 1))
        assert quick.missed == []


def test_a_page_that_stops_reading_holds_nobody_up(viewer):
    """Its connection is full with a frame of 64 000 faces; the others get a hundred more."""
    viewer.show_scene(make_scene())
    viewer.show(make_frame(0, num_faces=64_000))
    stalled = socket.create_connection(address(viewer))
    stalled.sendall(opening(viewer))
    wait_until(lambda: viewer.watching == 1)
    with stalled, open_page(viewer) as page:
        for step in range(100):
            seq = viewer.show(make_frame(step))
            assert page.wait_for_frame(lambda frame, seq=seq: frame["seq"] == seq)["step"] == step
    wait_until(lambda: viewer.watching == 0)


def test_acknowledging_frames_that_never_were_changes_nothing(viewer):
    viewer.show_scene(make_scene())
    with open_page(viewer) as page:
        page.send(type="shown", seq=2**53)
        page.send(type="shown", seq=0)
        seq = viewer.show(make_frame(1))
        assert page.wait_for_frame(lambda frame: frame["seq"] == seq)["step"] == 1
        assert page.rejections == []


def test_more_pages_than_allowed_are_turned_away_until_one_leaves():
    small = Viewer(ViewerOptions(port=0, max_viewers=2))
    small.start()
    try:
        with open_page(small):
            with open_page(small):
                with pytest.raises(InvalidStatus) as caught, open_page(small):
                    pass
                assert caught.value.response.status_code == 503
            wait_until(lambda: small.watching == 1)
            with open_page(small) as page:
                page.wait_for(lambda: page.statuses[-1]["viewers"] == 2)
    finally:
        small.close()


def test_half_a_request_and_garbage_are_no_harm(viewer):
    garbage = [
        b"GET /",
        b"\0\xff" * 100,
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET " + 20_000 * b"a",
        struct.pack("<Q", 7),
    ]
    sockets = [socket.create_connection(address(viewer)) for _ in garbage]
    for peer, data in zip(sockets, garbage, strict=True):
        peer.sendall(data)
    viewer.show_scene(make_scene("unharmed"))
    with open_page(viewer) as page:
        page.wait_for(lambda: page.scenes and page.scenes[-1]["name"] == "unharmed")
    for peer in sockets:
        peer.close()
