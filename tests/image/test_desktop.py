"""The desktop through the gateway, by the published SDK."""

import base64
import io
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from agent_sandbox import Sandbox as Client
from agent_sandbox.browser import Action_Hotkey, Action_MoveTo, Action_Typing
from agent_sandbox.errors import UnprocessableEntityError
from PIL import Image

from tests.patience import until

if TYPE_CHECKING:
    from tests.image.container import Sandbox


@pytest.fixture
def client(sandbox: "Sandbox") -> Client:
    return Client(base_url=sandbox.base_url, headers=sandbox.headers, httpx_client=sandbox.http)


def test_a_screenshot_is_a_picture_of_the_screen(client: Client) -> None:
    picture = Image.open(io.BytesIO(b"".join(client.browser.screenshot())))
    assert (picture.format, picture.size) == ("PNG", (1280, 1024))


def test_an_action_is_done_and_named(client: Client) -> None:
    answer = client.browser.execute_action(request=Action_MoveTo(x=100, y=100))
    assert (answer.status, answer.action_performed) == ("success", "MOVE_TO")
    assert client.browser.execute_action(request=Action_Typing(text="hi 世界")).action_performed == "TYPING"


def test_what_cannot_be_done_names_its_field(client: Client) -> None:
    for request, field in ((Action_MoveTo(x=99999, y=1), "x"), (Action_Hotkey(keys=["nonsense"]), "keys")):
        with pytest.raises(UnprocessableEntityError) as refused:
            client.browser.execute_action(request=request)
        assert field in json.dumps(refused.value.body, default=str)


def test_the_agent_has_no_way_to_the_display(sandbox: "Sandbox") -> None:
    assert sandbox.exec("cat", "/run/sandbox-desktop/authority", user="gem").code != 0
    program = "from Xlib.display import Display; Display('unix/:99')"
    sandbox.exec("install", "-o", "gem", "-m", "400", "/run/sandbox-desktop/authority", "/tmp/leaked")
    refused = sandbox.exec("env", "XAUTHORITY=/tmp/leaked", "/opt/venv/bin/python", "-c", program, user="gem")
    assert "Xlib.error.DisplayConnectionError" in refused.stderr, "not even with the cookie"
    sandbox.exec("rm", "/tmp/leaked")
    assert sandbox.exec("env", "XAUTHORITY=/run/sandbox-desktop/authority", "/opt/venv/bin/python", "-c", program, user="control").code == 0


