"""What the tests of statuses ask of a session."""

from sandbox_server.features.shell.wire import ShellViewRequest, ShellWaitRequest, ShellWriteToProcessRequest
from tests.features.shell.conftest import Runner, eventually


async def status_of(run: Runner) -> str:
    status: str = (await run.shell.wait_for_process(ShellWaitRequest(id=run.id, seconds=30))).status
    return status


async def type_into(run: Runner, text: str, *, enter: bool = True) -> None:
    await run.shell.write_to_process(ShellWriteToProcessRequest(id=run.id, input=text, press_enter=enter))


async def shows(run: Runner, text: str) -> str:
    """Wait until the terminal shows a text."""

    async def output() -> str:
        shown: str = (await run.shell.view(ShellViewRequest(id=run.id))).data.output
        return shown

    return await eventually(output, lambda shown: text in shown)
