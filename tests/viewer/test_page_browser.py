"""The page in a real browser: what it shows of a running simulation, and what it commands."""

from __future__ import annotations

import time
from dataclasses import replace
from urllib.parse import urlsplit

import numpy as np
import pytest

import hydro_sim_core as hs
from hydro_sim_core.contact.laws import PRESSURE_FIELD
from hydro_sim_core.errors import InputError
from hydro_sim_core.simulation.world.snapshot import take_snapshot
from hydro_sim_core.viewer.commands import SetGrip
from hydro_sim_core.viewer.frame import frame_of_snapshot
from hydro_sim_core.viewer.scene import ViewScene, scene_of_world
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions
from support.viewer.browser import (
    MIDDLE,
    PHONE,
    SCALE,
    box,
    drawn_peak,
    is_visible,
    look,
    opened,
    pause,
    picture,
    places_on_scale,
    set_grip,
    show_patches_alone,
    text,
)
from support.viewer.pages import make_frame, make_scene, wait_until

LARGEST_PAGE = 5_000_000  # bytes


def test_robot_is_visible(browser, scripted, running):
    scene = scene_of_world(running.world, SCALE)
    empty = ViewScene("empty", scene.links, (), {}, SCALE, joints=scene.joints, grippers=scene.grippers)
    frame = frame_of_snapshot(running.runner.snapshot(), scene)
    scripted.show_scene(empty)
    scripted.show(frame)
    with opened(browser, f"{scripted.url}&view=iso") as page:
        without = picture(page)
        before = look(page, "scene")
        scripted.show_scene(scene)
        scripted.show(frame)
        wait_until(lambda: look(page, "scene") not in (None, before) and look(page, "seq") is not None)
        page.locator("[data-view=iso]").click()
        wait_until(lambda: (picture(page) != without).any(axis=2).mean() > 0.05)


def test_colours_tell_the_pressure(browser, simulation):
    with opened(browser, f"{simulation.viewer.url}&view=contact") as page:
        show_patches_alone(page)
        peaks = []
        for force in (3.0, 12.0):
            set_grip(page, force)
            wait_until(lambda force=force: abs(simulation.grip_force - force) < 0.2)
            pause(page, simulation)
            wait_until(lambda: (places_on_scale(picture(page)) >= 0).sum() > 500)
            true_peak = max(patch.pressures.max() for patch in simulation.runner.snapshot().contacts)
            peaks.append(drawn_peak(page))
            # Corners have more pressure than the middles of faces.
            assert peaks[-1] > 255 * true_peak / SCALE.maximum - 12
            simulation.runner.resume()
        assert peaks[1] > peaks[0] + 40


def test_edges_of_a_body_before_a_patch_are_drawn_over_it(browser, scripted):
    """The walls of a mug stand before the middle of the disc on which it stands; the faces keep their colours."""
    world = hs.load_scene("mug_on_plate")
    world.step(50)
    scene = scene_of_world(world, SCALE)
    scripted.show_scene(scene)
    scripted.show(frame_of_snapshot(take_snapshot(world, epoch=0), scene))
    with opened(browser, f"{scripted.url}&view=iso") as page:
        show_patches_alone(page)

        def edges_are_over_the_disc():
            pixels = picture(page)
            coloured = places_on_scale(pixels) >= 0
            within = np.logical_or.accumulate(coloured, axis=1)
            within &= np.logical_or.accumulate(coloured[:, ::-1], axis=1)[:, ::-1]
            return coloured.sum() > 30_000 and (within & ~coloured).sum() > 2_500

        wait_until(edges_are_over_the_disc)