def test_the_desktop_is_back_after_its_x_server_was_killed(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox(env={"DISPLAY_WIDTH": "800", "DISPLAY_HEIGHT": "600"})
    until(lambda: size_of(sandbox) == ("800", "600"))
    sandbox.exec("pkill", "-9", "Xvfb")
    until(lambda: size_of(sandbox) == ("800", "600"))


def size_of(sandbox: "Sandbox") -> tuple[str | None, str | None]:
    headers = sandbox.request("GET", "/v1/browser/screenshot").headers
    return headers.get("x-screen-width"), headers.get("x-screen-height")


def test_a_desktop_that_is_left_out_is_said_to_be_so(start_sandbox: Callable[..., "Sandbox"]) -> None:
    sandbox = start_sandbox(env={"DISABLE_DESKTOP": "true"})
    assert sandbox.request("GET", "/v1/browser/screenshot").status_code == 503
    assert "Xvfb" not in sandbox.exec("ps", "-e").stdout


def test_windows_and_the_focus_are_listed_and_one_that_is_gone_is_a_conflict(sandbox: "Sandbox") -> None:
    found = sandbox.request("GET", "/v1/screen/elements").json()["data"]
    assert (found["width"], found["height"]) == (1280, 1024)
    assert found["focus"] in {None, *(window["ref"] for window in found["windows"])}
    assert sandbox.request("POST", "/v1/screen/click", json={"ref": "wabc"}).status_code == 409
    assert sandbox.request("POST", "/v1/screen/click", json={"ref": "nothing"}).status_code == 422


def test_a_batch_answers_with_the_screen_as_it_is_then(sandbox: "Sandbox") -> None:
    actions = [{"action_type": "MOVE_TO", "x": 5, "y": 5}]
    body = {"actions": actions, "until": "settle", "screenshot": {"scale": 0.25}}
    done = sandbox.request("POST", "/v1/browser/actions/batch", json=body).json()["data"]
    picture = Image.open(io.BytesIO(base64.b64decode(done["screenshot"]["data"])))
    assert (done["settled"], picture.format, picture.size) == (True, "JPEG", (320, 256))


def test_an_agent_is_shown_a_jpeg_and_told_what_is_on_it(sandbox: "Sandbox") -> None:
    sandbox.request("POST", "/v1/browser/actions", json={"action_type": "MOVE_TO", "x": 7, "y": 8})
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sandbox_browser_screenshot", "arguments": {}}}
    answer = sandbox.request("POST", "/mcp", json=call, headers={"Accept": "application/json, text/event-stream"})
    about, picture = message_of(answer.text)["result"]["content"]
    assert (picture["type"], picture["mimeType"]) == ("image", "image/jpeg")
    told = json.loads(about["text"])
    assert (told["screen"], told["cursor"]) == ({"width": 1280, "height": 1024}, {"x": 7, "y": 8})


def message_of(text: str) -> dict[str, Any]:
    """The JSON of an answer that may come as one event of a stream."""
    lines = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
    message: dict[str, Any] = json.loads(lines[-1] if lines else text)
    return message


def test_a_button_of_a_page_is_found_on_the_screen_and_clicked_by_its_name(sandbox: "Sandbox") -> None:
    page = "data:text/html,<title>Before</title><button onclick=\"document.title='After'\">Press me</button>"
    assert sandbox.request("POST", "/v1/browser/page/navigate", json={"url": page}).status_code == 200

    def is_clicked_by_hand() -> bool:  # a browser that is slow to notice the pointer is told to click
        found = sandbox.request("GET", "/v1/screen/elements").json()["data"]
        buttons = [element for element in found["elements"] if element["name"] == "Press me"]
        if not buttons:
            return False
        [button] = buttons
        assert button["window"] in {window["ref"] for window in found["windows"]}
        done = sandbox.request("POST", "/v1/screen/click", json={"ref": button["ref"]}).json()["data"]
        return bool(done["by"] == "pointer")

    until(is_clicked_by_hand)
    until(lambda: sandbox.request("POST", "/v1/browser/page/evaluate", json={"expression": "document.title"}).json()["data"] == "After")


PROGRAM = """
import ctypes, sys
x = ctypes.CDLL("libX11.so.6")
x.XOpenDisplay.restype = ctypes.c_void_p
x.XGetImage.restype = ctypes.c_void_p
display = ctypes.c_void_p(x.XOpenDisplay(None))
root = x.XDefaultRootWindow(display)
window = x.XCreateSimpleWindow(display, root, 0, 0, 300, 200, 0, 0, 0xFFFFFF)
x.XStoreName(display, window, b"Made in a shell")
x.XMapWindow(display, window)
opcode = ctypes.c_int()
has_xtest = x.XQueryExtension(display, b"XTEST", ctypes.byref(opcode), ctypes.byref(opcode), ctypes.byref(opcode))
print("XTEST", has_xtest, "keyboard", x.XGrabKeyboard(display, window, 1, 1, 1, ctypes.c_ulong(0)), flush=True)
sys.stdin.readline()
print("picture", bool(x.XGetImage(display, root, 0, 0, 1, 1, ctypes.c_ulong(0xFFFFFFFF), 2)))
"""


@pytest.mark.parametrize("boxed", [True, False])
def test_a_program_from_a_shell_shows_a_window_and_drives_nobody_else_s(
    sandbox: "Sandbox", start_sandbox: Callable[..., "Sandbox"], boxed: bool
) -> None:
    sandbox = sandbox if boxed else start_sandbox(env={"BOX": "off"})
    assert sandbox.request("POST", "/v1/file/write", json={"file": "/home/gem/shows.py", "content": PROGRAM}).status_code == 200
    until(lambda: sandbox.request("GET", "/v1/screen/elements").status_code == 200)
    until(lambda: sandbox.exec("test", "-S", "/run/sandbox-agent/x11/X99").code == 0)
    begin = "mkfifo go; { python3 shows.py <go >said 2>&1; echo ended >>said; } & exec 7>go"
    sandbox.request("POST", "/v1/shell/exec", json={"id": "shows", "command": begin})

    def titles() -> list[str]:
        return [window["title"] for window in sandbox.request("GET", "/v1/screen/elements").json()["data"]["windows"]]

    until(lambda: "Made in a shell" in titles(), told=lambda: sandbox.run("cat", "said").stdout)
    sandbox.request("POST", "/v1/shell/exec", json={"id": "shows", "command": "echo >&7"})
    until(lambda: "ended" in sandbox.run("cat", "said").stdout)
    assert re.fullmatch(r"XTEST 0 keyboard [123]\npicture False\nended\n", sandbox.run("cat", "said").stdout)
