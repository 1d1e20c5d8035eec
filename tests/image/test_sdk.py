"""Every method of the published SDK for what is built, by its blocking and by its asynchronous client, through the gateway."""

import inspect
import io
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from operator import attrgetter
from typing import Any
from uuid import uuid4

import httpx
import pytest
from agent_sandbox import AsyncSandbox
from agent_sandbox import Sandbox as BlockingSandbox
from agent_sandbox.core.api_error import ApiError

from tests.image.container import Sandbox

pytestmark = pytest.mark.anyio

GROUPS = ("sandbox", "shell", "bash", "file", "auth")
"""The SDK's groups of methods that are built."""

UNUSABLE = {"file.watch_events": "it answers a stream of events, which the SDK reads to its end before it gives anything"}


class Calls:
    """Calls methods of either client by name, as in `await calls("file.read_file", file="/tmp/x")`."""

    def __init__(self, client: BlockingSandbox | AsyncSandbox) -> None:
        self._client = client

    async def __call__(self, name: str, /, **arguments: Any) -> Any:
        """Call a method, and read what it streams."""
        result = attrgetter(name)(self._client)(**arguments)
        if inspect.isawaitable(result):
            return await result
        if hasattr(result, "__aiter__"):
            return b"".join([chunk async for chunk in result])
        return b"".join(result) if isinstance(result, Iterator) else result

    async def fails(self, name: str, /, **arguments: Any) -> ApiError:
        """Call a method that fails."""
        with pytest.raises(ApiError) as failed:
            await self(name, **arguments)
        return failed.value


type Scenario = Callable[[Calls], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}


def drives(*names: str) -> Callable[[Scenario], Scenario]:
    """Register what drives these methods."""

    def register(scenario: Scenario) -> Scenario:
        SCENARIOS.update(dict.fromkeys(names, scenario))
        return scenario

    return register


@pytest.fixture(params=["blocking", "asynchronous"])
async def calls(sandbox: Sandbox, request: pytest.FixtureRequest) -> AsyncIterator[Calls]:
    if request.param == "blocking":
        with httpx.Client(timeout=30, trust_env=False) as client:
            yield Calls(BlockingSandbox(base_url=sandbox.base_url, headers=sandbox.headers, httpx_client=client))
    else:
        async with httpx.AsyncClient(timeout=30, trust_env=False) as client:
            yield Calls(AsyncSandbox(base_url=sandbox.base_url, headers=sandbox.headers, httpx_client=client))


def a_path(name: str = "x") -> str:
    """A path that no other test uses, as long as the directory above it is made by writing."""
    return f"/tmp/sdk-{uuid4().hex}/{name}"


@drives("sandbox.get_context")
async def describe(calls: Calls) -> None:
    answer = await calls("sandbox.get_context")

    assert answer.success is True
    assert (answer.home_dir, answer.detail.system.user, answer.detail.system.arch) == ("/home/gem", "gem", "x86_64")
    assert answer.detail.runtime.python[0].ver.startswith("3.")
    assert "- Home directory: /home/gem" in answer.data


@drives("sandbox.get_python_packages", "sandbox.get_nodejs_packages")
async def packages(calls: Calls) -> None:
    for name in ("sandbox.get_python_packages", "sandbox.get_nodejs_packages"):
        assert isinstance((await calls(name)).data, list)


@drives("sandbox.register_hook", "sandbox.list_hooks", "sandbox.remove_hook")
async def hooks(calls: Calls) -> None:
    name = f"hook-{uuid4().hex[:8]}"
    made = (await calls("sandbox.register_hook", name=name, command="true", timeout=3.5, priority=7)).data
    listed = (await calls("sandbox.list_hooks", event="shutdown")).data
    await calls("sandbox.remove_hook", name=name)

    assert (made.name, made.event, made.command, made.timeout, made.priority, made.source) == (name, "shutdown", "true", 3.5, 7, "api")
    assert name in [hook.name for hook in listed]
    assert (await calls.fails("sandbox.remove_hook", name=name)).status_code == 404


@drives("auth.create_ticket", "auth.authenticate")
async def tickets(calls: Calls) -> None:
    ticket = await calls("auth.create_ticket")

    assert ticket["expires_in"] > 0
    assert ticket["ticket"] != (await calls("auth.create_ticket"))["ticket"]
    assert "caller" in await calls("auth.authenticate")