def test_an_equivalent_point_and_the_hull_of_its_patch_are_drawn(browser, scripted):
    """The dot goes with the faces and the hull with the edges; under another law the same patch has neither."""
    world = hs.load_scene("ecp_t_bar")
    world.step(2)
    scene = scene_of_world(world, SCALE)
    frame = frame_of_snapshot(take_snapshot(world, epoch=0), scene)
    (patch,) = frame.patches
    other = replace(frame, patches=(replace(patch, law=PRESSURE_FIELD),))
    scripted.show_scene(scene)
    scripted.show(frame)
    with opened(browser, f"{scripted.url}&view=top") as page:
        page.locator("#show-wrenches").uncheck()

        def drawn(shown, faces, edges):
            page.locator("#show-faces").set_checked(faces)
            page.locator("#show-edges").set_checked(edges)
            before = look(page, "seq")
            scripted.show(shown)
            wait_until(lambda: look(page, "seq") != before)
            return picture(page).astype(int)

        def differ(faces, edges):
            apart = np.abs(drawn(frame, faces, edges) - drawn(other, faces, edges)).max(axis=2) > 40
            return np.argwhere(apart)

        assert len(differ(faces=False, edges=False)) == 0
        dot, hull = differ(faces=True, edges=False), differ(faces=False, edges=True)
        # A dot of 13 px, and lines that go around the bar.
        assert 60 < len(dot) < 400
        assert np.ptp(dot, axis=0).max() <= 16
        assert np.ptp(hull, axis=0).min() > 100


def test_hovering_tells_the_pressure_that_the_colour_stands_for(browser, simulation):
    with opened(browser, f"{simulation.viewer.url}&view=contact") as page:
        show_patches_alone(page)
        wait_until(lambda: abs(simulation.grip_force - 5.0) < 0.2)
        pause(page, simulation)
        places = places_on_scale(picture(page))
        rows, columns = np.nonzero(places >= 0)
        for chosen in np.linspace(0.2, 0.8, 5):
            row, column = (int(index[int(chosen * len(rows))]) for index in (rows, columns))
            page.mouse.move(MIDDLE["x"] + column, MIDDLE["y"] + row)
            wait_until(lambda: is_visible(page, "#tooltip"))
            pressure = float(page.locator("#tooltip").get_attribute("data-pressure"))
            nearby = places[max(0, row - 1) : row + 2, max(0, column - 1) : column + 2]
            assert nearby[nearby >= 0].min() - 1 <= 256 * pressure / SCALE.maximum <= nearby.max() + 2
            assert "on spatula" in text(page, "#tooltip")
            page.mouse.move(5, 795)
            wait_until(lambda: not is_visible(page, "#tooltip"))


FOREARM = (465, 190)  # on the desktop's page, in the oblique view


def drag(mouse, by):
    """Move a pressed mouse at a hand's pace."""
    for step in range(10):
        mouse.move(FOREARM[0] + by[0] * step / 9, FOREARM[1] + by[1] * step / 9)
        time.sleep(0.02)


def test_ctrl_and_drag_pull_a_body_until_the_button_is_released(browser, simulation):
    """The spring is fastened where the pointer is, pulls in the plane of the screen, and the camera stays."""
    with opened(browser, f"{simulation.viewer.url}&view=iso") as page:
        before = picture(page, {"x": 300, "y": 600, "width": 200, "height": 150})  # the foot of the arm
        page.mouse.move(*FOREARM)
        page.keyboard.down("Control")
        page.mouse.down()
        wait_until(lambda: simulation.runner.snapshot().pulls)
        (grabbed,) = simulation.runner.snapshot().pulls
        X_WL = simulation.runner.snapshot().frames[grabbed.link]
        np.testing.assert_allclose(grabbed.target, grabbed.point_in_world(X_WL), atol=2e-3)
        drag(page.mouse, (90, -30))
        wait_until(lambda: "N" in text(page, ".label.pull"))
        wait_until(lambda: simulation.runner.snapshot().pulls[0].target != grabbed.target)
        (pulled,) = simulation.runner.snapshot().pulls
        assert (pulled.link, pulled.point) == (grabbed.link, grabbed.point)
        moved = np.subtract(pulled.target, grabbed.target)
        view = -np.array([0.62, -0.72, 0.36])
        assert np.linalg.norm(moved) > 0.03
        assert abs(moved @ view) < 1e-3 * np.linalg.norm(moved)
        page.mouse.up()
        page.keyboard.up("Control")
        wait_until(lambda: not simulation.runner.snapshot().pulls)
        wait_until(lambda: not page.locator(".label.pull").is_visible())
        after = picture(page, {"x": 300, "y": 600, "width": 200, "height": 150})
        # But for the shadow of the arm, which swings on, and is soft.
        assert (np.abs(after.astype(int) - before) > 16).mean() < 0.005


