"""The terminal socket, with a page of the test's own at its other end and a real shell behind it."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sandbox_server.core import Call
from sandbox_server.drivers.shells.shells import ShellStart
from sandbox_server.features.shell import terminal as module
from sandbox_server.features.shell.session import ShellSession
from sandbox_server.features.shell.session_profile import ShellProfile
from sandbox_server.features.shell.terminal import MAX_BACKLOG, MAX_MESSAGE, Terminal
from sandbox_server.features.shell.terminals import TerminalRequest
from sandbox_server.features.shell.text import plain
from tests.features.shell.conftest import Runner, Server, Shell
from tests.patience import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.anyio

RESET = "\x1bc"


class Page:
    """A page (`Socket`): it keeps what it is sent, and does not read while `reading` is not set."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.closed: tuple[int, str] | None = None
        self.gone = False
        self.reading = asyncio.Event()
        self.reading.set()
        self._given: asyncio.Queue[str | bytes | None] = asyncio.Queue()

    async def receive(self) -> str | bytes | None:
        return await self._given.get()

    async def send(self, message: str | bytes) -> None:
        await self.reading.wait()
        if self.gone:
            raise ConnectionError("the page is gone")
        self.messages.append(json.loads(message))

    async def close(self, code: int = 1000, reason: str = "") -> None:
        self.closed = (code, reason)

    def say(self, kind: str, data: object) -> None:
        """Send a message of the contract."""
        self.give(json.dumps({"type": kind, "data": data}))

    def give(self, message: str | bytes | None) -> None:
        """Send anything, or None to leave."""
        self._given.put_nowait(message)

    def all(self, kind: str) -> list[dict[str, Any]]:
        """Every message of a type so far."""
        return [message for message in self.messages if message["type"] == kind]

    @property
    def output(self) -> str:
        """The bytes for its terminal so far."""
        return "".join(message["data"] for message in self.all("output"))


async def anybody() -> bool:
    """Whoever types, it counts."""
    return True


@asynccontextmanager
async def showing(session: ShellSession, may_type: Callable[[], Awaitable[bool]] = anybody) -> AsyncIterator[Page]:
    """A page that shows a session and has its screen; it leaves at the end."""
    page = Page()
    shown = asyncio.create_task(Terminal(page, may_type).show(session))
    await eventually(lambda: page.output)
    yield page
    page.give(None)
    async with asyncio.timeout(30):
        await shown


@asynccontextmanager
async def terminal(shell: Shell, caller: Call, session_id: str | None = None, *, create: bool = True) -> AsyncIterator[Page]:
    """A terminal that is open; `Page.closed` tells where it was refused."""
    page = Page()
    shown = asyncio.create_task(shell.terminals.terminal(TerminalRequest(session_id=session_id, create=create), page, caller))
    await eventually(lambda: page.output or page.closed or page.all("error"))
    yield page
    page.give(None)
    async with asyncio.timeout(30):
        await shown


def shown_by(page: Page) -> str:
    """The session that a terminal shows."""
    return str(page.all("session_id")[0]["data"])


@pytest.fixture
async def session(shell: Shell, server: Server) -> ShellSession:
    """A person's session."""
    return await server.sessions.create(ShellProfile("main", personal=True), ShellStart(str(server.home)))


async def test_a_page_is_told_its_session_that_it_is_ready_and_the_screen(session: ShellSession) -> None:
    async with showing(session) as page:
        assert page.messages[:2] == [{"type": "session_id", "data": "main"}, {"type": "ready", "data": "Terminal ready"}]
        assert page.output.startswith(RESET)
        assert session.state.ps1.strip() in plain(page.output.encode())


async def test_what_is_typed_reaches_the_shell(session: ShellSession) -> None:
    async with showing(session) as page:
        page.say("input", "echo $((6 * 7)) é日本\n")
        await eventually(lambda: "42 é日本\r\n" in page.output)


async def test_control_c_interrupts_what_runs(session: ShellSession) -> None:
    async with showing(session) as page:
        page.say("input", "echo $((6 * 7)); while :; do :; done\n")
        await eventually(lambda: "42\r\n" in page.output)
        page.say("input", "\x03")
        assert await session.state.until(lambda: not session.state.busy, PATIENCE_SECONDS)
        page.say("input", "echo code $?\n")
        await eventually(lambda: "code 130" in page.output)