@drives("shell.create_session", "shell.exec_command", "shell.view", "shell.cleanup_session")
async def shell(calls: Calls) -> None:
    session = (await calls("shell.create_session", exec_dir="/tmp")).data
    first = (await calls("shell.exec_command", id=session.session_id, command="export A=5; cd /; echo hello")).data
    second = (await calls("shell.exec_command", id=session.session_id, command="echo $A $PWD; (exit 3)")).data
    seen = (await calls("shell.view", id=session.session_id)).data
    await calls("shell.cleanup_session", session_id=session.session_id)

    assert session.working_dir == "/tmp"
    assert (first.status, first.exit_code, first.output.strip()) == ("completed", 0, "hello")
    assert (second.status, second.exit_code, second.output.strip()) == ("completed", 3, "5 /")
    assert seen.session_id == session.session_id
    assert "hello" in seen.output
    gone = await calls.fails("shell.view", id=session.session_id)
    assert (gone.status_code, gone.body["message"]) == (404, "Session not found")


@drives("shell.write_to_process", "shell.wait_for_process", "shell.kill_process")
async def processes(calls: Calls) -> None:
    session = (await calls("shell.create_session")).data.session_id
    started = (await calls("shell.exec_command", id=session, command="read -r line; echo got $line", async_mode=True)).data
    await calls("shell.write_to_process", id=session, input="milk", press_enter=True)
    waited = (await calls("shell.wait_for_process", id=session, seconds=10)).data
    seen = (await calls("shell.view", id=session)).data
    await calls("shell.exec_command", id=session, command="sleep 60", async_mode=True)
    killed = (await calls("shell.kill_process", id=session)).data
    await calls("shell.cleanup_session", session_id=session)

    assert started.status == "running"
    assert waited.status == "completed"
    assert "got milk" in seen.output
    assert killed.status == "terminated"


@drives("shell.update_session", "shell.list_sessions", "shell.get_session_stats")
async def sessions(calls: Calls) -> None:
    session = (await calls("shell.create_session", id=f"sdk-{uuid4().hex[:8]}")).data.session_id
    await calls("shell.update_session", id=session, no_change_timeout=1)
    quiet = (await calls("shell.exec_command", id=session, command="sleep 20")).data
    listed = (await calls("shell.list_sessions")).data.sessions
    stats = (await calls("shell.get_session_stats")).data
    await calls("shell.cleanup_session", session_id=session)

    assert quiet.status == "no_change_timeout"
    assert listed[session].current_command == "sleep 20"
    assert 1 <= stats.active_sessions <= stats.total_sessions <= stats.max_sessions


@drives("shell.get_terminal_url")
async def terminal(calls: Calls) -> None:
    url = (await calls("shell.get_terminal_url")).data

    assert "/terminal" in url
    await calls("shell.cleanup_session", session_id=url.partition("session_id=")[2])


@drives("bash.create_session", "bash.exec", "bash.output", "bash.write", "bash.kill", "bash.sessions", "bash.close_session")
async def bash(calls: Calls) -> None:
    session = (await calls("bash.create_session", exec_dir="/tmp")).data
    ran = (await calls("bash.exec", session_id=session.session_id, command="pwd; echo $A; echo oops >&2; exit 4", env={"A": "b"})).data
    started = (await calls("bash.exec", session_id=session.session_id, command="read -r x; echo got $x; sleep 60", async_mode=True)).data
    await calls("bash.write", session_id=session.session_id, input="milk\n")
    read = (await calls("bash.output", session_id=session.session_id, command_id=started.command_id, wait=True, wait_timeout=10)).data
    await calls("bash.kill", session_id=session.session_id, signal="SIGTERM")
    listed = (await calls("bash.sessions")).data
    await calls("bash.close_session", session_id=session.session_id)

    assert (ran.status, ran.exit_code, ran.stdout, ran.stderr) == ("completed", 4, "/tmp\nb\n", "oops\n")
    assert read.stdout == "got milk\n"
    assert session.session_id in [found.session_id for found in listed]
    assert (await calls.fails("bash.close_session", session_id=session.session_id)).status_code == 404


@drives("file.write_file", "file.read_file", "file.replace_in_file", "file.search_in_file")
async def files(calls: Calls) -> None:
    path = a_path("ü.txt")
    written = (await calls("file.write_file", file=path, content="one\ntwo\nthree", trailing_newline=True)).data
    replaced = (await calls("file.replace_in_file", file=path, old_str="two", new_str="2")).data
    read = (await calls("file.read_file", file=path)).data
    part = (await calls("file.read_file", file=path, start_line=1, end_line=2)).data
    found = (await calls("file.search_in_file", file=path, regex="t.ree")).data
    missing = await calls("file.read_file", file="/tmp/missing.txt")

    assert (written.file, written.bytes_written, replaced.replaced_count) == (path, 14, 1)
    assert (read.content, part.content.strip(), found.line_numbers) == ("one\n2\nthree\n", "2", [3])
    assert missing.success is False
    assert (missing.data.error_type, missing.data.errno_name) == ("not_found", "ENOENT")
    assert missing.message == "Failed to read file: [Errno 2] No such file or directory: '/tmp/missing.txt'"