def test_the_tool_pulls_without_a_key_and_leaves_the_rest_to_the_camera(browser, simulation):
    with opened(browser, f"{simulation.viewer.url}&view=iso") as page:
        page.mouse.move(*FOREARM)
        page.mouse.down()
        drag(page.mouse, (30, 0))  # without the tool the camera turns
        page.mouse.up()
        assert simulation.commands == []
        page.locator("[data-view=iso]").click()
        page.locator("#pull").click()
        page.mouse.move(370, 600)  # the foot, which nothing moves
        page.mouse.down()
        page.mouse.move(380, 600)
        page.mouse.up()
        assert simulation.commands == []
        time.sleep(0.6)  # the camera's flight
        page.mouse.move(*FOREARM)
        wait_until(
            lambda: page.evaluate("getComputedStyle(document.getElementById('view')).cursor") == "grab"
        )
        page.mouse.down()
        wait_until(lambda: simulation.runner.snapshot().pulls)
        page.keyboard.press("Escape")
        wait_until(lambda: not simulation.runner.snapshot().pulls)
        page.mouse.up()


class TestDesktop:
    def test_dragged_slider_commands_at_most_20_times_a_second(self, desktop, simulation):
        slider = desktop.locator("#grip-section input[type=range]")
        wait_until(lambda: abs(simulation.grip_force - 5.0) < 0.2)
        wait_until(lambda: abs(float(slider.input_value()) - 5.0) < 0.5)
        box = slider.bounding_box()
        thumb = box["x"] + 8 + (box["width"] - 16) * 5.0 / 80.0
        height = box["y"] + box["height"] / 2
        desktop.mouse.move(thumb, height)
        desktop.mouse.down()
        for step in range(40):
            desktop.mouse.move(thumb + 0.3 * step, height)
            time.sleep(0.01)  # a hand's pace
        held = slider.input_value()
        wait_until(lambda: simulation.commands and simulation.commands[-1][1].force == float(held))
        frames = look(desktop, "seq")
        wait_until(lambda: look(desktop, "seq") > frames + 5)
        assert slider.input_value() == held
        desktop.mouse.up()
        wait_until(lambda: abs(simulation.grip_force - float(held)) < 0.2)

        times = np.array([at for at, _ in simulation.commands])
        assert all(isinstance(command, SetGrip) for _, command in simulation.commands)
        # The way to the simulation may bunch some; on the whole the rate holds.
        assert len(times) <= 20 * (times[-1] - times[0] + 0.25) + 2
        simulation.runner.submit(lambda world: world.set_gripper(force=2.0))
        wait_until(lambda: float(slider.input_value()) < 3.0)

    def test_joint_slider_moves_the_joint(self, desktop, simulation):
        desktop.locator("#joint-section input[type=range]").first.fill("0.2")
        wait_until(lambda: abs(simulation.runner.snapshot().joint_positions[0] - 0.2) < 0.02)

    def test_pause_and_step(self, desktop, simulation):
        pause(desktop, simulation)
        step = simulation.runner.snapshot().step
        wait_until(lambda: look(desktop, "fps") == 0.0)  # nothing is drawn while nothing changes
        desktop.locator("#step").click()
        wait_until(lambda: simulation.runner.snapshot().step == step + 1)
        wait_until(lambda: text(desktop, "#clock") == f"{simulation.runner.snapshot().time:.3f} s")
        desktop.locator("#reset").click()
        wait_until(lambda: text(desktop, "#clock") == "0.000 s")
        desktop.locator("#pause").click()
        wait_until(lambda: simulation.runner.snapshot().step > 1)

    def test_page_is_light(self, desktop):
        assert any("/mesh/" in asked for asked in desktop.asked)
        assert sum(len(answer.body()) for answer in desktop.answers) < LARGEST_PAGE

    def test_other_page_shows_the_same(self, browser, desktop, simulation):
        with opened(browser, simulation.viewer.url) as other:
            wait_until(lambda: simulation.viewer.watching == 2)
            pause(desktop, simulation)
            wait_until(lambda: text(other, "#clock") == text(desktop, "#clock"))
            wait_until(lambda: "paused" in text(other, "#state-text"))


