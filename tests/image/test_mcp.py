"""MCP in the running container: the protocol's own conformance suite, and the SDK's client, through the gateway."""

import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client

from tests.image.container import Sandbox
from tests.patience import PATIENCE_SECONDS, until

pytestmark = pytest.mark.anyio

SUITE = "/opt/conformance"

APPLIES = (
    "server-initialize",
    "ping",
    "logging-set-level",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-error",
    "tools-call-with-progress",
    "server-sse-multiple-streams",
)

DOES_NOT_APPLY = {
    "tools-call-with-logging": "no operation logs to its caller; what upstream servers log is in test_mcp_servers.py",
    "completion-complete": "it wants prompts of names that are its own; those of upstream servers are in test_mcp_servers.py",
    "tools-call-mixed-content": "an operation has one result, so that a tool gives one kind of content beside its text",
    "tools-call-sampling": "no operation asks the client's model; upstream servers do in test_mcp_servers.py",
    "tools-call-elicitation": "it wants a tool of a name that is its own; ours that asks the user is in test_handoff.py",
    "elicitation-sep1034-defaults": "no operation asks the client's user",
    "elicitation-sep1330-enums": "no operation asks the client's user",
    "json-schema-2020-12": "we put what a reference means in its place, because many clients do not follow references",
    "server-sse-polling": "we do not close a call's stream half way",
    "resources-list": "it wants resources of names that are its own; ours are in test_mcp_servers.py",
    "resources-read-text": "it wants resources of names that are its own; ours are in test_mcp_servers.py",
    "resources-read-binary": "it wants resources of names that are its own; ours are in test_mcp_servers.py",
    "resources-templates-read": "it wants resources of names that are its own; ours are in test_mcp_servers.py",
    "resources-subscribe": "it wants resources of names that are its own; those of upstream servers are in test_mcp_servers.py",
    "resources-unsubscribe": "it wants resources of names that are its own; those of upstream servers are in test_mcp_servers.py",
    "prompts-list": "we have no prompts but those of upstream servers, which are in test_mcp_servers.py",
    "prompts-get-simple": "we have no prompts but those of upstream servers",
    "prompts-get-with-args": "we have no prompts but those of upstream servers",
    "prompts-get-embedded-resource": "we have no prompts but those of upstream servers",
    "prompts-get-with-image": "we have no prompts but those of upstream servers",
    "dns-rebinding-protection": "it is for servers without authentication, on localhost",
}

TOOLS = '''
import asyncio

from sandbox_server.core import Blob, InvalidArgument, operation


class Conformance:
    """The tools that the conformance suite calls by name."""

    tag = "conformance"

    @operation("GET /v1/conformance/text", scope="view", tool="test_simple_text")
    async def text(self) -> str:
        """Give text."""
        return "This is a simple text response for testing."

    @operation("GET /v1/conformance/image", scope="view", tool="test_image_content", media_type="image/png")
    async def image(self) -> Blob:
        """Give an image."""
        return Blob(b"\\x89PNG", "image/png")

    @operation("GET /v1/conformance/audio", scope="view", tool="test_audio_content", media_type="audio/wav")
    async def audio(self) -> Blob:
        """Give a sound."""
        return Blob(b"RIFF", "audio/wav")

    @operation("GET /v1/conformance/resource", scope="view", tool="test_embedded_resource", media_type="application/gzip")
    async def resource(self) -> Blob:
        """Give a resource."""
        return Blob(b"x", "application/gzip")

    @operation("GET /v1/conformance/error", scope="view", tool="test_error_handling")
    async def error(self) -> None:
        """Fail."""
        raise InvalidArgument("This tool intentionally returns an error for testing")

    @operation("GET /v1/conformance/progress", scope="view", tool="test_tool_with_progress")
    async def progress(self) -> str:
        """Take long enough for three reports, on a busy machine too."""
        await asyncio.sleep(6.5)
        return "done"
'''