@drives("file.list_path", "file.find_files", "file.glob_files", "file.grep_files")
async def searches(calls: Calls) -> None:
    path = a_path("deep/notes.md")
    folder = path.removesuffix("/deep/notes.md")
    await calls("file.write_file", file=path, content="a line\nneedle here\n")
    listed = (await calls("file.list_path", path=folder, recursive=True, file_types=[".md"], sort_by="size")).data
    found = (await calls("file.find_files", path=folder, glob="*.md")).data
    globbed = (await calls("file.glob_files", path=folder, pattern="**/*.md", sort_desc=True)).data
    matched = (await calls("file.grep_files", path=folder, pattern="need.e", include=["*.md"], context_before=1)).data

    assert path in [entry.path for entry in listed.files]
    assert (found.files, [entry.path for entry in globbed.files]) == ([path], [path])
    assert (matched.match_count, matched.matches[0].line_number, matched.matches[0].context_before) == (1, 2, ["a line"])


@drives("file.upload_file", "file.download_file")
async def transfers(calls: Calls) -> None:
    path, content = a_path("data.bin"), bytes(range(256)) * 4096
    uploaded = (await calls("file.upload_file", file=("data.bin", io.BytesIO(content)), path=path)).data

    assert (uploaded.file_path, uploaded.file_size) == (path, len(content))
    assert await calls("file.download_file", path=path) == content
    assert (await calls.fails("file.download_file", path="/nowhere/at/all")).status_code == 404


@drives("file.str_replace_editor")
async def editor(calls: Calls) -> None:
    path = a_path("code.py")
    await calls("file.str_replace_editor", command="create", path=path, file_text="a = 1\nb = 2\n")
    await calls("file.str_replace_editor", command="str_replace", path=path, old_str="a = 1", new_str="a = 3")
    await calls("file.str_replace_editor", command="insert", path=path, insert_line=2, new_str="c = 4")
    shown = (await calls("file.str_replace_editor", command="view", path=path, view_range=[1, 3])).data
    await calls("file.str_replace_editor", command="undo_edit", path=path)
    read = (await calls("file.read_file", file=path)).data

    assert "a = 3" in shown.output
    assert "c = 4" in shown.output
    assert read.content == "a = 3\nb = 2\n"


@drives("file.watch_create", "file.watch_list", "file.watch_poll", "file.watch_wait", "file.watch_stop")
async def watches(calls: Calls) -> None:
    path = a_path("seen.txt")
    await calls("file.write_file", file=path, content="")
    made = await calls("file.watch_create", path=path.removesuffix("/seen.txt"), debounce=50)
    watcher = made["data"]["watcher_id"]
    await calls("file.write_file", file=path, content="news")
    polled = await calls("file.watch_poll", watcher_id=watcher, timeout=10)
    later = await calls("file.watch_poll", watcher_id=watcher, since=polled["cursor"])
    waited = await calls("file.watch_wait", path=path, timeout=5, event_types=["create"])
    listed = await calls("file.watch_list")
    await calls("file.watch_stop", watcher_id=watcher)

    assert made["watcher_id"] == watcher
    assert path in [event["path"] for event in polled["events"]]
    assert polled["events"][-1]["seq"] not in [event["seq"] for event in later["events"]]
    assert waited["event"]["path"] == path
    assert watcher in str(listed)
    assert (await calls.fails("file.watch_poll", watcher_id=watcher)).status_code == 404


@drives("shell.cleanup_all_sessions")
async def everything_goes(calls: Calls) -> None:
    session = (await calls("shell.create_session")).data.session_id
    await calls("shell.cleanup_all_sessions")

    assert session not in (await calls("shell.list_sessions")).data.sessions


@pytest.mark.parametrize("scenario", list(dict.fromkeys(SCENARIOS.values())), ids=lambda scenario: scenario.__name__)
async def test_the_sdk(calls: Calls, scenario: Scenario) -> None:
    await scenario(calls)


def test_every_method_of_the_sdk_is_driven() -> None:
    client = BlockingSandbox(base_url="http://nowhere")
    methods = {
        f"{group}.{name}"
        for group in GROUPS
        for name, method in inspect.getmembers(getattr(client, group), inspect.ismethod)
        if not name.startswith("_")
    }

    assert methods == {*SCENARIOS, *UNUSABLE}