def test_page_comes_back_with_the_simulation(browser):
    first = Viewer(ViewerOptions(port=0))
    first.start()
    port = urlsplit(first.url).port
    first.show_scene(make_scene("first"))
    first.show(make_frame(step=1))
    with opened(browser, first.url, loses_server=True) as page:
        page.evaluate("window.sameDocument = true")
        first.close()
        wait_until(lambda: look(page, "state") == "lost")
        assert is_visible(page, "#banner")
        second = Viewer(ViewerOptions(port=port))
        second.start()
        try:
            assert urlsplit(second.url).port == port
            second.show_scene(make_scene("second"))
            second.show(make_frame(step=7))
            wait_until(lambda: text(page, "#scene-name") == "second" and text(page, "#clock") == "0.007 s")
            assert look(page, "state") == "live"
            assert not is_visible(page, "#banner")
            assert page.evaluate("window.sameDocument")
        finally:
            second.close()


def test_page_says_that_the_next_simulation_has_another_token(browser):
    first = Viewer(ViewerOptions(port=0, token="first-token"))
    first.start()
    first.show_scene(make_scene())
    first.show(make_frame(step=1))
    with opened(browser, first.url, loses_server=True) as page:
        first.close()
        second = Viewer(ViewerOptions(port=urlsplit(first.url).port, token="second-token"))
        second.start()
        try:
            wait_until(lambda: "open the address" in text(page, "#banner"))
            time.sleep(1.0)
            assert look(page, "state") == "refused"
        finally:
            second.close()
        wait_until(lambda: look(page, "state") == "lost")


def test_reloading_without_the_token_in_the_address_works(browser, simulation):
    """The cookie of the first visit has it."""
    with opened(browser, simulation.viewer.url) as page:
        page.goto(simulation.viewer.url.partition("?")[0])
        wait_until(lambda: look(page, "seq") is not None)
        assert page.evaluate("document.cookie") == ""  # out of reach of scripts


def test_phone(browser, simulation):
    options = {"viewport": PHONE, "is_mobile": True, "has_touch": True, "device_scale_factor": 1}
    with opened(browser, simulation.viewer.url, **options) as page:
        assert page.evaluate("document.scrollingElement.scrollWidth") <= PHONE["width"]
        assert is_visible(page, "#legend")
        assert not is_visible(page, "#panel")
        page.locator("#drawer-handle").tap()
        wait_until(lambda: is_visible(page, "#grip-section"))
        wait_until(lambda: box(page, "#panel")["y"] + box(page, "#panel")["height"] <= PHONE["height"])
        handle, panel = box(page, "#drawer-handle"), box(page, "#panel")
        assert handle["y"] + handle["height"] <= panel["y"], "the button covers the panel"
        title = box(page, "#title")
        page.evaluate("document.querySelector('#title').style.visibility = 'hidden'")
        assert picture(page, clip=title).min() > 190, "the title covers more than the empty background"
        page.locator("#pause").tap()
        wait_until(lambda: simulation.runner.paused)
        page.locator("#drawer-handle").tap()
        wait_until(lambda: not is_visible(page, "#panel"))


