"""MCP servers behind `/mcp`: the one of the image, one in its file, one added while it runs, and one that never works."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ToolsListChanged

from tests.image.container import Sandbox
from tests.image.test_mcp import session
from tests.mcp.sdk_clients import ERAS, Person, client_of
from tests.patience import PATIENCE_SECONDS, eventually, until

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")]

SAMPLE = (Path(__file__).parent.parent / "mcp" / "sample_server.py").read_text("utf-8")
PROGRAM = {"command": "/opt/venv/bin/python", "args": ["-I", "/opt/sample_server.py"]}
SERVERS = {"mcpServers": {"sample": PROGRAM | {"tags": ["test"]}, "broken": {"command": "/no/such/program"}}}


@pytest.fixture(scope="module")
def with_servers(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    """A container whose image names two servers, of which one does not exist."""
    return sandbox_with(files={"/opt/sample_server.py": SAMPLE, "/opt/gem/mcp-servers.json": json.dumps(SERVERS)})


async def names(with_servers: Sandbox, query: str = "") -> list[str]:
    async with session(with_servers, query) as opened:
        return [tool.name for tool in (await opened.list_tools()).tools]


async def test_tools_of_all_servers_are_one_list_that_a_dead_one_does_not_break(with_servers: Sandbox) -> None:
    found = await names(with_servers, "?toolsets=all")
    for name in ("sandbox_execute_bash", "browser_navigate", "markitdown_convert_to_markdown", "chrome_devtools_take_snapshot"):
        assert name in found
    until(lambda: state(with_servers, "broken")["state"] == "failed")

    assert "no/such/program" in state(with_servers, "broken")["reason"]


@pytest.mark.parametrize(
    ("query", "inside", "outside"),
    [
        ("?servers=sample", "sample_echo", "sandbox_execute_bash"),
        ("", "sample_echo", "chrome_devtools_click"),
        ("?toolsets=desktop", "sandbox_screen_window", "sample_echo"),
        ("?toolsets=default,chrome_devtools", "chrome_devtools_click", "sandbox_screen_window"),
        ("?search=chrome_devtools", "chrome_devtools_click", "browser_click"),
        ("?search=markitdown", "markitdown_convert_to_markdown", "sandbox_convert_to_markdown"),
        ("?tags=test", "sample_sum", "chrome_devtools_click"),
        ("?tags=shell&readonly=1", "sandbox_shell_view", "sandbox_execute_bash"),
        ("?tools=sample_echo,sandbox_get_context", "sample_echo", "sample_sum"),
    ],
)
async def test_the_list_is_narrowed_by_the_query(with_servers: Sandbox, query: str, inside: str, outside: str) -> None:
    await ready(with_servers)
    found = await names(with_servers, query)

    assert inside in found
    assert outside not in found


async def ready(with_servers: Sandbox) -> None:
    """Wait until the sample has listed its tools, which `tools/list` does not wait for."""
    assert with_servers.request("GET", "/v1/mcp/sample/tools").status_code == 200


async def test_a_server_runs_as_the_agent_and_comes_back_after_it_died(with_servers: Sandbox) -> None:
    assert (await called(with_servers, "sample_echo", text="hello"))["result"] == "hello"
    assert with_servers.exec("pgrep", "-u", "gem", "-f", "sample_server.py").code == 0

    async with session(with_servers) as opened:
        died = await opened.call_tool("sample_die", {})

    assert died.is_error
    assert "went away" in str(died.content)
    assert (await called(with_servers, "sample_echo", text="again"))["result"] == "again"


async def test_progress_and_cancelling_pass_through(with_servers: Sandbox) -> None:
    mark = "/tmp/hub-cancelled"
    reported = anyio.Event()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        assert (progress, total, message) == (1, 3, "one of three")
        reported.set()

    async with session(with_servers) as opened, anyio.create_task_group() as calls:
        calls.start_soon(lambda: opened.call_tool("sample_wait", {"mark": mark}, progress_callback=report))
        with anyio.fail_after(90):
            await reported.wait()
        calls.cancel_scope.cancel()

    until(lambda: with_servers.run("test", "-e", mark).code == 0)


async def test_resources_of_the_sandbox_and_of_servers_are_read(with_servers: Sandbox) -> None:
    with_servers.request("POST", "/v1/shell/exec", json={"command": "echo seen", "id": "shown"})
    await ready(with_servers)
    async with session(with_servers) as opened:
        listed = {str(resource.uri) for resource in (await opened.list_resources()).resources}
        screen = (await opened.read_resource("sandbox://screen")).contents[0]
        terminal = (await opened.read_resource("sandbox://terminal/shown")).contents[0]
        note = (await opened.read_resource("sample://note")).contents[0]

    assert {"sandbox://screen", "sandbox://terminal/shown", "sample://note"} <= listed
    assert screen.mime_type == "image/png"
    assert "seen" in terminal.text  # type: ignore[union-attr]
    assert note.text == "take note"  # type: ignore[union-attr]


@pytest.mark.parametrize("era", ERAS)
async def test_a_server_asks_the_user_and_the_model_of_who_called(with_servers: Sandbox, era: str) -> None:
    await ready(with_servers)
    person = Person("green")
    async with client_of(with_servers.base_url, era, with_servers.headers, **person.able) as client:
        answer = await client.call_tool("sample_ask", {"question": "Which colour?"})
        thought = await client.call_tool("sample_think", {"about": "colours"})
        await client.call_tool("sample_log", {"level": "warning", "text": "noted"})
        await eventually(lambda: person.logged == ["noted"])
        [prompt] = (await client.list_prompts()).prompts
        greeting = await client.get_prompt(prompt.name, {"name": "ann"})

    assert (answer.structured_content, thought.structured_content) == ({"result": "green"}, {"result": "thought of colours"})
    assert person.asked == ["The MCP server 'sample' asks: Which colour?"]
    assert "hello to ann" in str(greeting.messages)
    async with client_of(with_servers.base_url, era, with_servers.headers) as client:
        with pytest.raises(MCPError, match="does not support elicitation"):
            await client.call_tool("sample_ask", {"question": "?"})


async def test_a_client_hears_that_a_server_came_and_what_it_follows(with_servers: Sandbox) -> None:
    await ready(with_servers)
    person = Person()

    async def came_and_went() -> bool:  # again, for the event stream may open late
        with_servers.request("PUT", "/v1/mcp/servers/come", json=PROGRAM)
        with_servers.request("DELETE", "/v1/mcp/servers/come")
        return "notifications/tools/list_changed" in person.noticed

    async with client_of(with_servers.base_url, "legacy", with_servers.headers, **person.deaf) as client:
        await eventually(came_and_went)
        await client.subscribe_resource("sample://note")

        async def heard() -> bool:
            await client.call_tool("sample_change", {"uri": "sample://note"})
            return "notifications/resources/updated" in person.noticed

        await eventually(heard)
    async with (
        client_of(with_servers.base_url, "2026-07-28", with_servers.headers) as client,
        client.listen(tools_list_changed=True) as listening,
    ):
        with_servers.request("PUT", "/v1/mcp/servers/come", json=PROGRAM)
        with_servers.request("DELETE", "/v1/mcp/servers/come")
        async with asyncio.timeout(90):
            assert await anext(aiter(listening)) == ToolsListChanged()


async def test_hanging_up_ends_a_tool_that_was_called_over_plain_http(with_servers: Sandbox) -> None:
    mark = "/tmp/hub-hung-up"
    await ready(with_servers)
    async with httpx2.AsyncClient(base_url=with_servers.base_url, headers=with_servers.headers, timeout=PATIENCE_SECONDS) as http:
        call = asyncio.create_task(http.post("/v1/mcp/sample/tools/wait", json={"mark": mark}))
        await eventually(lambda: with_servers.run("test", "-e", f"{mark}.begun").code == 0)
        call.cancel()
        await eventually(lambda: with_servers.run("test", "-e", mark).code == 0)


async def test_the_devtools_of_the_image_drive_its_browser(with_servers: Sandbox) -> None:
    await called(with_servers, "chrome_devtools_new_page", url="data:text/html,<title>Hello</title><button>Press me</button>")
    async with session(with_servers) as opened:
        shown = await opened.call_tool("chrome_devtools_take_snapshot", {})

    assert "Press me" in str(shown.content)
    seen = with_servers.exec("sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
    assert "chrome-devtools" in seen
    assert "Bearer" not in seen


def test_a_server_is_added_and_removed_while_it_runs(with_servers: Sandbox) -> None:
    added = with_servers.request("PUT", "/v1/mcp/servers/mine", json=PROGRAM | {"env": {"KEY": "s3cret"}})
    answer = with_servers.request("POST", "/v1/mcp/mine/tools/echo", json={"text": "new"}).json()["data"]
    taken = with_servers.request("PUT", "/v1/mcp/servers/sample", json=PROGRAM)
    removed = with_servers.request("DELETE", "/v1/mcp/servers/mine")

    assert added.json()["data"]["origin"] == "added"
    assert "s3cret" not in added.text
    assert answer["structuredContent"] == {"result": "new"}
    assert (taken.status_code, removed.status_code) == (409, 200)
    assert with_servers.request("GET", "/v1/mcp/mine/tools").status_code == 404
    assert "mine" not in with_servers.request("GET", "/v1/mcp/servers").json()["data"]


def test_the_agent_cannot_add_one(with_servers: Sandbox) -> None:
    refused = with_servers.run("sandbox", "mcp", "add_mcp_server", "--server-name", "evil", "--url", "http://169.254.169.254/")

    assert refused.code != 0
    assert "admin" in refused.stderr


def test_the_hubs_own_paths_are_not_behind_the_gateway(with_servers: Sandbox) -> None:
    assert with_servers.request("GET", "/hub/servers").status_code == 404
    assert with_servers.request("GET", "/v1/hub/servers").status_code == 404


def state(with_servers: Sandbox, name: str) -> dict[str, Any]:
    """What is known of a server."""
    found: dict[str, Any] = next(each for each in with_servers.request("GET", "/v1/mcp/status").json()["data"] if each["name"] == name)
    return found


async def called(with_servers: Sandbox, tool: str, **arguments: object) -> Any:
    """What a tool gave, as structured content."""
    async with session(with_servers) as opened:
        result = await opened.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result.structured_content
