"""Who may read and command: nobody through another site, another name or without the token."""

import contextlib
import http.client
import ipaddress
import os
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from hydro_sim_core.viewer.server.access import Access
from hydro_sim_core.viewer.viewer import Viewer, ViewerOptions
from support.viewer.pages import PATIENCE, address, cookies, get, make_scene, open_page

FOREIGN_ORIGINS = [
    "http://evil.example",
    "null",
    "https://127.0.0.1:{port}",
    "http://127.0.0.1",
    "http://localhost:{port}",
]
FOREIGN_HOSTS = [
    "evil.example",
    "evil.example:{port}",
    "127.0.0.1.evil.example",
    "192.0.2.1:{port}",
    "",
    "[::1",
    "127.0.0.1:x",
]

CLIMBING = [
    "/../../../../etc/passwd",
    "/..%2f..%2f..%2f..%2fetc%2fpasswd",
    "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
    "/%252e%252e/%252e%252e/etc/passwd",
    "/%c0%ae%c0%ae/etc/passwd",
    "/..;/..;/etc/passwd",
    "/....//....//etc/passwd",
    "/..\\..\\etc\\passwd",
    "//etc/passwd",
    "///etc/passwd",
    "/./index.html",
    "/mesh/../index.html",
    "/mesh/../../viewer.py",
    "/mesh/..%2f..%2fviewer.py",
    "/mesh//etc/passwd",
    "/mesh/%2fetc%2fpasswd",
    "/mesh/file:///etc/passwd",
    "/mesh/",
    "/mesh",
    "/mesh/..",
    "/index.html%00.js",
    "/index.html/",
    "/../viewer.py",
    "/server/__main__.py",
    "http://127.0.0.1/etc/passwd",
    "*",
]


def refused_socket(viewer, path="/ws", **options):
    """Status with which a WebSocket is refused."""
    host, port = address(viewer)
    with pytest.raises(InvalidStatus) as caught, connect(f"ws://{host}:{port}{path}", **options):
        pass
    return caught.value.response.status_code


@pytest.mark.parametrize("path", CLIMBING)
def test_no_url_opens_a_file(viewer, path):
    status, _, body = get(viewer, path)
    assert status == 404
    assert body in (b"no such page\n", b"no such mesh\n")


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_pages_of_other_sites_are_refused(viewer, origin):
    origin = origin.format(port=address(viewer)[1])
    assert get(viewer, "/", Origin=origin)[0] == 403
    assert refused_socket(viewer, origin=origin, additional_headers=cookies(viewer)) == 403


@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_foreign_names_for_this_machine_are_refused(viewer, host):
    """A site whose name is made to point here would otherwise count as our own."""
    host = host.format(port=address(viewer)[1])
    for path in ("/", "/ws", "/nothing"):
        assert get(viewer, path, Host=host)[0] == 421


def test_own_names_are_served(viewer):
    port = address(viewer)[1]
    for host in (
        f"127.0.0.1:{port}",
        f"localhost:{port}",
        f"LOCALHOST:{port}",
        f"[::1]:{port}",
        "localhost",
        "localhost:9000",
    ):
        assert get(viewer, "/nothing", Host=host, Origin=f"http://{host}")[0] == 404


def test_own_origin_is_served(viewer):
    host, port = address(viewer)
    with open_page(viewer, origin=f"http://{host}:{port}") as page:
        assert page.statuses


def test_browsers_are_told_to_keep_to_themselves(viewer):
    status, headers, _ = get(viewer, "/nothing")
    assert status == 404
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["X-Frame-Options"] == "DENY"
    assert "Access-Control-Allow-Origin" not in headers


def test_the_page_is_served_under_a_policy(viewer):
    status, headers, body = get(viewer, "/")
    assert status == 200
    assert b"<html" in body.lower()
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'self'; ")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["Set-Cookie"].startswith(cookies(viewer)["Cookie"] + "; ")


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS"])
def test_only_get_is_answered(viewer, method):
    """Older websockets hang up instead of saying so."""
    connection = http.client.HTTPConnection(*address(viewer), timeout=PATIENCE)
    connection.request(method, "/")
    status = 400
    with contextlib.suppress(http.client.RemoteDisconnected):
        status = connection.getresponse().status
    assert status >= 400
    connection.close()


