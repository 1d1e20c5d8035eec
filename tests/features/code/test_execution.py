"""The same questions in every language."""

from typing import Any

import anyio
import pytest

from sandbox_server.core import InvalidArgument, Reply
from sandbox_server.features.code.execution import CodeExecuteRequest, CodeExecuteResponse
from sandbox_server.features.code.languages import Code

pytestmark = pytest.mark.anyio


async def answered(code: Code, language: str, text: str, **fields: Any) -> Reply[CodeExecuteResponse]:
    with anyio.fail_after(60):
        reply: Reply[CodeExecuteResponse] = await code.execute_code(
            CodeExecuteRequest.model_validate({"language": language, "code": text, **fields})
        )
    return reply


async def run(code: Code, language: str, text: str, **fields: Any) -> CodeExecuteResponse:
    return (await answered(code, language, text, **fields)).data


@pytest.mark.parametrize(("language", "text"), [
    ("python", "import sys; print('out'); print('err', file=sys.stderr)"),
    ("javascript", "console.log('out'); console.error('err')"),
    ("typescript", "const text: string = 'out'; console.log(text); console.error('err')"),
    ("bash", "echo out; echo err >&2"),
])  # fmt: skip
async def test_streams_are_apart(code: Code, language: str, text: str) -> None:
    done = await run(code, language, text)

    assert (done.status, done.exit_code, done.stdout, done.stderr, done.session_id) == ("ok", 0, "out\n", "err\n", None)
    assert [(output["name"], output["text"]) for output in done.outputs] == [("stdout", "out\n"), ("stderr", "err\n")]


@pytest.mark.parametrize(("language", "text", "exit_code", "traced"), [
    ("python", "1/0", 1, True),
    ("javascript", "throw new Error('bad')", 1, True),
    ("bash", "exit 3", 3, False),
])  # fmt: skip
async def test_what_fails_has_an_exit_code(code: Code, language: str, text: str, exit_code: int, traced: bool) -> None:
    done = await run(code, language, text)

    assert (done.status, done.exit_code, bool(done.traceback)) == ("error", exit_code, traced)


@pytest.mark.parametrize(("language", "text"), [("python", "while True: pass"), ("javascript", "while (true);"), ("bash", "sleep 60")])
async def test_what_takes_too_long_is_stopped(code: Code, language: str, text: str) -> None:
    assert (await run(code, language, text, timeout=1)).status == "timeout"


@pytest.mark.parametrize(("language", "first", "second"), [
    ("python", "x = 41", "x + 1"),
    ("javascript", "let x = 41", "x + 1"),
    ("typescript", "let x: number = 41", "x + 1"),
])  # fmt: skip
async def test_variables_stay_with_a_session_only(code: Code, language: str, first: str, second: str) -> None:
    begun = await run(code, language, first, stateful=True)
    after = await run(code, language, second, stateful=True, session_id=begun.session_id, cwd="/usr")
    apart = await run(code, language, f"print({second})" if language == "python" else f"console.log({second})")

    assert (after.outputs[-1]["data"], after.session_id) == ({"text/plain": "42"}, begun.session_id)
    assert apart.status == "error"


async def test_a_script_keeps_no_shell_and_may_be_long(code: Code) -> None:
    with pytest.raises(InvalidArgument, match="stateful"):
        await run(code, "bash", "true", stateful=True)
    assert (await run(code, "bash", f"echo long # {'x' * 200_000}")).stdout == "long\n"
    with pytest.raises(InvalidArgument, match="/no/such"):
        await run(code, "bash", "true", cwd="/no/such")


async def test_what_ended_a_script_and_what_was_left_out_is_said(code: Code) -> None:
    killed = await answered(code, "bash", "kill -KILL $$")
    long = await answered(code, "bash", "head -c 200000 /dev/zero")

    assert (killed.data.exit_code, killed.hint) == (None, "it was ended by signal 9")
    assert (len(long.data.stdout or ""), long.hint) == (100_000, "100000 bytes of output were over the limit and were not kept")


@pytest.mark.parametrize(("language", "text"), [
    ("python", "import sys; sys.stdout.write('y' * {size}); None"),
    ("javascript", "process.stdout.write('y'.repeat({size}))"),
    ("typescript", "const size: number = {size}; process.stdout.write('y'.repeat(size))"),
    ("bash", "head -c {size} /dev/zero | tr '\\0' y"),
])  # fmt: skip
async def test_a_stream_holds_what_the_setting_says_and_what_is_over_is_said_exactly(code: Code, language: str, text: str) -> None:
    whole = await run(code, language, text.replace("{size}", "100000"))
    cut = await answered(code, language, text.replace("{size}", "100007"))

    assert (whole.stdout, whole.dropped_bytes) == ("y" * 100_000, 0)
    assert (cut.data.stdout, cut.data.dropped_bytes) == ("y" * 100_000, 7)
    assert cut.hint == "7 bytes of output were over the limit and were not kept"


async def test_output_that_goes_on_for_long_after_the_limit_is_counted_exactly(code: Code) -> None:
    text = "for _ in range(50): print('é' * 5000, flush=True)"
    cut = await run(code, "python", text)

    assert len((cut.stdout or "").encode()) + cut.dropped_bytes == 50 * 10_001


async def test_a_value_of_a_session_is_cut_at_the_limit_too(code: Code) -> None:
    done = await run(code, "javascript", "Array(20).fill('x'.repeat(9000))", stateful=True)
    text = done.outputs[0]["data"]["text/plain"]

    assert 90_000 < len(text) <= 100_000
    assert len(text) + done.dropped_bytes > 180_000
