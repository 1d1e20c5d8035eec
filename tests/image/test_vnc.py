"""The desktop over VNC, from outside: tickets, who may act, who may not, and both at once."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.image.rfb import viewing
from tests.image.sockets import connect
from tests.patience import PATIENCE_SECONDS, until

if TYPE_CHECKING:
    from tests.image.container import Sandbox

PAGE = {"Accept": "text/html"}


def ticket(sandbox: "Sandbox", **wishes: object) -> str:
    made: str = sandbox.request("POST", "/tickets", json=wishes).json()["ticket"]
    return made


def signed_in(sandbox: "Sandbox", **wishes: object) -> dict[str, str]:
    """The headers of a browser that opened the page with a ticket."""
    given = ticket(sandbox, **wishes)
    answer = sandbox.http.get(f"{sandbox.base_url}/vnc/index.html?ticket={given}&path=websockify%3Fticket%3D{given}", headers=PAGE)
    assert answer.status_code == 302
    assert answer.headers["location"].startswith("/vnc/index.html?path=websockify")
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0], "Origin": sandbox.base_url}


def pointer(sandbox: "Sandbox") -> tuple[int, int]:
    program = "from Xlib.display import Display; p = Display('unix/:99').screen().root.query_pointer(); print(p.root_x, p.root_y)"
    told = sandbox.exec(
        "env", "XAUTHORITY=/run/sandbox-desktop/authority", "/opt/venv/bin/python", "-c", program, user="control"
    ).stdout.split()
    return int(told[0]), int(told[1])


def test_a_ticket_opens_the_page_and_then_its_files_and_its_socket(sandbox: "Sandbox") -> None:
    given = ticket(sandbox)
    address = f"{sandbox.base_url}/vnc/index.html?ticket={given}&path=websockify%3Fticket%3D{given}"
    answer = sandbox.http.get(address, headers=PAGE)
    cookie = {"Cookie": answer.headers["set-cookie"].partition(";")[0]}
    for path in (answer.headers["location"], "/static/vnc/vnc.js", "/static/vendor/novnc/core/rfb.js"):
        assert sandbox.http.get(sandbox.base_url + path, headers=PAGE | cookie).status_code == 200
    with viewing(sandbox, cookie | {"Origin": sandbox.base_url}, f"?ticket={given}") as viewer:
        assert (viewer.width, viewer.height) == (1280, 1024)


def test_an_address_that_leaked_after_its_use_opens_nothing(sandbox: "Sandbox") -> None:
    given = ticket(sandbox)
    address = f"/vnc/index.html?ticket={given}&path=websockify%3Fticket%3D{given}"
    assert sandbox.http.get(sandbox.base_url + address, headers=PAGE).status_code == 302
    assert sandbox.http.get(sandbox.base_url + address, headers={"Accept": "*/*"}).status_code == 401
    with pytest.raises(InvalidStatus, match="401"), viewing(sandbox, {}, f"?ticket={given}"):
        pass


def test_the_page_is_found_by_its_short_name_too(sandbox: "Sandbox") -> None:
    page = sandbox.request("GET", "/vnc/index.html")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    for short in ("/vnc", "/vnc/"):
        assert sandbox.request("GET", short, follow_redirects=True).text == page.text


def test_who_may_only_look_cannot_act_whatever_is_sent(sandbox: "Sandbox") -> None:
    watcher = signed_in(sandbox, scopes=["view"])
    with viewing(sandbox) as person, viewing(sandbox, watcher) as looking:
        person.point(100, 120)
        person.pixel(0, 0)
        until(lambda: pointer(sandbox) == (100, 120))
        looking.point(300, 320, 1)
        looking.key(0x61)
        looking.connection.send(b"\x06\x00\x00\x00\x00\x00\x00\x02hi" + b"\xfb\x00\x03\x20\x02\x58\x01\x00" + bytes(16))
        assert len(looking.pixel(0, 0)) == 4, "the picture is theirs all the same"
        assert len(person.pixel(0, 0)) == 4
        assert pointer(sandbox) == (100, 120)
        person.point(200, 220)
        until(lambda: pointer(sandbox) == (200, 220))


def test_without_the_scope_to_look_there_is_no_socket(sandbox: "Sandbox") -> None:
    other = signed_in_elsewhere(sandbox)
    assert sandbox.http.get(f"{sandbox.base_url}/vnc/index.html", headers=other).status_code == 403
    with pytest.raises(InvalidStatus, match="403"), viewing(sandbox, other | {"Origin": sandbox.base_url}):
        pass


def signed_in_elsewhere(sandbox: "Sandbox") -> dict[str, str]:
    given = ticket(sandbox, scopes=["shell"])
    answer = sandbox.http.get(f"{sandbox.base_url}/terminal?ticket={given}", headers=PAGE)
    return {"Cookie": answer.headers["set-cookie"].partition(";")[0]}


def test_what_is_no_rfb_is_told_so(sandbox: "Sandbox") -> None:
    with connect(f"{sandbox.base_url.replace('http', 'ws')}/websockify", additional_headers=sandbox.headers, proxy=None) as connection:
        connection.send(b"GET / HTTP/1.1\r\n\r\n")
        with pytest.raises(ConnectionClosed, match="not RFB"):
            list(connection)


def test_the_agent_has_no_way_to_the_vnc_server(sandbox: "Sandbox") -> None:
    refused = sandbox.exec("curl", "-sS", "--unix-socket", "/run/sandbox-desktop/vnc.sock", "http://x/", user="gem")
    assert "Permission denied" in refused.stderr or "Couldn't connect" in refused.stderr or "Could not connect" in refused.stderr
    assert sandbox.exec("ls", "/run/sandbox-desktop", user="gem").code != 0
    listening = sandbox.exec("cat", "/proc/net/tcp", "/proc/net/tcp6").stdout
    assert ":170C" not in listening, "5900 in hex"
    assert sandbox.exec("ps", "-o", "user=", "-C", "X0tigervnc").stdout.strip() == "desktop"


def test_a_viewer_sees_the_size_that_the_screen_is_given(mended: "Sandbox") -> None:
    give_size(mended, 1900, 1000)
    give_size(mended, 1280, 1024)


def give_size(sandbox: "Sandbox", width: int, height: int) -> None:
    """Give the screen a size and wait until a viewer sees it: the VNC server is told by the X server, in its own time."""
    sandbox.request("POST", "/v1/browser/config", json={"resolution": {"width": width, "height": height}})
    until(lambda: size(sandbox) == (width, height))


def size(sandbox: "Sandbox") -> tuple[int, int]:
    with viewing(sandbox) as viewer:
        return viewer.width, viewer.height


def test_vnc_that_is_left_out_is_said_to_be_so(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox(env={"DISABLE_VNC": "true"})
    assert sandbox.request("GET", "/vnc/index.html").status_code == 404
    assert "X0tigervnc" not in sandbox.exec("ps", "-e").stdout
    with (
        connect(f"{sandbox.base_url.replace('http', 'ws')}/websockify", additional_headers=sandbox.headers, proxy=None) as connection,
        pytest.raises(ConnectionClosed, match="not running"),
    ):
        connection.recv(timeout=PATIENCE_SECONDS)
