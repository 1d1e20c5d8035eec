"""What is done with text from outside takes a time that grows with the text and no faster, whatever the text is made of."""

import gc
import time
from collections.abc import Callable

import pytest

from sandbox_server.cdp.command_effects import acts
from sandbox_server.cdp.messages import DevtoolsCommand
from sandbox_server.core.http.multipart import _names
from sandbox_server.core.tool_allow_list import names_one
from sandbox_server.drivers.browser.playwright_errors import failure_of
from sandbox_server.drivers.devtools.globs import Glob
from sandbox_server.drivers.files.name_encoding import from_wire, to_wire
from sandbox_server.drivers.proxy.routing_plan import covers
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.drivers.shells.risky_commands import is_risky
from sandbox_server.drivers.shells.terminal_screen import trimmed
from sandbox_server.features.browser.page.reading import without_passwords
from sandbox_server.features.recorder.trace_context import trace_of
from sandbox_server.features.shell.text import increment, plain
from sandbox_server.mcp.routing.uri_templates import matches
from sandbox_server.patterns import glob

SIZE = 200_000
"""Characters. What grew with their square would take seconds."""
QUICK = 0.15
"""Seconds of processor time that need no second look."""
TIMES = 4
MOST_FOLD = 9.0
"""Three for each doubling."""

UNITS = [
    *(
        "a",
        "1",
        "é",
        " ",
        "\t",
        "\n",
        "\r",
        "\r\n",
        ".",
        ",",
        ":",
        ";",
        "/",
        "//",
        "// ",
        "\\",
        "-",
        "_",
        "=",
        "&",
        "|",
        "@",
        "%",
        "?",
        "#",
        "~",
    ),
    *(
        "'",
        '"',
        "`",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "{a}",
        "{a",
        "<",
        ">",
        "*",
        "**",
        "a*",
        "*a",
        "**/",
        "a.",
        "a-",
        "a/",
        "a=",
        "a1",
        "a b ",
    ),
    *("\x1b", "\x1b[", "\x1b[1;", "\x1b]", "\x1b[1m", "\x1bP+q", "\x07", "\x7f", "\udc80", "\uef80", "\U0001f600"),
    *(
        "token=",
        'token="',
        "token='",
        "token=token ",
        "tokentoken",
        "token \t",
        "-password ",
        "--a-token",
        "-a-a",
        "bearer ",
        "-u a",
        "-u a:",
    ),
    *("a://", "a:a@", "http://", "eyJa", "eyJaaaaaaaa.a", "sk-", "-----BEGIN ", "-----BEGIN PRIVATE KEY-----", "-----END "),
    *("rm a ", "sudo -a ", "git a ", "apt -a ", "find . ", "rsync -", "reset a ", "rm  "),
    *("<input ", '<input "', ' type="password"', '<input type="password" value="', "<input>", " value="),
    *(
        "; filename*=utf-8'",
        "; filename*=utf-8''a",
        "application/",
        "application/a+",
        "proxy/1/",
        "net::ERR_",
        "parsing a",
        "Unexpected token a",
    ),
]

type Work = Callable[[str], object]

WORK: dict[str, Work] = {
    "redaction of a text": lambda text: Redaction(["opensesame", "token-token-token"]).text(text, len(text)),
    "redaction of an address": lambda text: Redaction(["opensesame"]).url(f"https://a.example/{text}"),
    "redaction of a query": lambda text: Redaction().url(f"https://a.example/?{text}"),
    "risk": is_risky,
    "a glob of addresses": lambda text: Glob("**a*a**{a,b}*a**a*!").matches(text),
    "a glob of addresses from outside": lambda text: _or_refused(lambda: Glob(text[:60]).matches(text)),
    "a glob of names": lambda text: glob("*a*a*a*a*a*a*!").fullmatch(text),
    "a glob of names from outside": lambda text: _or_refused(lambda: glob(text[:60]).fullmatch(text)),
    "a glob of paths from outside": lambda text: _or_refused(lambda: glob(text[:60], paths=True).fullmatch(text)),
    "a long glob from outside": lambda text: _or_refused(lambda: glob(text[:4000], paths=True).fullmatch(text)),
    "a list of tools": lambda text: names_one(("*a*a*a*a*!", "browser_*"), [text]),
    "a template of addresses": lambda text: matches("{a}a{b}a{c}a{d}!", text),
    "a template from outside": lambda text: matches(text, text),
    "a host of the proxy": lambda text: covers(["*a*a*a*.example", ".a"], text),
    "an error of the browser": lambda text: failure_of(f"Page.x: {text}", "reading"),
    "markup of a page": without_passwords,
    "output of a terminal": lambda text: plain(text.encode("utf-8", "replace")),
    "a piece of output": lambda text: increment(text.encode("utf-8", "replace"), last=False),
    "a row of a terminal": lambda text: trimmed([text.encode("utf-8", "replace")]),
    "a script": lambda text: acts(DevtoolsCommand(1, "Page.addScriptToEvaluateOnNewDocument", None, {"params": {"source": text}})),
    "a name on the wire": lambda text: from_wire(to_wire(text.replace("\0", ""))),
    "a part's header": lambda text: _names(f'form-data; name="a"{text.encode("utf-8", "replace").decode("latin-1")}'),
    "a trace": lambda text: trace_of({"traceparent": text}),
}


@pytest.mark.parametrize("work", WORK.values(), ids=WORK.keys())
def test_a_text_that_doubles_takes_less_than_three_times_as_long(work: Work) -> None:
    slow = [unit for unit in UNITS for text in _texts(unit) if _grows(work, text)]
    assert slow == []


def _texts(unit: str) -> list[Callable[[int], str]]:
    """Texts of a size: the unit again and again, and the same with an end that fits nothing."""
    return [lambda size: (unit * size)[:size], lambda size: f"{(unit * size)[:size]}\n!\x00"]


def _grows(work: Work, text: Callable[[int], str]) -> bool:
    """Whether the time grows faster than it may, as seen three times."""
    if _seconds(work, text(SIZE)) < QUICK:
        return False
    return all(_fold(work, text) > MOST_FOLD for _ in range(3))


def _fold(work: Work, text: Callable[[int], str]) -> float:
    small, large = text(SIZE // TIMES), text(SIZE)
    return min(_seconds(work, large) for _ in range(3)) / min(_seconds(work, small) for _ in range(5))


def _seconds(work: Work, text: str) -> float:
    gc.disable()
    try:
        started = time.thread_time()
        work(text)
        return time.thread_time() - started
    finally:
        gc.enable()


def _or_refused(work: Callable[[], object]) -> object:
    """What may be refused, for a pattern that is none."""
    try:
        return work()
    except ValueError:
        return None


def test_a_pattern_that_does_grow_is_seen() -> None:
    def pairs(text: str) -> int:
        return sum(text.count("b", place) for place in range(0, len(text), 3))

    assert _grows(pairs, _texts("a")[0])
