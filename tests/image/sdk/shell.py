from uuid import uuid4

from tests.image.sdk.calls import Calls, drives


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
    waited = (await calls("shell.wait_for_process", id=session, seconds=30)).data
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


@drives("shell.cleanup_all_sessions")
async def everything_goes(calls: Calls) -> None:
    session = (await calls("shell.create_session")).data.session_id
    await calls("shell.cleanup_all_sessions")

    assert session not in (await calls("shell.list_sessions")).data.sessions
