"""Node.js as a caller sees it."""

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from sandbox_server.core import InvalidArgument, NotFound
from sandbox_server.features.nodejs.execution import NodeJSExecuteRequest, NodeJSExecuteResponse
from sandbox_server.features.nodejs.runtimes import (
    NodeJS,
    NodeJSCreateSessionRequest,
    NodeJSSessionRef,
    NodeJSUpdateSessionRequest,
    NodeJSVersion,
)

if TYPE_CHECKING:
    from tests.conftest import SpawnerDaemon

pytestmark = pytest.mark.anyio


async def run(nodejs: NodeJS, code: str, **fields: Any) -> NodeJSExecuteResponse:
    with anyio.fail_after(60):
        response: NodeJSExecuteResponse = (await nodejs.execute_code(NodeJSExecuteRequest(code=code, **fields))).data
    return response


async def test_a_program_runs_apart_and_a_session_remembers(nodejs: NodeJS) -> None:
    program = await run(nodejs, "globalThis.x = 1; console.log('hi')")
    first = await run(nodejs, "let x = 41", stateful=True)
    second = await run(nodejs, "x + 1", session_id=first.session_id)

    assert (program.stdout, program.session_id, program.execution_count) == ("hi\n", None, None)
    assert (second.outputs[0].data, second.execution_count, second.session_id) == ({"text/plain": "42"}, 2, first.session_id)


async def test_files_are_there_for_a_program_and_for_a_session(nodejs: NodeJS, spawner: "SpawnerDaemon") -> None:
    code = "console.log(require('fs').readFileSync('a.txt', 'utf8'))"
    assert (await run(nodejs, code, files={"a.txt": "A"})).stdout == "A\n"
    assert list(spawner.workspace.iterdir()) == []
    assert (await run(nodejs, code, files={"a.txt": "B"}, session_id="s")).stdout == "B\n"


async def test_versions_languages_and_directories_are_fields(nodejs: NodeJS) -> None:
    assert (await run(nodejs, "console.log(process.version)", version="24")).stdout.startswith("v24.")
    assert (await run(nodejs, "console.log(1 as number)", language="typescript")).stdout == "1\n"
    assert (await run(nodejs, "process.cwd()", session_id="s", cwd="/usr")).outputs[0].data == {"text/plain": "'/usr'"}
    assert (await run(nodejs, "process.cwd()", session_id="s", cwd="/etc")).outputs[0].data == {"text/plain": "'/etc'"}
    with pytest.raises(InvalidArgument, match="relative"):
        await run(nodejs, "1", cwd="relative")


async def test_sessions_are_created_described_changed_and_deleted(nodejs: NodeJS) -> None:
    made = await nodejs.create_session(NodeJSCreateSessionRequest(session_id="s", version="20", max_idle_time=60))
    again = await nodejs.create_session(NodeJSCreateSessionRequest(session_id="s"))
    changed = await nodejs.update_session(NodeJSUpdateSessionRequest(session_id="s", cwd="/usr", max_idle_time=90))
    ref = NodeJSSessionRef(session_id="s")

    assert (made.created, again.created) == (True, False)
    assert made.session
    assert (made.session.max_idle_time, made.session.state, made.session.version) == (60_000, "IDLE", "node20")
    assert (changed.session.cwd, changed.session.max_idle_time) == ("/usr", 90_000)
    assert (await nodejs.get_session(ref)).session == changed.session
    assert list((await nodejs.list_sessions(NodeJSVersion(version="20"))).sessions) == ["s"]
    assert (await nodejs.list_sessions(NodeJSVersion(version="22"))).sessions == {}
    assert (await run(nodejs, "process.cwd()", session_id="s")).outputs[0].data == {"text/plain": "'/usr'"}
    assert (await nodejs.delete_session(ref)).deleted
    with pytest.raises(NotFound):
        await nodejs.get_session(ref)


async def test_the_description_names_what_there_is(nodejs: NodeJS) -> None:
    info = await nodejs.get_info(NodeJSVersion(version="node20"))

    assert (info.current_version, info.supported_languages, info.runtime_directory) == ("node20", ["javascript"], "/opt/node/20")
    assert info.node_version.startswith("v20.")
    assert (info.available_versions, bool(info.npm_version)) == (["node20", "node22", "node24"], True)
