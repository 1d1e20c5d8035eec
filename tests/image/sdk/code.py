from tests.image.sdk.calls import Calls, drives


@drives("code.execute_code", "code.get_info")
async def code(calls: Calls) -> None:
    info = (await calls("code.get_info")).data
    python = (await calls("code.execute_code", language="python", code="print('hi'); 6 * 7")).data
    broken = (await calls("code.execute_code", language="python", code="1/0")).data
    script = (await calls("code.execute_code", language="javascript", code="console.log(1)", timeout=60)).data
    first = (await calls("code.execute_code", language="python", code="x = 1", stateful=True)).data
    second = (await calls("code.execute_code", language="python", code="x", stateful=True, session_id=first.session_id)).data

    assert {"python", "javascript"} <= {found.language for found in info.languages}
    assert (python.stdout, python.outputs[-1]["data"], python.exit_code) == ("hi\n", {"text/plain": "42"}, 0)
    assert (broken.status, broken.exit_code, bool(broken.traceback)) == ("error", 1, True)
    assert (script.stdout, second.outputs[0]["data"]) == ("1\n", {"text/plain": "1"})
