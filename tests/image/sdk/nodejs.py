from uuid import uuid4

from tests.image.sdk.calls import Calls, drives


@drives(
    "nodejs.execute_code",
    "nodejs.get_info",
    "nodejs.create_session",
    "nodejs.list_sessions",
    "nodejs.get_session",
    "nodejs.update_session",
    "nodejs.delete_session",
)
async def nodejs(calls: Calls) -> None:
    name = uuid4().hex
    info = (await calls("nodejs.get_info", version="24")).data
    program = (await calls("nodejs.execute_code", code="console.log(require('./a').b)", files={"a.js": "exports.b = 5"}, stdin="x")).data
    made = (await calls("nodejs.create_session", session_id=name, version="24", max_idle_time=60)).data
    first = (await calls("nodejs.execute_code", session_id=name, code="const x = await 41; x + 1")).data
    changed = (await calls("nodejs.update_session", session_id=name, cwd="/usr", max_idle_time=90)).data
    second = (await calls("nodejs.execute_code", session_id=name, code="[process.cwd(), x]")).data
    found = (await calls("nodejs.get_session", session_id=name)).data
    listed = (await calls("nodejs.list_sessions", version="node24")).data
    gone = (await calls("nodejs.delete_session", session_id=name)).data

    assert (info.current_version, info.available_versions) == ("node24", ["node20", "node22", "node24"])
    assert (program.status, program.stdout, program.exit_code) == ("ok", "5\n", 0)
    assert (made.created, first.outputs[0].data, second.outputs[0].data) == (True, {"text/plain": "42"}, {"text/plain": "[ '/usr', 41 ]"})
    assert (changed.updated, found.session.max_idle_time, name in listed.sessions, gone.deleted) == (True, 90_000, True, True)
    assert (await calls.fails("nodejs.get_session", session_id=name)).status_code == 404