@pytest.fixture(scope="module")
def tools(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    """A container whose image's user added the tools of the suite."""
    return sandbox_with(files={"/opt/tandem/custom_tools/conformance.py": TOOLS})


@pytest.fixture(scope="module")
def scenarios() -> list[str]:
    """The server scenarios that the suite has."""
    listed = suite("list", "--server")
    return [line.split()[1] for line in listed.stdout.splitlines() if line.startswith("  - ")]


def suite(*words: str) -> subprocess.CompletedProcess[str]:
    command = [f"{SUITE}/node", f"{SUITE}/node_modules/@modelcontextprotocol/conformance/dist/index.js", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.parametrize("scenario", APPLIES)
def test_the_server_conforms(tools: Sandbox, scenario: str) -> None:
    done = suite("server", "--url", f"{tools.base_url}/mcp?api_key={tools.api_key}", "--scenario", scenario)

    assert done.returncode == 0, done.stdout + done.stderr


def test_every_scenario_of_the_suite_is_decided_on(scenarios: list[str]) -> None:
    assert set(scenarios) == {*APPLIES, *DOES_NOT_APPLY}


@asynccontextmanager
async def session(sandbox: Sandbox, query: str = "") -> AsyncIterator[ClientSession]:
    """A session of the SDK's client."""
    async with (
        httpx2.AsyncClient(headers=sandbox.headers, timeout=PATIENCE_SECONDS) as http,
        streamable_http_client(f"{sandbox.base_url}/mcp{query}", http_client=http) as streams,
        ClientSession(*streams[:2]) as opened,
    ):
        await opened.initialize()
        yield opened


async def result(sandbox: Sandbox, tool: str, **arguments: object) -> Any:
    """What a tool gave, as structured content."""
    async with session(sandbox) as opened:
        called = await opened.call_tool(tool, arguments)
    assert not called.is_error, called.content
    return called.structured_content


CANONICAL = {
    "sandbox_execute_bash": {"cmd", "cwd", "new_session", "timeout", "truncate"},
    "sandbox_file_operations": {
        *("action", "path", "content", "target", "pattern", "encoding", "start_line", "end_line"),
        *("append", "recursive", "show_hidden", "file_types", "sudo"),
    },
    "sandbox_get_context": set(),
    "sandbox_get_packages": {"language"},
    "sandbox_str_replace_editor": {"command", "path", "file_text", "old_str", "new_str", "insert_line", "view_range"},
}
"""The contract's tools for what is built, and the arguments that agents know them by."""


async def test_the_tools_that_agents_know_are_listed_with_their_arguments(sandbox: Sandbox) -> None:
    async with session(sandbox) as opened:
        listed = {tool.name: tool for tool in (await opened.list_tools()).tools}

    for name, arguments in CANONICAL.items():
        assert arguments <= set(listed[name].input_schema["properties"]), name
    assert listed["sandbox_execute_bash"].input_schema["required"] == ["cmd"]
    assert listed["sandbox_execute_bash"].output_schema is not None
    assert listed["sandbox_get_context"].annotations is not None
    assert listed["sandbox_get_context"].annotations.read_only_hint is True


async def test_an_agent_works_with_a_shell_and_files(sandbox: Sandbox) -> None:
    path = "/tmp/mcp notes ü.txt"
    await result(sandbox, "sandbox_file_operations", action="write", path=path, content="one\ntwo\n")
    await result(sandbox, "sandbox_str_replace_editor", command="str_replace", path=path, old_str="two", new_str="three")
    ran = await result(sandbox, "sandbox_execute_bash", cmd=f"cat '{path}'; (exit 3)")
    read = await result(sandbox, "sandbox_file_operations", action="read", path=path)

    assert (ran["exit_code"], ran["status"]) == (3, "completed")
    assert ran["output"] == "one\nthree\n"
    assert read["content"] == "one\nthree\n"


async def test_a_failure_is_told_to_the_agent(sandbox: Sandbox) -> None:
    async with session(sandbox) as opened:
        missing = await opened.call_tool("sandbox_file_operations", {"action": "read", "path": "/nowhere/at/all"})
        wrong = await opened.call_tool("sandbox_execute_bash", {"command": "ls"})

    assert missing.is_error
    assert "No such file or directory" in str(missing.content)
    assert wrong.is_error
    assert "no field 'command'" in str(wrong.content)


async def test_the_newest_protocol_needs_no_session(sandbox: Sandbox) -> None:
    async with httpx2.AsyncClient(headers=sandbox.headers, timeout=PATIENCE_SECONDS) as http:
        transport = streamable_http_client(f"{sandbox.base_url}/v1/mcp", http_client=http)
        async with Client(transport) as client:
            called = await client.call_tool("sandbox_get_packages", {"language": "python"})

    assert called.structured_content["result"].startswith("Python Packages:")


def test_curl_is_client_enough(sandbox: Sandbox) -> None:
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "sandbox_execute_bash", "arguments": {"cmd": "echo $((6*7))"}},
    }
    answer = sandbox.request("POST", "/mcp", json=call)

    assert answer.headers["content-type"] == "application/json"
    assert "42" in answer.json()["result"]["structuredContent"]["output"]


async def test_the_list_can_be_narrowed(sandbox: Sandbox) -> None:
    async with session(sandbox, "?readonly=1&search=sandbox_get") as opened:
        names = [tool.name for tool in (await opened.list_tools()).tools]

    assert names == ["sandbox_get_browser_info", "sandbox_get_context", "sandbox_get_packages"]


async def test_what_is_not_listed_by_default_is_called_all_the_same_and_a_wrong_toolset_is_named(sandbox: Sandbox) -> None:
    async with session(sandbox) as opened:
        names = {tool.name for tool in (await opened.list_tools()).tools}
        moved = await opened.call_tool("sandbox_screen_elements", {})
    assert len(names) <= 40
    assert "sandbox_screen_elements" not in names
    assert not moved.is_error

    answer = sandbox.request("POST", "/mcp?toolsets=dekstop", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
    assert "there is no toolset 'dekstop': there are default, browser" in answer.json()["error"]["message"]


def test_nobody_may_use_it_without_signing_in(sandbox: Sandbox) -> None:
    answer = sandbox.http.post(f"{sandbox.base_url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"})

    assert answer.status_code == 401


def test_the_mcp_process_is_back_after_it_was_killed(mended: Sandbox) -> None:
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert mended.request("POST", "/mcp", json=ping).json()["result"] == {}

    killed = mended.exec("pkill", "-9", "-f", "sandbox_server mcp")

    assert killed.code == 0, killed.stderr
    until(lambda: answers(mended, ping), told=mended.logs)


def answers(sandbox: Sandbox, body: dict[str, object]) -> bool:
    """Whether a call is answered; one that was under way when the process died is cut off, because it may have been carried out."""
    try:
        return sandbox.request("POST", "/mcp", json=body).status_code == 200
    except httpx.TransportError:
        return False