async def test_what_the_agent_runs_is_seen_as_if_it_were_typed(session: ShellSession, run: Runner) -> None:
    async with showing(session) as page:
        await run("echo $((6 * 7))")
        await eventually(lambda: "42\r\n" in page.output)
        assert "$ echo $((6 * 7))\r\n" in page.output
        assert "7133" not in page.output, "the shell's marks are for the server"


async def test_two_pages_see_the_same(session: ShellSession) -> None:
    async with showing(session) as one, showing(session) as other:
        one.say("input", "echo $((6 * 7))\n")
        for page in (one, other):
            await eventually(lambda page=page: "42\r\n" in page.output)  # type: ignore[misc, arg-type]


async def test_who_comes_back_sees_what_happened_and_what_has_scrolled_away(session: ShellSession, run: Runner) -> None:
    async with showing(session) as page:
        page.say("input", "cd /usr\n")
        await eventually(lambda: session.state.directory == "/usr")
    await run("seq 1000 1100")
    async with showing(session) as page:
        assert page.all("session_id")[0]["data"] == "main"
        assert "".join(f"{number}\r\n" for number in range(1000, 1101)) in page.output
        page.say("input", "pwd\n")
        await eventually(lambda: "\r/usr\r\n" in page.output)


@pytest.mark.parametrize(
    ("asked", "size"),
    [((100, 30), (100, 30)), ((0, -5), (2, 2)), ((10**9, 10**9), (1000, 500)), (("80", 24.9), (80, 24))],
)
async def test_a_resize_is_kept_within_bounds_and_told_to_the_others(
    session: ShellSession, asked: tuple[object, object], size: tuple[int, int]
) -> None:
    async with showing(session) as one, showing(session) as other:
        one.say("resize", {"cols": asked[0], "rows": asked[1]})
        await eventually(lambda: other.all("resize")[-1]["data"] == {"cols": size[0], "rows": size[1]})
        assert (await session.started.capture()).state.size == size
        assert one.all("error") == []


async def test_who_resized_is_not_told_the_size_again(session: ShellSession) -> None:
    async with showing(session) as page:
        told = len(page.all("resize"))
        page.say("resize", {"cols": 90, "rows": 20})
        page.say("input", "echo $COLUMNS $LINES\n")
        await eventually(lambda: "90 20\r\n" in page.output)
        assert len(page.all("resize")) == told


@pytest.mark.parametrize(
    "message",
    [
        "",
        "no json",
        "[]",
        "null",
        "{}",
        '{"type": "nonsense"}',
        '{"type": ["input"]}',
        '{"type": "input"}',
        '{"type": "input", "data": "\\ud800"}',
        '{"type": "resize"}',
        '{"type": "resize", "data": null}',
        '{"type": "resize", "data": {"cols": "wide", "rows": 2}}',
        '{"type": "resize", "data": {"cols": 1e999, "rows": 2}}',
        b"\xff\xfe",
        "[" * 100_000,
        json.dumps({"type": "input", "data": "x" * MAX_MESSAGE}),
    ],
    ids=lambda message: str(message)[:30],
)
async def test_a_message_that_makes_no_sense_is_answered_and_the_next_one_is_taken(session: ShellSession, message: str | bytes) -> None:
    async with showing(session) as page:
        page.give(message)
        await eventually(lambda: page.all("error"))
        page.say("input", "echo $((6 * 7))\n")
        await eventually(lambda: "42\r\n" in page.output)
        assert len(page.all("error")) == 1


