"""Sessions that are created, changed, counted, listed and closed."""

import asyncio
import re

import pytest

from sandbox_server.core import Call, Caller, NotFound
from sandbox_server.features.shell.processes import ShellWaitRequest, ShellWriteToProcessRequest
from sandbox_server.features.shell.session_management import (
    MAX_COMMAND,
    ShellCreateSessionRequest,
    ShellSessionRef,
    ShellUpdateSessionRequest,
)
from tests.features.shell.asking import process_exists, shows
from tests.features.shell.conftest import Runner, Server, Shell
from tests.features.shell.test_terminal import terminal
from tests.patience import eventually

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
    assert await shell.listed() == {}
    assert (await Runner(shell, session)("echo there")).session_id == session
    assert list(await shell.listed()) == [session]


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
    listed = (await shell.listed())["busy"]

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


async def test_closing_a_busy_session_ends_what_it_has_started_but_what_ignores_hang_ups(shell: Shell) -> None:
    await Runner(shell, "s")("sleep 12346 & nohup sleep 12347 & while :; do :; done", timeout=0)
    await eventually(lambda: process_exists("sleep 12346"))
    await eventually(lambda: process_exists("sleep 12347"))
    await shell.sessions.cleanup_session(ShellSessionRef(session_id="s"))
    await eventually(lambda: process_exists("sleep 12346"), lambda there: not there)
    assert await process_exists("sleep 12347")
    await Runner(shell, "other")("pkill -f 'sleep 1234[7]'")


async def test_closing_a_busy_session_ends_what_has_chosen_a_name_to_be_overlooked(shell: Shell) -> None:
    program = "import ctypes, time; ctypes.CDLL(None).prctl(15, b'/*/*\\n) R 1 1'); print(100 + 23, flush=True); time.sleep(12348)"
    run = Runner(shell, "s")
    await run(f'python3 -c "{program}" & while :; do :; done', timeout=0)
    await shows(run, "123")
    line = f"python3 -c {program}"
    assert await process_exists(line)
    await shell.sessions.cleanup_session(ShellSessionRef(session_id="s"))
    await eventually(lambda: process_exists(line), lambda there: not there)


async def test_cleaning_up_closes_every_session(shell: Shell) -> None:
    for name in "ab":
        await Runner(shell, name)("true")
    reply = await shell.sessions.cleanup_all_sessions()

    assert reply.message == "2 sessions closed"
    assert await shell.listed() == {}


async def test_a_list_says_who_made_a_session_and_who_used_it_last(shell: Shell, server: Server) -> None:
    ann = Caller("ann", person=True)
    await Runner(shell, "agents")("true")
    async with terminal(shell, Call(ann, "request"), "hers") as page:
        page.say("input", "sleep 500 # mine\r")
        await eventually(lambda: shell.listed(), lambda listed: listed["hers"].current_command)
        listed, to_others = await shell.listed(ann), await shell.listed(Caller("bob", person=True))

    hers, agents = listed["hers"], listed["agents"]
    assert (hers.made_by, hers.owner, hers.yours, hers.last_input_by, hers.terminals) == ("person", "ann", True, "person", 1)
    assert (hers.current_command, hers.status) == ("sleep 500 # mine", "running")
    assert (agents.made_by, agents.owner, agents.yours, agents.last_input_by, agents.terminals) == ("agent", None, False, "agent", 0)
    assert not to_others["hers"].yours


async def test_what_the_agent_writes_in_a_persons_session_is_the_agents(shell: Shell, server: Server) -> None:
    async with terminal(shell, Call(Caller("ann", person=True), "request"), "hers"):
        unused = (await shell.listed())["hers"]
        await shell.processes.write_to_process(ShellWriteToProcessRequest(id="hers", input="ls", press_enter=False))
        used = (await shell.listed())["hers"]

    assert (unused.used, unused.last_input_at, unused.last_input_by) == (False, None, None)
    assert (used.used, used.last_input_by) == (True, "agent")


async def test_a_list_cuts_a_long_command_and_says_which_shells_have_ended(shell: Shell) -> None:
    await Runner(shell, "long")(f"sleep 600 # {'x' * 100_000}", timeout=0)
    await Runner(shell, "over")("exit")
    listed = await shell.listed()

    assert listed["long"].current_command == f"sleep 600 # {'x' * (MAX_COMMAND - 13)}…"
    assert (listed["long"].alive, listed["over"].alive) == (True, False)
