"""Commands and terminals."""

from typing import Any

from e2b import CommandExitException, TimeoutException
from e2b.sandbox.commands.command_handle import PtySize
from steps import BLOCKING, feed, it, noted, refused, run


async def program(kind: Any) -> None:
    """The program."""
    sandbox = noted("Sandbox", await it(kind.create(timeout=900, request_timeout=300)))
    try:
        await commands(sandbox)
        await background(sandbox)
        await terminals(sandbox)
    finally:
        await it(sandbox.kill())


async def commands(sandbox: Any) -> None:
    """Commands to their end."""
    heard: list[str] = []
    done = await it(sandbox.commands.run("echo out; echo err >&2; pwd", cwd="/tmp", envs={"A": "ä"}, on_stdout=heard.append))
    assert (done.stdout, done.stderr, done.exit_code) == ("out\n/tmp\n", "err\n", 0)
    assert "".join(heard) == done.stdout
    assert (await it(sandbox.commands.run("whoami; pwd", user="root"))).stdout == "root\n/root\n"
    assert (await it(sandbox.commands.run("cat"))).stdout == ""
    failed = await refused(CommandExitException, lambda: sandbox.commands.run("echo no >&2; exit 7"))
    assert (getattr(failed, "exit_code", 0), getattr(failed, "stderr", "")) == (7, "no\n")
    await refused(TimeoutException, lambda: sandbox.commands.run("sleep 100", timeout=1))
    large = await it(sandbox.commands.run("head --bytes 3000000 /dev/zero | tr '\\0' x"))
    assert len(large.stdout) == 3_000_000


async def background(sandbox: Any) -> None:
    """Commands that go on, with input."""
    handle = noted("CommandHandle", await it(sandbox.commands.run("cat", background=True, stdin=True)))
    [process] = [one for one in await it(sandbox.commands.list()) if one.pid == handle.pid]
    assert (process.cmd, process.args) == ("/bin/bash", ["-l", "-c", "cat"])
    await it(sandbox.commands.send_stdin(handle.pid, "one\n"))
    await it(handle.send_stdin("two\n"))
    await feed(sandbox.commands, handle.pid, "0\n", "1\n", "2\n")
    await it(handle.close_stdin())
    assert (await it(handle.wait())).stdout == "one\ntwo\n0\n1\n2\n"

    handle = noted("CommandHandle", await it(sandbox.commands.run("read line; echo heard $line; cat", background=True, stdin=True)))
    await it(handle.disconnect())
    again = noted("CommandHandle", await it(sandbox.commands.connect(handle.pid)))
    await it(sandbox.commands.send_stdin(handle.pid, "it\n"))
    await it(sandbox.commands.close_stdin(handle.pid))
    assert (await it(again.wait())).stdout == "heard it\n"

    handle = noted("CommandHandle", await it(sandbox.commands.run("sleep 1000", background=True)))
    assert await it(handle.kill())
    await refused(CommandExitException, handle.wait)
    assert not await it(sandbox.commands.kill(handle.pid))


async def terminals(sandbox: Any) -> None:
    """A terminal: input, size, end. The asynchronous client is told what it shows from the start on."""
    shown: list[bytes] = []
    size = PtySize(rows=20, cols=70)
    from_start, from_wait = ({}, {"on_pty": shown.append}) if BLOCKING else ({"on_data": shown.append}, {})
    handle = noted("CommandHandle", await it(sandbox.pty.create(size, envs={"A": "1"}, timeout=60, **from_start)))
    await it(sandbox.pty.resize(handle.pid, PtySize(rows=5, cols=60)))
    await it(sandbox.pty.send_stdin(handle.pid, b"stty size\n"))
    await feed(sandbox.pty, handle.pid, "echo heard $((1+2))\n", "exit 4\n")
    ended = await refused(CommandExitException, lambda: handle.wait(**from_wait))
    assert getattr(ended, "exit_code", 0) == 4
    text = b"".join(shown).decode()
    assert "5 60" in text, text
    assert "heard 3" in text, text
    other = await it(sandbox.pty.create(size, **from_start))
    connected = await it(sandbox.pty.connect(other.pid, **from_start))
    assert connected.pid == other.pid
    assert await it(sandbox.pty.kill(other.pid))


run(program)
