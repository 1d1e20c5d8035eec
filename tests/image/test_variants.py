"""The smaller variants: what they have works, and what they lack is said. `scripts/build core` and `scripts/build browser` build them."""

import os
from collections.abc import Iterator

import pytest

from tests.image.container import Launcher, Sandbox, engine

NO_DESKTOP = "this image has no desktop and no browser"
USE_ANOTHER = "use the variant `browser` or `full` of the image"


def started(variant: str) -> Iterator[Sandbox]:
    """A container of a variant."""
    image, run = f"{os.environ['TANDEM_IMAGE']}:{variant}", os.environ["TANDEM_RUN"]
    if engine("image", "inspect", image).code != 0:
        pytest.fail(f"there is no image {image}: run scripts/build {variant}")
    launcher = Launcher(image, run, variant)
    try:
        yield launcher.start()
    finally:
        launcher.remove()


@pytest.fixture(scope="module")
def core() -> Iterator[Sandbox]:
    """A container without a desktop."""
    yield from started("core")


@pytest.fixture(scope="module")
def browser() -> Iterator[Sandbox]:
    """A container with a desktop and Chromium, and without editors."""
    yield from started("browser")


def test_core_is_ready_with_what_it_has_and_nothing_of_a_desktop_is_tried(core: Sandbox) -> None:
    states = core.request("GET", "/readyz").json()
    assert states["status"] == "ready"
    assert {"gateway", "mcp"} <= states["components"].keys()
    assert not {"browser", "desktop", "stream", "vnc"} & states["components"].keys()
    for wrong in ("Xvfb", "pulseaudio", "X0tigervnc", "openbox", "Traceback", "exit status"):
        assert wrong not in core.logs()


def test_core_runs_commands_python_and_node_and_keeps_files(core: Sandbox) -> None:
    assert core.request("POST", "/v1/file/write", json={"file": "/home/gem/note", "content": "one\n"}).status_code == 200
    assert core.run("cat", "note").stdout == "one\n"
    for language, code in (("python", "import pandas; print(6 * 7)"), ("javascript", "console.log(6 * 7)")):
        answer = core.request("POST", "/v1/code/execute", json={"language": language, "code": code}).json()
        assert answer["data"]["stdout"] == "42\n", answer
    shell = core.request("POST", "/v1/shell/exec", json={"command": "echo $((6 * 7))"}).json()
    assert "42" in shell["data"]["output"]
    assert core.run("git", "--version").code == 0
    assert core.run("npm", "--version").code == 0


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/v1/browser/page/navigate", {"url": "about:blank"}),
        ("GET", "/v1/browser/screenshot", None),
        ("GET", "/v1/browser/tabs", None),
        ("GET", "/v1/browser/cookies", None),
        ("POST", "/v1/browser/actions/batch", {"actions": [{"action_type": "CLICK", "x": 1, "y": 1}]}),
    ],
)
def test_core_says_that_it_has_no_browser_and_what_has_one(core: Sandbox, method: str, path: str, body: object) -> None:
    refused = core.request(method, path, json=body)
    assert (refused.status_code, refused.json()["message"], refused.json()["hint"]) == (503, NO_DESKTOP, USE_ANOTHER)


def test_core_says_so_to_an_agent_and_to_who_diagnoses(core: Sandbox) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "browser_navigate", "arguments": {"url": "about:blank"}}}
    result = core.request("POST", "/mcp", json=call).json()["result"]
    assert result["isError"]
    assert NO_DESKTOP in result["content"][0]["text"]

    checks = {each["name"]: each for each in core.request("GET", "/v1/doctor").json()["data"]["checks"]}
    for name in ("desktop", "browser_sandbox"):
        assert (checks[name]["status"], checks[name]["detail"], checks[name]["hint"]) == ("unknown", NO_DESKTOP, USE_ANOTHER)
    assert core.request("GET", "/").status_code == 200
    assert core.request("GET", "/json/version").status_code == 404


def test_browser_shows_pages_and_has_neither_editors_nor_a_compiler(browser: Sandbox) -> None:
    assert browser.request("GET", "/readyz").json()["components"]["browser"] == "ready"
    browser.show("data:text/html,<title>seen</title><p>here</p>")
    assert "here" in browser.request("GET", "/v1/browser/page/text").text

    editors = browser.request("GET", "/v1/editors").json()["data"]["editors"]
    assert {each["name"]: each["installed"] for each in editors} == {"jupyter": False, "code-server": False}
    for path in ("/jupyter/", "/code-server/"):
        assert 400 <= browser.request("GET", path).status_code < 600
    missing = browser.request("POST", "/v1/code/execute", json={"language": "python", "code": "1", "kernel_name": "python3.12"})
    assert missing.status_code < 500
    assert browser.run("sh", "-c", "command -v gcc").code != 0
