"""What the tests of statuses ask of a session."""

from pathlib import Path

from sandbox_server.features.shell.processes import ShellViewRequest, ShellWaitRequest, ShellWriteToProcessRequest
from tests.features.shell.conftest import Runner
from tests.patience import eventually


async def status_of(run: Runner) -> str:
    status: str = (await run.shell.processes.wait_for_process(ShellWaitRequest(id=run.id, seconds=30))).status
    return status


async def type_into(run: Runner, text: str, *, enter: bool = True) -> None:
    await run.shell.processes.write_to_process(ShellWriteToProcessRequest(id=run.id, input=text, press_enter=enter))


async def shows(run: Runner, text: str) -> str:
    """Wait until the terminal shows a text."""

    async def output() -> str:
        shown: str = (await run.shell.processes.view(ShellViewRequest(id=run.id))).data.output
        return shown

    return await eventually(output, lambda shown: text in shown)


async def process_exists(command: str) -> bool:
    """Whether a process of this command line runs."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if (entry / "cmdline").read_bytes().replace(b"\0", b" ").strip() == command.encode():
                    return True
            except OSError:
                continue
    return False