async def test_a_page_is_asked_whether_it_lives_and_its_answer_is_no_input(session: ShellSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PING_SECONDS", 0.05)
    async with showing(session) as page:
        await eventually(lambda: page.all("ping"))
        stamp = page.all("ping")[0]["timestamp"]
        page.say("pong", {"timestamp": stamp})
        page.give(json.dumps({"type": "pong", "timestamp": stamp}))
        await eventually(lambda: len(page.all("ping")) > 2)
        assert isinstance(stamp, int)
        assert stamp > 1_600_000_000_000, "milliseconds"
        assert page.all("error") == []


async def test_a_slow_page_gets_the_screen_anew_instead_of_everything(session: ShellSession, run: Runner) -> None:
    async with showing(session) as page:
        page.reading.clear()
        before = len(page.output)
        await run("seq 1000000")
        page.reading.set()
        await eventually(lambda: page.output.rfind(RESET) > before and "\r\n1000000\r\n" in page.output)
        assert len(page.output) - before < 2 * MAX_BACKLOG
        page.say("input", "echo $((6 * 7))\n")
        await eventually(lambda: "42\r\n" in page.output)


@pytest.mark.parametrize(
    "question",
    [
        b"\x1b[c",
        b"\x1b[0c",
        b"\x1b[>c",
        b"\x1b[=0c",
        b"\x1bZ",
        b"\x05",
        b"\x1b[5n",
        b"\x1b[6n",
        b"\x1b[?6n",
        b"\x1b[?2004$p",
        b"\x1b[>q",
        b"\x1b[14t",
        b"\x1b[18t",
        b"\x1b[21t",
        b"\x1bP+q544e\x1b\\",
        b"\x1bP$qm\x1b\\",
        b"\x1b]4;1;?\x07",
        b"\x1b]10;?\x07",
        b"\x1b]11;?\x1b\\",
    ],
)
async def test_what_a_program_asks_its_terminal_is_not_asked_of_the_page(session: ShellSession, question: bytes) -> None:
    async with showing(session) as page:
        session.output(b"<" + question + b">")
        await eventually(lambda: page.output.endswith(">"))
        whole = page.output
        session.output(b"{" + question[:2])
        session.output(question[2:] + b"}")
        await eventually(lambda: page.output.endswith("}"))
        assert whole.endswith("<>")
        assert page.output.endswith("<>{}")


async def test_everything_else_passes_as_it_is(session: ShellSession) -> None:
    sent = "\x1b[31mred\x1b[0m\x1b[?25l\x1b[2J\x1b[H\x1b]0;title\x07\x1b]8;;http://x/\x1b\\link\x1b[?1049h\x1b[1;10r\x1b[22;0t\x1b(0é😀."
    async with showing(session) as page:
        session.output(sent.encode())
        await eventually(lambda: page.output.endswith("."))
        assert page.output.endswith(sent)


async def test_a_character_in_two_pieces_is_one(session: ShellSession) -> None:
    raw = "日".encode()
    async with showing(session) as page:
        session.output(b"<" + raw[:2])
        await eventually(lambda: page.output.endswith("<"))
        session.output(raw[2:] + b">")
        await eventually(lambda: page.output.endswith("<日>"))


async def test_after_output_was_missed_the_screen_comes_anew(session: ShellSession) -> None:
    async with showing(session) as page:
        before = len(page.output)
        session.missed()
        await eventually(lambda: page.output.rfind(RESET) >= before)


async def test_a_session_that_is_closed_says_so_and_closes(session: ShellSession, server: Server) -> None:
    async with showing(session) as page:
        await server.sessions.remove(session)
        await eventually(lambda: page.all("error"))
        assert page.all("error") == [{"type": "error", "data": "Session closed"}]
    assert page.closed == (1000, "")


async def test_a_shell_that_ended_says_so_and_enter_opens_another(session: ShellSession) -> None:
    async with showing(session) as page:
        page.say("input", "exit 3\n")
        await eventually(lambda: "exit code 3" in page.output)
        page.say("input", "x")
        page.say("input", "\r")
        assert await session.state.until(lambda: session.state.ready and session.state.over is None, PATIENCE_SECONDS)
        page.say("input", "echo $((6 * 7))\n")
        await eventually(lambda: "42\r\n" in page.output)
        assert page.all("error") == []


async def test_a_page_that_leaves_is_forgotten_and_the_session_goes_on(session: ShellSession, run: Runner) -> None:
    async with showing(session):
        assert len(session.state.viewers) == 1
    assert session.state.viewers == set()
    assert (await run("echo on")).output == "on\n"


async def test_a_page_that_breaks_off_is_forgotten(session: ShellSession) -> None:
    page = Page()
    shown = asyncio.create_task(Terminal(page, anybody).show(session))
    await eventually(lambda: page.output)
    page.gone = True
    session.output(b"more")
    async with asyncio.timeout(30):
        await asyncio.gather(shown, return_exceptions=True)
    assert session.state.viewers == set()


async def test_what_is_typed_without_control_goes_nowhere_and_is_said_once(session: ShellSession, run: Runner) -> None:
    counts = False

    async def may_type() -> bool:
        return counts

    async with showing(session, may_type) as page:
        page.say("input", "touch /tmp/never-typed\r")
        page.say("input", "more\r")
        page.say("nonsense", "")
        await eventually(lambda: len(page.all("error")) == 2)  # what came before was dealt with
        counts = True
        page.say("input", "echo wh''ole\r")
        await eventually(lambda: "whole" in page.output)
        assert page.all("error")[0]["data"] == "Somebody else has control: what you type goes nowhere"
    assert "never-typed" not in str((await run("ls /tmp")).output)
