from tests.image.sdk.calls import Calls, drives


@drives("bash.create_session", "bash.exec", "bash.output", "bash.write", "bash.kill", "bash.sessions", "bash.close_session")
async def bash(calls: Calls) -> None:
    session = (await calls("bash.create_session", exec_dir="/tmp")).data
    ran = (await calls("bash.exec", session_id=session.session_id, command="pwd; echo $A; echo oops >&2; exit 4", env={"A": "b"})).data
    started = (await calls("bash.exec", session_id=session.session_id, command="read -r x; echo got $x; sleep 60", async_mode=True)).data
    await calls("bash.write", session_id=session.session_id, input="milk\n")
    read = (await calls("bash.output", session_id=session.session_id, command_id=started.command_id, wait=True, wait_timeout=30)).data
    await calls("bash.kill", session_id=session.session_id, signal="SIGTERM")
    listed = (await calls("bash.sessions")).data
    await calls("bash.close_session", session_id=session.session_id)

    assert (ran.status, ran.exit_code, ran.stdout, ran.stderr) == ("completed", 4, "/tmp\nb\n", "oops\n")
    assert read.stdout == "got milk\n"
    assert session.session_id in [found.session_id for found in listed]
    assert (await calls.fails("bash.close_session", session_id=session.session_id)).status_code == 404
