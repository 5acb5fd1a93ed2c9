"""Every command and every example of the pages runs as it is printed; those of most pages in full runs only."""

from __future__ import annotations

from importlib.util import find_spec

import pytest
from hypothesis import settings

from support.docs.blocks import PAGES, ROOT, blocks_of
from support.docs.run_blocks import Runner

WITH_BLOCKS = [page for page in PAGES if any(block.is_run for block in blocks_of(page))]
#: Commands of the others are tried by tests of their own, with other options; running them takes a tenth of all the
#: time of tests.
IN_EVERY_RUN = [ROOT / "README.md", ROOT / "docs" / "python.md"]


def pytest_generate_tests(metafunc):
    if "page" in metafunc.fixturenames:
        full = settings.get_current_profile_name() != "repeatable"
        pages = [page for page in WITH_BLOCKS if full or page in IN_EVERY_RUN]
        metafunc.parametrize("page", pages, ids=lambda page: str(page.relative_to(ROOT)))


def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    if page.stem == "contact_models" and find_spec("coal") is None:
        pytest.skip("coal is not installed: it needs NumPy 2")
    runner = Runner(tmp_path)
    monkeypatch.chdir(runner.folder)
    for block in blocks_of(page):
        runner.run(block)


def test_no_block_is_forgotten(record_property):
    """What is not run is marked, and listed at the end of the test run with its reason."""
    blocks = [block for page in PAGES for block in blocks_of(page)]
    forgotten = [str(block) for block in blocks if not block.is_accounted_for]
    assert not forgotten, f"run these, or say before them why not (decision 12): {', '.join(forgotten)}"
    for block in blocks:
        if block.mark == "not run":
            record_property("not run", f"{block}: {block.told}")


def _run(tmp_path, text):
    page = tmp_path / "page.md"
    page.write_text(text)
    runner = Runner(tmp_path)
    for block in blocks_of(page):
        runner.run(block)
    return runner.folder


def test_blocks_follow_each_other_and_leave_files(tmp_path, monkeypatch):
    """Indented and fenced, in lists too; names and files of one block are there in the next."""
    monkeypatch.chdir(tmp_path)
    folder = _run(
        tmp_path,
        "<!-- file: two.txt -->\n\n```xml\n<two/>\n```\n\n- in a list\n\n      cat two.txt > three.txt\n\n"
        "```python\nnumber = 4\n```\n\n```pycon\n>>> number + 1\n5\n>>> six = 6\n```\n\n"
        "```python\nassert six == 6\n```\n",
    )
    assert (folder / "three.txt").read_text() == "<two/>\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("    true\n    false\n    true\n", "page.md:1 ended with 1"),
        ("text\n\n```sh\nls nowhere | cat\n```\n", "page.md:4 ended with 2"),
        ("```pycon\n>>> 1 + 1\n3\n```\n", "Expected"),
        ("```pycon\n1 + 1\n```\n", "holds no command"),
        ("```python\nraise AssertionError('no')\n```\n", "no"),
        ("<!-- until: ready -->\n\n    echo done\n", "ended by itself"),
        (
            "<!-- until: ready -->\n\n    trap 'echo Traceback; exit 0' INT; echo ready; sleep 60 & wait\n",
            "in order",
        ),
        ("<!-- until: ready -->\n\n    trap 'exit 3' INT; echo ready; sleep 60 & wait\n", "ended with 3"),
    ],
)
def test_what_a_page_promises_wrongly_is_noticed(tmp_path, monkeypatch, text, complaint):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match=complaint):
        _run(tmp_path, text)


def test_ctrl_c_reaches_the_command(tmp_path):
    _run(
        tmp_path,
        "<!-- until: ready -->\n\n    trap 'echo bye > end; exit 0' INT; echo ready; sleep 60 & wait\n",
    )
    assert (tmp_path / "checkout" / "end").read_text() == "bye\n"


def test_a_forked_program_ends_and_heeds_ctrl_c_as_one_that_is_started(tmp_path):
    (tmp_path / "page.md").write_text(
        "    hydro-sim check nowhere.urdf > said 2>&1 || echo status $? > status\n\n"
        "<!-- until: until Ctrl-C -->\n\n    hydro-sim run drop_box --rate 1; echo and $? > end\n"
    )
    runner = Runner(tmp_path)
    failing, running = blocks_of(tmp_path / "page.md")
    runner.run(failing)
    assert (runner.folder / "status").read_text() == "status 1\n"
    assert "nowhere.urdf" in (runner.folder / "said").read_text()
    runner.run(running)
    assert "interrupted" in (tmp_path / "output.txt").read_text()


@pytest.mark.parametrize(
    ("text", "accounted_for"),
    [
        ("    ls\n", True),
        ("```\nls\n```\n", True),
        ("<!-- not run: no such program -->\n\n    lss\n", True),
        ("```yaml\na: 1\n```\n", True),
        ("```console\n$ ls\n```\n", False),
        ("```pythn\n1\n```\n", False),
        ("<!-- until: x -->\n\n```python\n1\n```\n", False),
    ],
)
def test_what_nobody_would_run_is_found(tmp_path, text, accounted_for):
    (tmp_path / "page.md").write_text(text)
    (block,) = blocks_of(tmp_path / "page.md")
    assert block.is_accounted_for == accounted_for


def test_a_mark_is_of_the_next_block_only(tmp_path):
    (tmp_path / "page.md").write_text("<!-- not run: why -->\n\nText.\n\n    ls\n")
    (block,) = blocks_of(tmp_path / "page.md")
    assert block.is_run
