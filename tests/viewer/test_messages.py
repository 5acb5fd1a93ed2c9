"""What pages send wrong is refused in one line, and nothing else happens."""

import json
import logging
import math
import time

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings
from websockets.exceptions import ConnectionClosedError

from hydro_sim_core.errors import InputError
from hydro_sim_core.viewer.commands import (
    LetGo,
    Pause,
    Pull,
    SetGrip,
    SetJoint,
    SetSpeed,
    Shown,
    Step,
    read_message,
)
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions
from support.viewer.pages import address, make_frame, make_scene, open_page, wait_until

MALFORMED = [
    "",
    "x",
    "null",
    "[]",
    "7",
    '"pause"',
    "{}",
    "{",
    "{" * 1000,
    "[" * 4000,
    '{"type":"pause"}',
    '{"type":"pause","paused":1}',
    '{"type":"pause","paused":"true"}',
    '{"type":"pause","paused":true,"and":"more"}',
    '{"type":"paused","paused":true}',
    '{"type":["pause"],"paused":true}',
    '{"type":"step","steps":0}',
    '{"type":"step","steps":-1}',
    '{"type":"step","steps":1.5}',
    '{"type":"step","steps":1e9}',
    '{"type":"step","steps":' + 300 * "9" + "}",
    '{"type":"step","steps":true}',
    '{"type":"joint","name":"joint_1","position":NaN}',
    '{"type":"joint","name":"joint_1","position":-Infinity}',
    '{"type":"joint","name":"joint_1","position":1e999}',
    '{"type":"joint","name":"joint_1","position":' + 4000 * "9" + "}",
    '{"type":"joint","name":"joint_1","position":1e308}',
    '{"type":"joint","name":"joint_1","position":-9223372036854775808}',
    '{"type":"joint","name":"joint_1","position":1000.1}',
    '{"type":"joint","name":"joint_1","position":"0"}',
    '{"type":"joint","name":7,"position":0}',
    '{"type":"joint","name":"","position":0}',
    '{"type":"joint","name":"' + 300 * "j" + '","position":0}',
    '{"type":"joint","position":0}',
    '{"type":"grip","name":"gripper","force":null}',
    '{"type":"pull","link":"box","point":[0,0],"target":[0,0,0]}',
    '{"type":"pull","link":"box","point":[0,0,0],"target":[0,0,NaN]}',
    '{"type":"pull","link":"box","point":[0,0,1e999],"target":[0,0,0]}',
    '{"type":"pull","link":"box","point":[0,0,0],"target":[0,0,10001]}',
    '{"type":"pull","link":"box","point":[0,0,0],"target":["0",0,0]}',
    '{"type":"pull","link":"box","point":[0,0,0],"target":[0,0,0],"stiffness":1}',
    '{"type":"pull","point":[0,0,0],"target":[0,0,0]}',
    '{"type":"let_go"}',
    '{"type":"let_go","link":""}',
    '{"type":"speed"}',
    '{"type":"speed","factor":0}',
    '{"type":"speed","factor":-1}',
    '{"type":"speed","factor":NaN}',
    '{"type":"choose"}',
    '{"type":"choose","name":7}',
    '{"type":"choose","name":"' + 300 * "x" + '"}',
    '{"type":"choose","path":"/etc/passwd"}',
    '{"type":"seek","time":NaN}',
    '{"type":"reset","hard":true}',
    '{"type":"shown","seq":-1}',
    '{"type":"shown","seq":1e300}',
    '{"type":"shown","seq":NaN}',
    '{"__proto__":{"type":"reset"}}',
    '{"type":"reset\\u0000"}',
    '{"type":"\\ud800"}',
    '{"type":"pause","paused":true}{"type":"reset"}',
    '{"\\u001b[31m\\n":1,"type":"reset"}',
]


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_messages_are_refused_and_the_page_stays(viewer, text):
    viewer.commands.clear()
    with open_page(viewer) as page:
        page.socket.send(text)
        page.wait_for(lambda: page.rejections)
        reason = page.rejections[0]["reason"]
        assert reason.startswith("viewer: page ")
        assert reason.isprintable()
        assert len(reason) < 400
        page.send(type="step", steps=3)
        wait_until(lambda: viewer.commands)
    assert viewer.commands == [Step(steps=3)]


