"""The desktop through the gateway, by the published SDK."""

import io
import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from agent_sandbox import Sandbox as Client
from agent_sandbox.browser import Action_Hotkey, Action_MoveTo, Action_Typing
from agent_sandbox.errors import UnprocessableEntityError
from PIL import Image

from tests.image.container import until

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
    refused = sandbox.exec("/opt/venv/bin/python", "-c", program, user="gem")
    assert "Xlib.error" in refused.stderr
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
