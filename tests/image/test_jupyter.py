"""Python code through the gateway: what is installed, what it may do to the computer, and what becomes of its session."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.image.container import Sandbox
from tests.patience import until

FORK_BOMB = """
import os
while True:
    try:
        os.fork()
    except BaseException:
        pass
"""

HOGS = """
import os
ready, begin = os.pipe()
for _ in range(6):  # half a gigabyte each, together more than there is
    if os.fork() == 0:
        os.close(begin)
        os.read(ready, 1)
        hog = []
        try:
            while True:
                hog.append(bytearray(1 << 24))
        finally:
            os._exit(1)
os.close(begin)
print("ends:", len([os.wait() for _ in range(6)]))
"""


@pytest.fixture(scope="module")
def own(sandbox_with: Callable[..., Sandbox]) -> Sandbox:
    """A container with a box, where code may start 100 processes and threads, of which a kernel has 11, have half a gigabyte, and put
    out 64 KiB."""
    env = {"BOX_MAX_PROCESSES": "200", "CODE_MEMORY_BYTES": str(512 << 20), "CODE_OUTPUT_BYTES": "65536"}
    return sandbox_with(env=env, args=["--memory=2g", "--memory-swap=2g", "--security-opt=systempaths=unconfined"])


def run(sandbox: Sandbox, code: str, **fields: Any) -> dict[str, Any]:
    """Run code, and give what became of it with the hint."""
    answer = sandbox.request("POST", "/v1/jupyter/execute", json={"code": code, "session_id": "s", **fields}).json()
    assert answer["success"], answer
    return {**answer["data"], "hint": answer["hint"]}


def text(result: dict[str, Any]) -> str:
    """Everything it wrote."""
    return "".join(output["text"] or "" for output in result["outputs"])


@pytest.mark.parametrize("version", ["3.10", "3.11", "3.12", "3.13"])
def test_each_python_has_its_pip_and_its_kernel_imports_what_the_agent_installs(sandbox: Sandbox, version: str) -> None:
    done = sandbox.request("POST", "/v1/bash/exec", json={"command": f"pip{version} --version", "timeout": 60}).json()["data"]
    code = "import site, sys; print(site.ENABLE_USER_SITE, site.getusersitepackages())"
    result = run(sandbox, code, session_id=f"pip-{version}", kernel_name=f"python{version}")

    assert (done["exit_code"], f"(python {version})" in done["stdout"]) == (0, True)
    assert text(result) == f"True /home/gem/.local/lib/python{version}/site-packages\n"
    sandbox.request("DELETE", f"/v1/jupyter/sessions/pip-{version}")


def test_a_plot_is_a_picture(sandbox: Sandbox) -> None:
    result = run(sandbox, "import matplotlib.pyplot as plt; plt.plot([1, 3, 2]); plt.show()", session_id="plot", timeout=120)

    assert result["outputs"][-1]["data"]["image/png"].startswith("iVBOR")
    sandbox.request("DELETE", "/v1/jupyter/sessions/plot")


def test_a_kernel_that_is_killed_is_an_error_at_once_and_the_session_goes_on(own: Sandbox) -> None:
    dead = run(own, "import os; os.kill(os.getpid(), 9)")
    after = run(own, "1 + 1")

    assert (dead["status"], dead["outputs"][-1]["evalue"]) == ("error", "the kernel ended by SIGKILL")
    assert (after["status"], "new one" in after["hint"]) == ("ok", True)


def test_a_fork_bomb_leaves_the_server_answering_and_is_over_with_its_timeout(own: Sandbox) -> None:
    result = run(own, FORK_BOMB, timeout=3)

    assert result["status"] == "timeout"
    assert own.answers()
    until(lambda: is_calm(own))
    assert run(own, "2")["status"] == "ok"


def is_calm(sandbox: Sandbox) -> bool:
    """Whether the processes of a fork bomb are gone, so that there is room for a kernel; while they are there, commands may find none."""
    told = sandbox.request("POST", "/v1/bash/exec", json={"command": "ps -L -u gem | wc -l"}).json()["data"]
    counted: str = told["stdout"] if told else ""
    return counted.strip().isdigit() and 0 < int(counted) < 60


def test_a_kernel_s_processes_say_whose_they_are(own: Sandbox) -> None:
    run(own, "import subprocess; child = subprocess.Popen(['sleep', '600'])")
    named = own.run("bash", "-c", "grep -lsa TANDEM_SESSION=jupyter:s /proc/[0-9]*/environ | wc -l")
    run(own, "child.kill()")

    assert int(named.stdout) >= 2


def test_a_fork_bomb_that_outlives_its_kernel_is_over_with_it(own: Sandbox) -> None:
    result = run(own, f"import os\nif os.fork(): os._exit(3)\n{FORK_BOMB}", session_id="bomb")
    until(lambda: is_calm(own))
    after = run(own, "1 + 1", session_id="bomb")
    own.request("DELETE", "/v1/jupyter/sessions/bomb")

    assert (result["status"], result["exit_code"], after["status"]) == ("error", 3, "ok")


def test_a_relay_that_is_killed_is_replaced_and_no_variable_is_lost(own: Sandbox) -> None:
    run(own, "x = 41")
    killed = own.run("sh", "-c", "relay=$(pgrep -f '[k]ernels/relay') && kill -KILL $relay && timeout 30 tail --pid=$relay -f /dev/null")
    result = run(own, "x + 1")

    assert killed.code == 0
    assert (result["outputs"][0]["data"], result["hint"]) == ({"text/plain": "42"}, None)


def test_who_uses_up_the_memory_is_ended_and_nobody_else(own: Sandbox) -> None:
    relay = "pgrep -f [k]ernels/relay"
    run(own, "x = 41")
    before = own.run("bash", "-c", relay)
    result = run(own, HOGS, timeout=120, session_id="hogs")
    own.request("DELETE", "/v1/jupyter/sessions/hogs")

    assert (result["status"], "ends: 6\n" in text(result)) == ("ok", True), result["outputs"]
    assert run(own, "x + 1")["outputs"][0]["data"] == {"text/plain": "42"}
    assert own.run("bash", "-c", relay) == before


def test_a_memory_hog_is_an_error_of_its_own(own: Sandbox) -> None:
    result = run(own, "hog = []\nwhile True: hog.append(bytearray(1 << 24))", timeout=60, session_id="hog")
    own.request("DELETE", "/v1/jupyter/sessions/hog")  # it keeps what it has

    assert result["status"] == "error"
    assert result["outputs"][-1]["ename"] in ("MemoryError", "KernelEnded")
    assert run(own, "2")["status"] == "ok"


def test_too_much_output_is_cut_and_said(own: Sandbox) -> None:
    result = run(own, "for _ in range(20_000): print('x' * 1000)", timeout=120)

    assert result["status"] == "ok"
    assert result["dropped_bytes"] > 15_000_000
    assert "over the limit" in result["hint"]


def test_a_restarted_box_has_the_sessions_with_new_kernels(own: Sandbox) -> None:
    run(own, "x = 1")
    assert own.request("POST", "/v1/box/restart").json()["success"]
    result = run(own, "'x' in globals()")

    assert (result["outputs"][0]["data"], "without the variables" in result["hint"]) == ({"text/plain": "False"}, True)


def test_a_suspended_box_goes_on_with_what_its_kernels_knew(own: Sandbox) -> None:
    run(own, "x = 41")
    assert own.request("POST", "/v1/suspend").json()["success"]

    assert run(own, "x + 1")["outputs"][0]["data"] == {"text/plain": "42"}


def test_without_jupyter_no_kernel_runs_and_the_answer_says_why(start_sandbox: Callable[..., Sandbox]) -> None:
    without = start_sandbox(env={"DISABLE_JUPYTER": "true"})
    answer = without.request("POST", "/v1/jupyter/execute", json={"code": "1"})

    assert (answer.status_code, "disabled" in answer.json()["message"]) == (503, True)
    until(lambda: without.exec("pgrep", "-f", "kernels/(kernel|launch|relay|zygote_program)").code == 1)


def test_a_kernel_of_each_call_s_own_is_forked_and_knows_nothing_of_the_one_before(sandbox: Sandbox) -> None:
    body = {"language": "python", "code": "import os; print(os.getppid(), open('/proc/self/cmdline').read()[:14], 'x' in globals()); x = 1"}
    said = [sandbox.request("POST", "/v1/code/execute", json=body).json()["data"]["stdout"] for _ in range(2)]

    assert said == ["0 kernels/kernel False\n"] * 2


def test_a_forked_kernel_that_is_isolated_is_kept_from_what_its_policy_says(sandbox: Sandbox) -> None:
    rights = "[line.split()[1].strip('0') for line in open('/proc/self/status') if line[:6] in ('CapPrm', 'CapEff', 'CapAmb')]"
    code = f"print(open('/proc/self/cmdline').read()[:16], *{rights}, sep='|'); open('/home/gem/no', 'w')"
    body = {"language": "python", "code": code, "isolation": {"write": {"allow": ["/tmp"]}}}
    result = sandbox.request("POST", "/v1/code/execute", json=body).json()["data"]

    assert (result["stdout"], result["outputs"][-1]["ename"]) == ("kernels/isolated|||\n", "PermissionError")


def test_what_pip_installs_is_found_by_the_next_kernel(sandbox: Sandbox) -> None:
    code = "import site; from pathlib import Path; own = Path(site.getusersitepackages()); own.mkdir(parents=True, exist_ok=True)"
    run(sandbox, f"{code}; (own / 'installed_since.py').write_text('x = 42')", session_id="installs")
    found = sandbox.request("POST", "/v1/code/execute", json={"language": "python", "code": "import installed_since as i; print(i.x)"})
    sandbox.request("DELETE", "/v1/jupyter/sessions/installs")

    assert found.json()["data"]["stdout"] == "42\n"
