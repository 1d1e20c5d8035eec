"""What scripts give, past Playwright: each value as JSON has it, and every failure by its own kind."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sandbox_server.core.errors import Conflict, Failure, InvalidArgument, TooLarge
from sandbox_server.drivers.browser.browser_client import BrowserClient
from sandbox_server.drivers.browser.evaluation import Evaluation
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.drivers.devtools.page_commands import PageCommands
from tests.drivers.browser.conftest import visit
from tests.patience import eventually

pytestmark = pytest.mark.anyio

SECONDS = 30.0


class Scripts:
    """Runs scripts in the page in front."""

    def __init__(self, commands: PageCommands, session: BrowserSession) -> None:
        self.commands = commands
        self.session = session

    async def __call__(self, expression: str, seconds: float = SECONDS) -> Any:
        return await Evaluation(self.commands, (await self.session.tab(None)).page, "the script", seconds).value(expression)

    async def fails(self, expression: str) -> Failure:
        with pytest.raises(Failure) as failed:
            await self(expression)
        return failed.value


@pytest.fixture
async def scripts(session: BrowserSession, web: str) -> AsyncIterator[Scripts]:
    await visit(session, f"{web}/form")
    commands = PageCommands(session.owner.socket)
    yield Scripts(commands, session)
    await commands.close()


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("10n", 10),
        ("'\\ud800'", "\ud800"),
        ("NaN", None),
        ("[NaN, Infinity, -0, 2n ** 70n]", [None, None, -0.0, 2**70]),
        ("[undefined, () => 1, Symbol()]", [None, None, None]),
        ("({a: undefined, f() {}, get b() { throw 1 }, c: 2})", {"a": None, "f": None, "c": 2}),
        ("[1,,3]", [1, None, 3]),
        ("new Date(0)", "1970-01-01T00:00:00Z"),
        ("new Date(123)", "1970-01-01T00:00:00.123000Z"),
        ("new URL('http://a/b?c')", "http://a/b?c"),
        ("/a+/g", "a+"),
        ("new Map([[1, 2]])", {}),
        ("new Int16Array([1, -2])", [1, -2]),
        ("[document.body, document, window]", ["ref: <Node>", "ref: <Document>", "ref: <Window>"]),
        ("new DOMRect(1, 2, 3, 4)", {"x": 1, "y": 2, "width": 3, "height": 4, "top": 2, "right": 4, "bottom": 6, "left": 1}),
        ("({toJSON() { return 3 }})", {"toJSON": {}}),
        ("new (class { x = 1 })", {"x": 1}),
        ("const o = {}; return [o, o]", [{}, {}]),
        ("() => () => 1", None),
        ("async () => [await Promise.resolve(1)]", [1]),
        ("Symbol('x')", None),
    ],
)
async def test_a_value_is_given_as_json_has_it(scripts: Scripts, expression: str, value: object) -> None:
    found = await scripts(expression)

    assert found == value or (value is None and found != found)


@pytest.mark.parametrize(
    ("expression", "kind", "message"),
    [
        ("const a = {}; a.a = a; return a", InvalidArgument, "more than 200 deep, or hold themselves"),
        ("let d = []; for (let i = 0; i < 20000; i++) d = [d]; return d", InvalidArgument, "more than 200 deep"),
        ("new Array(4e9)", TooLarge, "more than 1000000 values"),
        ("[new Error('x')]", InvalidArgument, "an error in place of a value"),
        ("throw new TypeError('no')", InvalidArgument, "the script failed: TypeError: no"),
        ("throw 'text'", Conflict, "the script failed: text"),
        ("throw null", Conflict, "the script failed: null"),
        ("Promise.reject(4)", Conflict, "the script failed: 4"),
        ("(", InvalidArgument, "the script failed: SyntaxError"),
        ("10n ** 5000n", InvalidArgument, "more digits than are read"),
        ("'x'.repeat(70 << 20)", TooLarge, "gave too much"),
    ],
)
async def test_what_has_no_json_is_a_failure_of_its_kind(scripts: Scripts, expression: str, kind: type[Failure], message: str) -> None:
    failure = await scripts.fails(expression)

    assert (type(failure), message in failure.message) == (kind, True), failure.message


async def test_a_script_that_throws_a_syntax_error_is_not_run_again(scripts: Scripts) -> None:
    await scripts("self.runs = 0")
    for expression in ("(self.runs++, JSON.parse('{'))", "(self.runs++, eval('('))", "(self.runs++, new Function('('))"):
        assert "SyntaxError" in (await scripts.fails(expression)).message

    assert await scripts("runs") == 3


async def test_a_page_that_replaces_what_writes_json_is_a_conflict(scripts: Scripts) -> None:
    await scripts("JSON.stringify = () => '<'")
    failure = await scripts.fails("({a: 1})")

    assert isinstance(failure, Conflict)
    assert "the page changes what is read of it" in failure.message


async def test_scripts_that_run_at_once_take_nothing_from_each_other(scripts: Scripts) -> None:
    slow = asyncio.create_task(scripts("new Promise(done => self.finish = () => done([1]))"))
    await eventually(lambda: scripts("typeof self.finish === 'function' && [true]"))
    await scripts("finish()")

    assert await slow == [1]


async def test_a_tab_that_closes_under_a_script_is_a_conflict(scripts: Scripts) -> None:
    owner: BrowserClient = scripts.session.owner
    page = await owner.open("about:blank")
    commands = scripts.commands
    assert await commands.answers(page, SECONDS)
    waiting = asyncio.create_task(Evaluation(commands, page, "the script", SECONDS).value("new Promise(done => self.finish = done)"))
    begun = {"expression": "!!self.finish"}
    await eventually(lambda: commands.send(page, "Runtime.evaluate", begun, SECONDS), lambda answer: answer["result"]["value"])
    await owner.close(page)

    with pytest.raises(Conflict) as closed:
        await waiting
    assert closed.value.details["reason"] == "closed"


async def test_a_script_that_never_ends_ends_at_its_time(scripts: Scripts) -> None:
    with pytest.raises(TimeoutError):
        await scripts("new Promise(done => self.finish = done)", seconds=0.5)