@pytest.fixture(scope="module")
def guarded():
    """A viewer that has made itself a token, as it is served beyond this machine."""
    viewer = Viewer(ViewerOptions(host="0.0.0.0", port=0))
    viewer.start()
    viewer.show_scene(make_scene())
    yield viewer
    viewer.close()


@pytest.fixture
def token(guarded):
    """Its token; the viewer's address becomes one that reaches it."""
    token = guarded.url.partition("/?token=")[2]
    guarded.url = f"http://127.0.0.1:{address(guarded)[1]}/"
    yield token
    guarded.url += f"?token={token}"


def test_beyond_this_machine_a_token_is_made(token):
    assert len(token) >= 32


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?token=",
        "?token=wrong",
        "?token={}x",
        "?token=%00",
        "?tok={}",
        "?token=%c3%bc",
        "?" + 30 * "x=1&" + "token={}",
    ],
)
def test_without_the_token_nothing_is_served(guarded, token, query):
    for path in ("/", "/ws", "/mesh/x", "/nothing"):
        status, headers, body = get(guarded, path + query.format(token))
        assert status == 403
        assert b"the address with the token" in body
        assert headers["Set-Cookie"] is None
    assert refused_socket(guarded) == 403


@pytest.mark.parametrize(
    "cookie", ["{name}=wrong", "{name}=", "other={token}", ";;;=", "{name}", '{name}="\\']
)
def test_a_wrong_cookie_is_no_token(guarded, token, cookie):
    name = f"hydro_sim_{address(guarded)[1]}"
    assert get(guarded, "/", Cookie=cookie.format(name=name, token=token))[0] == 403


def test_the_token_becomes_a_cookie_that_opens_the_rest(guarded, token):
    status, headers, _ = get(guarded, f"/?token={token}")
    assert status == 200
    cookie, *flags = headers["Set-Cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict"} <= set(flags)
    assert get(guarded, "/nothing", Cookie=cookie)[0] == 404
    with open_page(guarded, additional_headers={"Cookie": cookie}) as page:
        page.wait_for(lambda: page.scenes)


def test_the_printed_address_is_one_that_a_telephone_reaches():
    """It knows no names of machines."""
    viewer = Viewer(ViewerOptions(host="0.0.0.0", port=0))
    url = urlsplit(viewer.start())
    try:
        assert get(viewer, f"/?{url.query}", Host=url.netloc)[0] == 200
    finally:
        viewer.close()
    routes = [line.split()[1] for line in Path("/proc/net/route").read_text().splitlines()]
    if "00000000" in routes:
        assert ipaddress.ip_address(url.hostname)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
            own.bind((url.hostname, 0))  # addresses of others cannot be bound
    else:
        assert url.hostname == socket.gethostname().lower()


def test_names_of_this_machine_are_served_beyond_it(monkeypatch):
    monkeypatch.setattr(socket, "gethostname", lambda: "Cell7.lab.example")
    monkeypatch.setattr(socket, "getfqdn", lambda: "cell7.plant.example")
    access = Access("0.0.0.0", 8008, None)
    for name in (
        "cell7",
        "CELL7.local",
        "cell7.lab.example",
        "cell7.lab.example.local",
        "cell7.plant.example",
    ):
        assert access.is_own_host(f"{name}:8008"), name
    for name in ("cell8", "cell7.example", "lab.example", "local", "evil.example"):
        assert not access.is_own_host(f"{name}:8008"), name
    assert not Access("127.0.0.1", 8008, None).is_own_host("cell7:8008")


def test_the_token_does_not_lift_the_other_checks(guarded, token):
    assert get(guarded, f"/?token={token}", Origin="http://evil.example")[0] == 403
    assert get(guarded, f"/?token={token}", Host="evil.example")[0] == 421


def test_nobody_reads_the_token_from_the_list_of_processes(guarded, token):
    with open(f"/proc/{guarded._process.pid}/cmdline", "rb") as file:
        assert token.encode() not in file.read()
    with open(f"/proc/{guarded._process.pid}/environ", "rb") as file:
        assert token.encode() not in file.read()
    assert os.path.isdir(f"/proc/{guarded._process.pid}")