def test_a_finger_pulls_with_the_tool(browser, simulation):
    options = {"viewport": PHONE, "is_mobile": True, "has_touch": True, "device_scale_factor": 1}
    with opened(browser, f"{simulation.viewer.url}&view=iso", **options) as page:
        page.locator("#pull").tap()
        fingers = page.context.new_cdp_session(page)

        def touch(kind, *place):
            points = [{"x": place[0], "y": place[1]}] if place else []
            fingers.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        touch("touchStart", 191, 258)  # the forearm
        wait_until(lambda: simulation.runner.snapshot().pulls)
        (grabbed,) = simulation.runner.snapshot().pulls
        touch("touchMove", 230, 230)
        wait_until(lambda: simulation.runner.snapshot().pulls[0].target != grabbed.target)
        wait_until(lambda: "N" in text(page, ".label.pull"))
        touch("touchEnd")
        wait_until(lambda: not simulation.runner.snapshot().pulls)


def test_refusal_is_told(browser, scripted):
    def refuse(command):
        raise InputError("viewer", "reset", "not now", "wait")

    scripted.on_command = refuse
    scripted.show_scene(make_scene())
    scripted.show(make_frame())
    with opened(browser, scripted.url) as page:
        page.locator("#reset").click()
        wait_until(lambda: page.locator(".toast").count() == 1)
        assert "not now" in text(page, ".toast")


def with_patches(frame, forces):
    """The frame with a patch for each ``(a, b, force on b)``."""
    (patch,) = make_frame(num_faces=1).patches
    patches = tuple(
        replace(patch, name_a=a, name_b=b, force_on_b=np.array(force, dtype=float)) for a, b, force in forces
    )
    return replace(frame, patches=patches)


def key_of_forces(page):
    """Name and newest value of each curve of contact force."""
    chart = page.locator("#chart-section figure").filter(has_text="Contact force, N")
    # At once: rows may be replaced while one looks at them one by one.
    lines = chart.locator(".key").inner_text().splitlines()
    return {name: float(value) for name, value in zip(lines[::2], lines[1::2], strict=True)}


def test_charts_tell_the_forces_of_pairs_also_of_a_recording_without_gripper(browser, scripted):
    recorded = replace(make_scene("recorded"), mode="replay", timeline=(0.0, 8.0))
    scripted.show_scene(recorded)
    forces = [("box", "floor", (3, 0, 1)), ("box", "floor", (0, 4, -1)), ("box", "wall", (0, 0, 2))]
    scripted.show(with_patches(make_frame(step=1), forces))
    with opened(browser, scripted.url) as page:
        wait_until(lambda: key_of_forces(page) == {"box on floor": 5.0, "box on wall": 2.0})
        assert "Grip force" not in text(page, "#chart-section")

        scripted.show(with_patches(make_frame(step=2), forces[:2]))
        wait_until(lambda: key_of_forces(page) == {"box on floor": 5.0, "box on wall": 0.0})
        # The wall no longer touches; only who remembers can still name it.
        page.locator("#theme").select_option("dark")
        assert key_of_forces(page) == {"box on floor": 5.0, "box on wall": 0.0}

        many = [("box", f"stone {i}", (0, 0, i)) for i in range(1, 10)]
        scripted.show(with_patches(make_frame(step=3), many))
        strongest = {f"box on stone {i}": float(i) for i in range(5, 10)}
        wait_until(lambda: key_of_forces(page) == {"box on floor": 0.0, **strongest})

        scripted.show(make_frame(step=0))  # back in time: what comes later is not known there
        wait_until(lambda: key_of_forces(page) == {})
        page.locator("#theme").select_option("light")
        scripted.show(with_patches(make_frame(step=1), forces))
        wait_until(lambda: key_of_forces(page) == {"box on floor": 5.0, "box on wall": 2.0})


