"""Kernels behind a fence, over a real spawner."""

from pathlib import Path

import anyio
import pytest

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.fence.policy import EnvPolicy, IsolationPolicy, LimitsPolicy, NetworkPolicy, ReadPolicy, WritePolicy
from sandbox_server.drivers.ipc.json_lines import JsonLine
from sandbox_server.drivers.kernels.kernel import Kernel, OutputBounds
from sandbox_server.drivers.kernels.kernels import Kernels
from sandbox_server.drivers.kernels.sessions import KernelSessions

pytestmark = pytest.mark.anyio

TRY = """
def tried(what):
    try:
        what()
        return "done"
    except OSError as error:
        return type(error).__name__
"""


async def said(kernel: Kernel, code: str) -> list[str]:
    """Every text that code puts out."""
    told: list[JsonLine] = []
    with anyio.fail_after(60):
        await kernel.execute(code, OutputBounds(100_000), told.append)
    return [str(line.get("text") or line.get("evalue") or line["data"]["text/plain"]) for line in told]


@pytest.mark.parametrize("name", ["python3", "python3.10"])
async def test_a_fenced_kernel_runs_code_and_is_kept_from_what_its_policy_says(kernels: Kernels, home: Path, name: str) -> None:
    (home / "secret").write_text("s")
    (home / "own").mkdir(mode=0o777)
    (home / "own").chmod(0o777)
    policy = IsolationPolicy(read=ReadPolicy(deny=(str(home / "secret"),)), write=WritePolicy(allow=("own",)), network=NetworkPolicy())
    with anyio.fail_after(60):
        kernel = await kernels.take(name, policy, str(home))
    code = f"""{TRY}
import socket
read = tried(lambda: open({str(home / "secret")!r}).read())
write = [tried(lambda: open({str(home)!r} + place, "w")) for place in ("/other", "/own/file")]
print(read, *write, tried(lambda: socket.create_connection(("192.0.2.1", 9), 5)), tried(lambda: socket.socket(socket.AF_UNIX)))
6 * 7"""
    printed, *values = await said(kernel, code)
    await kernel.close()

    assert printed.split()[1:3] == ["PermissionError", "done"]
    assert printed.split()[0] != "done"
    assert printed.split()[3:] == ["OSError", "PermissionError"]
    assert values == ["42"]


UNDO = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print([line.split()[1] for line in open("/proc/self/status") if line.startswith(("CapEff", "CapPrm", "CapInh", "CapAmb"))])
print([libc.umount2(HIDDEN, 2), libc.unshare(0x00020000), libc.unshare(0x10000000)])
"""


@pytest.mark.parametrize("env", [None, EnvPolicy(deny=("X",))])
async def test_a_fenced_kernel_has_no_rights_in_its_namespaces_forked_or_not(kernels: Kernels, home: Path, env: EnvPolicy | None) -> None:
    (home / "hidden").mkdir()
    policy = IsolationPolicy(read=ReadPolicy(deny=(str(home / "hidden"),)), env=env)
    with anyio.fail_after(60):
        kernel = await kernels.take("python3", policy, str(home))
    forked = await said(kernel, "print(open('/proc/self/cmdline').read().startswith('kernels/isolated'))")
    rights = await said(kernel, f"HIDDEN = {str(home / 'hidden')!r}.encode()\n{UNDO}")
    await kernel.close()

    assert forked == [f"{env is None}\n"]
    assert "".join(rights).splitlines()[0] == str(["0" * 16] * 4)
    assert "".join(rights).splitlines()[1] == "[-1, -1, -1]"


async def test_a_session_keeps_its_isolation_and_takes_no_other(sessions: KernelSessions, home: Path) -> None:
    policy = IsolationPolicy(limits=LimitsPolicy(file_bytes=10))
    with anyio.fail_after(60):
        session, execution = await sessions.begin("s", None, "1", timeout=30, bounds=OutputBounds(1000), isolation=policy)
        await execution.wait()
        again, execution = await sessions.begin(
            "s", None, "from pathlib import Path; Path('/tmp/x').write_text('x' * 100)", timeout=30, bounds=OutputBounds(10_000)
        )
        await execution.wait()
        with pytest.raises(Exception, match="another isolation"):
            await sessions.begin("s", None, "1", timeout=30, bounds=OutputBounds(1000), isolation=IsolationPolicy())

    assert session is again
    assert execution.status == "error"


async def test_a_policy_that_names_what_is_not_there_starts_nothing(kernels: Kernels, home: Path) -> None:
    with anyio.fail_after(60), pytest.raises(InvalidArgument, match="/no/such"):
        await kernels.take("python3", IsolationPolicy(write=WritePolicy(allow=("/no/such",))), str(home))


async def test_whose_a_kernel_is_can_be_seen_from_outside(kernels: Kernels) -> None:
    kernel = await kernels.take("python3")
    await kernel.name("jupyter:mine", "python3")
    environment = "open('/proc/self/environ').read()"
    [seen] = await said(kernel, f"import subprocess; print('TANDEM_SESSION=jupyter:mine\\0' in {environment})")
    [child] = await said(kernel, "print(subprocess.run(['printenv', 'TANDEM_SESSION'], capture_output=True, text=True).stdout)")
    await kernel.close()

    assert (seen, child.strip()) == ("True\n", "jupyter:mine")
