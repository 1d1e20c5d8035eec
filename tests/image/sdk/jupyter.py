from uuid import uuid4

from tests.image.sdk.calls import Calls, drives


@drives(
    "jupyter.execute_code",
    "jupyter.get_info",
    "jupyter.create_session",
    "jupyter.list_sessions",
    "jupyter.delete_session",
    "jupyter.delete_sessions",
)
async def jupyter(calls: Calls) -> None:
    name = uuid4().hex
    info = (await calls("jupyter.get_info")).data
    made = (await calls("jupyter.create_session", session_id=name, kernel_name="python3.12", cwd="/usr")).data
    first = (await calls("jupyter.execute_code", session_id=name, code="import os, sys; x = os.getcwd(); print(sys.version_info[:2])")).data
    second = (await calls("jupyter.execute_code", session_id=name, code="x", timeout=30)).data
    broken = (await calls("jupyter.execute_code", session_id=name, code="1/0")).data
    late = (await calls("jupyter.execute_code", session_id=name, code="while True: pass", timeout=1)).data
    listed = (await calls("jupyter.list_sessions")).data
    await calls("jupyter.delete_session", session_id=name)
    gone = await calls.fails("jupyter.delete_session", session_id=name)
    await calls("jupyter.delete_sessions")

    assert {"python3", "python3.10", "python3.11", "python3.12"} <= set(info.available_kernels)
    assert (made.session_id, made.kernel_name, listed.sessions[name].kernel_name) == (name, "python3.12", "python3.12")
    assert (first.status, first.outputs[0].text, second.outputs[0].data) == ("ok", "(3, 12)\n", {"text/plain": "'/usr'"})
    assert (broken.status, broken.outputs[0].ename, late.status) == ("error", "ZeroDivisionError", "timeout")
    assert gone.status_code == 404
    assert (await calls("jupyter.list_sessions")).data.sessions == {}