def test_charts_know_the_frames_that_a_busy_page_did_not_draw(browser, scripted):
    """A loaded machine draws less than three frames a second; the curves had gaps wherever two were 0.4 s apart."""
    scripted.show_scene(make_scene())
    scripted.show(make_frame(step=0))
    times = [round(0.033 * number, 3) for number in range(40)]
    with opened(browser, scripted.url) as page:
        page.evaluate("setTimeout(() => { for (const end = Date.now() + 1500; Date.now() < end; ); }, 0)")
        for number in range(1, len(times)):
            scripted.wait_until_sent(scripted.show(make_frame(step=33 * number)))
            time.sleep(0.01)
        wait_until(lambda: text(page, "#clock") == f"{times[-1]:.3f} s")
        charted = look(page, "charted")
        assert charted["times"] == pytest.approx(times)
        assert None not in charted["values"]


def test_refused_speed_does_not_stay_shown(browser, scripted):
    asked = []

    def refuse(command):
        asked.append(command.factor)
        raise InputError("viewer", "speed", "not now", "wait")

    scripted.on_command = refuse
    scripted.show_scene(replace(make_scene(), takes_commands=True))
    scripted.show(make_frame())
    with opened(browser, scripted.url) as page:
        page.locator("#speed").select_option("2")
        wait_until(lambda: asked == [2.0] and page.locator(".toast").count() == 1)
        assert page.locator("#speed").input_value() == "1"
        scripted.show(replace(make_frame(step=1), speed=0.5))
        wait_until(lambda: page.locator("#speed").input_value() == "0.5")


def test_time_line_seeks(browser, scripted):
    sought = []

    def seek(command):
        sought.append(command)
        if command.type == "seek":
            scripted.show(replay_frame(command.time))

    def replay_frame(moment):
        values = {**vars(make_frame(step=round(1e3 * moment))), "timeline_time": moment, "paused": True}
        return type(make_frame())(**values)

    scene = make_scene("recorded")
    values = {**vars(scene), "mode": "replay", "timeline": (0.0, 8.0), "takes_commands": False}
    scripted.on_command = seek
    scripted.show_scene(ViewScene(**values))
    scripted.show(replay_frame(0.0))
    with opened(browser, scripted.url) as page:
        assert not is_visible(page, "#run-section")
        assert "as fast as possible" not in text(page, "#timeline select")
        page.locator("#timeline input").fill("6.5")
        wait_until(lambda: text(page, "#clock") == "6.500 s")
        assert text(page, "#timeline output") == "6.50 / 8.00 s"
        page.locator("#timeline button").click()
        wait_until(lambda: sought[-1].type == "pause" and sought[-1].paused is False)


def test_time_line_marks_what_is_missing(browser, scripted):
    scripted.show_scene(replace(make_scene("torn"), mode="replay", timeline=(1.0, 9.0), gaps=((2.0, 4.0),)))
    scripted.show(replace(make_frame(step=2500), timeline_time=2.5, paused=True))
    with opened(browser, scripted.url) as page:
        wait_until(lambda: text(page, "#timeline output") == "1.50 / 8.00 s, missing")
        mark = page.locator("#timeline .gaps span")
        assert mark.get_attribute("title") == "damaged: 1.00 to 3.00 s are missing"
        share = mark.bounding_box()["width"] / page.locator("#timeline .line").bounding_box()["width"]
        assert share == pytest.approx(0.25, abs=0.01)


def test_picture_has_only_scene_legend_and_time(browser, simulation):
    with opened(browser, f"{simulation.viewer.url}&still&view=contact") as page:
        for shown in ("#legend", "#clock", "#view"):
            assert is_visible(page, shown)
        for hidden in ("#panel", "#cameras", "#scene-name", "#drawer-handle"):
            assert not is_visible(page, hidden)
        assert "kPa" in text(page, "#legend")
