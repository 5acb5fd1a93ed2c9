"""What pages may load: a list of names, one at a time, and whatever goes wrong leaves it open."""

import threading
from pathlib import Path

import pytest

from hydro_sim_core.assets import shipped_scenes
from hydro_sim_core.errors import InputError
from hydro_sim_core.viewer.choices import Choice, Chooser, scene_choices
from support.viewer.pages import wait_until

CHOICES = [Choice("one", "Scenes", Path("one.yaml")), Choice("two", "Scenes", Path("two.yaml"))]


def test_shipped_scenes_are_listed_once():
    shipped = shipped_scenes()
    for scene in (shipped["drop_box"], Path("drop_box"), Path("robot.urdf")):
        assert {choice.name: choice.path for choice in scene_choices(scene)} == shipped


def test_files_of_the_folder_have_names_of_their_own(tmp_path):
    """Also where one is called like a shipped scene. Folders and names that would spoil a terminal are left out."""
    for name in ("drop_box.yaml", "mine.yml", "a\x1b[31m.yaml", "notes.txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder.yaml").mkdir()
    listed = [choice for choice in scene_choices(tmp_path / "mine.yml") if choice.group != "Shipped scenes"]
    assert [choice.name for choice in listed] == ["drop_box.yaml", "mine.yml"]
    assert [choice.path for choice in listed] == [tmp_path / "drop_box.yaml", tmp_path / "mine.yml"]


def test_a_folder_that_cannot_be_listed_is_left_out(tmp_path):
    assert {choice.group for choice in scene_choices(tmp_path / "gone" / "x.yaml")} == {"Shipped scenes"}


@pytest.mark.parametrize(
    ("failure", "problem"),
    [
        (None, None),
        (InputError("one.yaml", "models", "is missing", "add it"), "one.yaml: models: is missing; add it"),
        (ZeroDivisionError("oh"), "viewer: 'one' could not be loaded: oh"),
    ],
)
def test_a_choice_ends_and_the_next_may_begin(failure, problem):
    told, loaded, may_end = [], [], threading.Event()

    def carry_out(choice):
        may_end.wait(20.0)
        if failure is not None:
            raise failure
        loaded.append(choice.name)

    chooser = Chooser(CHOICES, carry_out, lambda name, problem: told.append((name, problem)))
    chooser.choose("one")
    with pytest.raises(InputError, match="'one' is being loaded"):
        chooser.choose("two")
    with pytest.raises(InputError, match="is not in the list; did you mean 'two'"):
        chooser.choose("twoo")
    may_end.set()
    wait_until(lambda: len(told) == 2)
    assert told == [("one", None), (None, problem)]
    assert loaded == ([] if failure else ["one"])
    chooser.choose("two")
    wait_until(lambda: len(told) == 4)
