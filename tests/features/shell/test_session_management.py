"""Sessions that are created, changed, counted, listed and closed."""

import asyncio
import re

import pytest

from sandbox_server.core import Call, Caller, NotFound
from sandbox_server.features.shell.processes import ShellWaitRequest, ShellWriteToProcessRequest
from sandbox_server.features.shell.session_management import ShellCreateSessionRequest, ShellSessionRef, ShellUpdateSessionRequest
from tests.features.shell.asking import process_exists
from tests.features.shell.conftest import Runner, Server, Shell, eventually

pytestmark = pytest.mark.anyio

CALL = Call(Caller("agent"), "request", base_url="http://here:8080")


async def test_the_sessions_own_no_change_timeout_counts_until_a_command_has_another(shell: Shell) -> None:
    await shell.sessions.create_session(ShellCreateSessionRequest(id="quick", no_change_timeout=1))
    run = Runner(shell, "quick")
    first = await run("read -r line")
    await shell.processes.write_to_process(ShellWriteToProcessRequest(id="quick", input="", press_enter=True))
    await shell.processes.wait_for_process(ShellWaitRequest(id="quick"))
    second = await run("sleep 1.5", no_change_timeout=30)
    await shell.sessions.update_session(ShellUpdateSessionRequest(id="quick", no_change_timeout=0))
    third = await run("sleep 1.5")

    assert [first.status, second.status, third.status] == ["no_change_timeout", "completed", "completed"]


async def test_a_terminal_url_names_a_session_that_is_made_when_it_is_opened(shell: Shell) -> None:
    url = await shell.sessions.get_terminal_url(CALL)
    address, _, session = url.partition("?session_id=")

    assert address == "http://here:8080/terminal"
    assert (await shell.sessions.list_sessions()).sessions == {}
    assert (await Runner(shell, session)("echo there")).session_id == session
    assert list((await shell.sessions.list_sessions()).sessions) == [session]


async def test_a_session_that_a_terminal_url_promised_can_be_closed_before_it_is_made(shell: Shell) -> None:
    session = (await shell.sessions.get_terminal_url(CALL)).partition("?session_id=")[2]
    await shell.sessions.cleanup_session(ShellSessionRef(session_id=session))

    with pytest.raises(NotFound, match="Session not found"):
        await Runner(shell, session)("true")
    with pytest.raises(NotFound, match="Session not found"):
        await shell.sessions.cleanup_session(ShellSessionRef(session_id=session))


async def test_creating_a_session_twice_gives_the_same_one(shell: Shell, server: Server) -> None:
    first = (await shell.sessions.create_session(ShellCreateSessionRequest(id="one", exec_dir="/usr"))).data
    second = (await shell.sessions.create_session(ShellCreateSessionRequest(id="one", exec_dir="/etc"))).data

    assert (first.session_id, first.working_dir) == ("one", "/usr")
    assert second == first


async def test_an_empty_id_is_made_up(shell: Shell) -> None:
    created = (await shell.sessions.create_session(ShellCreateSessionRequest(id=""))).data

    assert re.fullmatch(r"[0-9a-f-]{36}", created.session_id)


async def test_a_session_starts_in_the_directory_a_link_leads_to_unless_links_are_kept(shell: Shell, server: Server) -> None:
    (server.home / "real").mkdir()
    (server.home / "link").symlink_to("real")
    link = f"{server.home}/link"
    physical = (await shell.sessions.create_session(ShellCreateSessionRequest(exec_dir=link))).data
    logical = (await shell.sessions.create_session(ShellCreateSessionRequest(exec_dir=link, preserve_symlinks=True))).data

    assert (physical.working_dir, logical.working_dir) == (f"{server.home}/real", link)


async def test_stats_count_the_sessions(shell: Shell) -> None:
    await Runner(shell, "a")("true")
    stats = await shell.sessions.get_session_stats()

    assert (stats.total_sessions, stats.active_sessions, stats.idle_sessions) == (1, 1, 0)
    assert (stats.max_sessions, stats.session_timeout, stats.usage_ratio) == (4, 0, 0.25)


async def test_a_list_says_what_runs(shell: Shell) -> None:
    await Runner(shell, "busy")("cd /usr; sleep 60", timeout=0)
    listed = (await shell.sessions.list_sessions()).sessions["busy"]

    assert (listed.status, listed.current_command) == ("running", "cd /usr; sleep 60")


async def test_closing_a_session_ends_what_runs_in_it(shell: Shell) -> None:
    runner = Runner(shell, "s")
    await runner("sleep 12345", timeout=0)
    waiting = asyncio.create_task(shell.processes.wait_for_process(ShellWaitRequest(id="s", seconds=20)))
    await asyncio.sleep(0)
    await shell.sessions.cleanup_session(ShellSessionRef(session_id="s"))
    async with asyncio.timeout(30):
        await waiting
    await eventually(lambda: process_exists("sleep 12345"), lambda there: not there)


async def test_cleaning_up_closes_every_session(shell: Shell) -> None:
    for name in "ab":
        await Runner(shell, name)("true")
    reply = await shell.sessions.cleanup_all_sessions()

    assert reply.message == "2 sessions closed"
    assert (await shell.sessions.list_sessions()).sessions == {}