@pytest.mark.parametrize(
    ("message", "command"),
    [
        ({"type": "joint", "name": "joint_1", "position": 1}, SetJoint(name="joint_1", position=1.0)),
        ({"type": "grip", "name": "gripper", "force": 2.5}, SetGrip(name="gripper", force=2.5)),
        (
            {"type": "pull", "link": "box", "point": [0, 0.5, 1], "target": [1, -2, 3]},
            Pull(link="box", point=(0.0, 0.5, 1.0), target=(1.0, -2.0, 3.0)),
        ),
        ({"type": "let_go", "link": "box"}, LetGo(link="box")),
        ({"type": "pause", "paused": True}, Pause(paused=True)),
        ({"type": "speed", "factor": None}, SetSpeed(factor=None)),
        ({"type": "speed", "factor": 0.5}, SetSpeed(factor=0.5)),
    ],
)
def test_commands_arrive_as_they_were_sent(viewer, message, command):
    viewer.commands.clear()
    with open_page(viewer) as page:
        page.send(**message)
        wait_until(lambda: viewer.commands)
        assert viewer.commands == [command]
    if isinstance(command, Pull):  # whoever goes lets go, which the next one is not to hear
        wait_until(lambda: len(viewer.commands) == 2)


def test_binary_messages_are_refused(viewer):
    with open_page(viewer) as page:
        page.socket.send(b"\x00\x01")
        page.wait_for(lambda: page.rejections)
        assert "binary" in page.rejections[0]["reason"]


@pytest.mark.parametrize("size", [4097, 3_000_000])
def test_long_messages_end_the_connection_of_who_sends_them(viewer, size):
    with open_page(viewer) as other, open_page(viewer) as page:
        page.socket.send(size * "x")
        with pytest.raises(ConnectionClosedError) as caught:
            page.wait_for(lambda: page.rejections)
        assert caught.value.rcvd.code == 1009
        seq = viewer.show(make_frame(1))
        other.wait_for_frame(lambda frame: frame["seq"] == seq)


def test_text_that_is_none_ends_the_connection(viewer):
    with open_page(viewer) as page:
        page.socket.send(b"\xff\xfe{", text=True)
        with pytest.raises(ConnectionClosedError) as caught:
            page.wait_for(lambda: page.rejections)
        assert caught.value.rcvd.code == 1007


def test_a_flood_of_commands_is_read_no_faster_than_agreed(viewer):
    """240 at once: 120 are taken, the others at 120 a second; another page is obeyed meanwhile."""
    viewer.commands.clear()
    began = time.monotonic()
    with open_page(viewer) as page, open_page(viewer) as other:
        for _ in range(240):
            page.send(type="pause", paused=True)
        other.send(type="step", steps=5)
        wait_until(lambda: Step(steps=5) in viewer.commands)
        wait_until(lambda: len(viewer.commands) == 241)
        assert viewer.commands.index(Step(steps=5)) < 240
    assert time.monotonic() - began > 0.9


def test_the_log_has_one_line_for_many_mistakes(caplog):
    noisy = Viewer(ViewerOptions(port=0))
    noisy.start()
    try:
        with caplog.at_level(logging.WARNING), open_page(noisy) as page:
            for _ in range(20):
                page.socket.send("nonsense\n\x1b[2J")
            page.wait_for(lambda: len(page.rejections) >= 10)
            wait_until(lambda: caplog.records)
        (record,) = caplog.records
        assert record.getMessage().isprintable()
    finally:
        noisy.close()


def test_a_handler_that_fails_is_logged_and_the_next_command_obeyed(caplog):
    done = []

    def handle(command):
        if isinstance(command, Pause):
            raise RuntimeError("a mistake of ours")
        done.append(command)

    faulty = Viewer(ViewerOptions(port=0), on_command=handle)
    faulty.start()
    try:
        with open_page(faulty) as page:
            page.send(type="pause", paused=True)
            page.wait_for(lambda: page.rejections)
            assert "a mistake of ours" in page.rejections[0]["reason"]
            page.send(type="step", steps=1)
            wait_until(lambda: done)
    finally:
        faulty.close()
    assert any(record.exc_info for record in caplog.records)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
fields = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["joint", "grip", "pause", "step", "reset", "speed", "seek", "shown"])
        | json_values
    },
    optional=dict.fromkeys(
        ("name", "position", "force", "paused", "steps", "factor", "time", "seq"), json_values
    ),
)


@settings(max_examples=200)
@given(st.text(max_size=100) | json_values.map(json.dumps) | fields.map(json.dumps) | st.binary(max_size=50))
def test_whatever_is_sent_gives_finite_numbers_or_one_line(text):
    message = line = None
    try:
        message = read_message(text, "page 1")
    except InputError as error:
        line = str(error)
    if message is None:
        assert line.isprintable()
        return
    numbers = [value for value in message.model_dump().values() if isinstance(value, int | float)]
    assert all(math.isfinite(value) for value in numbers)
    assert not isinstance(message, Shown | Step) or all(isinstance(value, int) for value in numbers)


def test_the_viewer_is_well_after_all_that(viewer):
    viewer.show_scene(make_scene("well"))
    seq = viewer.show(make_frame(9))
    with open_page(viewer) as page:
        page.wait_for(lambda: page.scenes and page.frames and page.frames[-1]["seq"] == seq)
    assert viewer.alive
    assert address(viewer)
