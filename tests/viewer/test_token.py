"""The token of a page's address: who is asked for it, where it comes from, and what opens the page in its place."""

import asyncio
import re
import stat
import webbrowser

import pytest
from typer.testing import CliRunner
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from hydro_sim_core.cli.app import app
from hydro_sim_core.compilation import cache_root
from hydro_sim_core.errors import InputError
from hydro_sim_core.viewer.server import hub
from hydro_sim_core.viewer.server.page import Page
from hydro_sim_core.viewer.token import choose_token
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions
from support.viewer.pages import address, get, make_frame, make_scene, open_page


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of our own, and no token from outside."""
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("HYDRO_SIM_VIEW_TOKEN", raising=False)


@pytest.fixture
def started():
    viewers = []

    def start(**options):
        viewers.append(Viewer(ViewerOptions(**{"port": 0, **options})))
        viewers[-1].start()
        return viewers[-1]

    yield start
    for viewer in viewers:
        viewer.close()


def token_of(viewer):
    return viewer.url.partition("/?token=")[2]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_other_users_of_this_machine_need_the_token_too(started, host):
    """Without it, any of them could pause and command the simulation."""
    viewer = started(host=host)
    assert len(token_of(viewer)) >= 32
    for path in ("/", "/ws", "/mesh/x", "/main.js"):
        assert get(viewer, path, Cookie="")[0] == 403
    where, port = address(viewer)
    with pytest.raises(InvalidStatus) as caught, connect(f"ws://{where}:{port}/ws"):
        pass
    assert caught.value.response.status_code == 403
    with open_page(viewer) as page:
        assert page.statuses


def test_sockets_without_the_token_lock_nobody_out(started):
    viewer = started(max_viewers=2)
    host, port = address(viewer)
    for _ in range(4):
        with pytest.raises(InvalidStatus), connect(f"ws://{host}:{port}/ws"):
            pass
    with open_page(viewer), open_page(viewer):
        pass


def test_the_token_stays_that_of_its_user_so_that_pages_find_the_next_run(started):
    assert token_of(started()) == token_of(started())
    file = cache_root() / "viewer_token"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert file.read_text() == token_of(started())


@pytest.mark.parametrize("spoil", ["readable", "link", "nonsense", "folder"])
def test_a_file_that_others_may_know_is_not_believed(tmp_path, spoil):
    before = choose_token(None, own=True)
    file = cache_root() / "viewer_token"
    if spoil == "readable":
        file.chmod(0o644)
    elif spoil == "link":
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    elif spoil == "nonsense":
        file.write_text("a token; Path=/evil\n")
    else:
        file.unlink()
        file.mkdir()
    after = choose_token(None, own=True)
    assert after != before
    assert re.fullmatch(r"[\w-]{32}", after)
    if spoil != "folder":
        assert choose_token(None, own=True) == after


def test_without_a_home_each_run_has_a_token_of_its_own(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HYDRO_SIM_CACHE_DIR", str(tmp_path / "file" / "cache"))
    assert choose_token(None, own=True) != choose_token(None, own=True)


def test_beyond_this_machine_every_run_has_another(started):
    """Its connection is not encrypted, so one that was overheard should be worth nothing the next day."""
    assert token_of(started(host="0.0.0.0")) != token_of(started(host="0.0.0.0"))


def test_a_token_may_be_given_or_switched_off(started, monkeypatch, caplog):
    assert token_of(started(token="open-sesame")) == "open-sesame"
    monkeypatch.setenv("HYDRO_SIM_VIEW_TOKEN", "from.outside")
    assert token_of(started()) == "from.outside"
    assert token_of(started(token="open-sesame")) == "open-sesame"
    viewer = started(token="none")
    assert viewer.url.endswith("/")
    with open_page(viewer):
        pass
    assert caplog.records == []
    started(token="none", host="0.0.0.0")
    assert "whoever reaches this machine" in caplog.text


@pytest.mark.parametrize(
    "token", ["short", "with space", "a;b=cdefgh", "x" * 129, "grüße-und-mehr", "line\nline"]
)
def test_what_cannot_stand_in_an_address_is_refused(token):
    with pytest.raises(InputError, match="token: is not 8 to 128 letters"):
        Viewer(ViewerOptions(port=0, token=token)).start()


def test_the_command_line_takes_a_token():
    options = ["run", "drop_box", "--view", "--view-port", "0", "--headless", "--duration", "0.01"]
    result = CliRunner().invoke(app, [*options, "--view-token", "open-sesame"])
    assert re.search(r"watch it at http://127\.0\.0\.1:\d+/\?token=open-sesame", result.output), result.output
    assert CliRunner().invoke(app, [*options, "--view-token", "x"]).exit_code == 1


def test_a_ticket_opens_the_page_once_and_the_list_of_processes_has_no_token(started, monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    viewer = started()
    viewer.open_browser()
    (url,) = opened
    assert token_of(viewer) not in url
    path = "/" + url.rpartition("/")[2]
    assert get(viewer, path.replace("/?", "/main.js?"), Cookie="")[0] == 403
    status, headers, _ = get(viewer, path, Cookie="")
    assert (status, headers["Set-Cookie"].partition("; ")[0].partition("=")[2]) == (200, token_of(viewer))
    assert get(viewer, path, Cookie="")[0] == 403
    assert get(viewer, path, Cookie=headers["Set-Cookie"].partition("; ")[0])[0] == 200


def test_pages_that_draw_are_not_sent_away_at_once(started):
    viewer = started(max_viewers=2)
    viewer.show_scene(make_scene())
    viewer.show(make_frame(1))
    with open_page(viewer) as drawing, open_page(viewer) as slow:
        drawing.wait_for_frame()
        slow.wait_for(lambda: slow.frames, acknowledge=False)
        with pytest.raises(InvalidStatus) as caught, open_page(viewer):
            pass
        assert caught.value.response.status_code == 503


def test_the_page_that_has_drawn_nothing_for_longest_makes_way():
    """A program that opens 32 sockets and sleeps would else lock everybody out."""

    class Connection:
        def __init__(self):
            self.closed = None

        async def close(self, code, reason):
            self.closed = code

    class Link:
        def write(self, data):
            pass

    async def crowded():
        full = hub.Hub(None, Link(), None, 3)
        pages = [Page(Connection(), full, number) for number in range(3)]
        full._pages = {page.number: page for page in pages}
        assert not full.make_room()
        for page, since in zip(pages, (0.0, 30.0, 60.0), strict=True):
            page._in_flight.append(1)
            page._heard = asyncio.get_running_loop().time() - since
        assert full.make_room()
        await asyncio.sleep(0)
        assert [page._connection.closed is not None for page in pages] == [False, False, True]
        assert list(full._pages) == [0, 1]
        assert full.make_room()

    asyncio.run(crowded())
