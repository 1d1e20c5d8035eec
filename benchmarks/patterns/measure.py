"""Times what matches text from outside, each on the text that was hardest for it; `run` runs it in the image."""

import json
import sys
import time
from collections.abc import Callable

from sandbox_server.drivers.browser.playwright_errors import failure_of
from sandbox_server.drivers.devtools.globs import Glob
from sandbox_server.drivers.recorder.redaction import Redaction
from sandbox_server.drivers.shells.risky_commands import is_risky
from sandbox_server.features.browser.page.reading import without_passwords
from sandbox_server.features.shell.text import increment, plain
from sandbox_server.mcp.routing.uri_templates import matches
from sandbox_server.patterns import glob

SIZES = (1_000, 100_000, 10_000_000)
RUNS = 3
REDACTION = Redaction(["opensesame", "token-token-token"])

CASES: dict[str, tuple[str, Callable[[str], object]]] = {
    "redaction, as it is used: 1,000 characters are kept": ("token=", REDACTION.text),
    "redaction, of the whole text": ("token=", lambda text: REDACTION.text(text, len(text))),
    "redaction, of the whole text, one word": ("a", lambda text: REDACTION.text(text, len(text))),
    "redaction of an address": ("a/", lambda text: REDACTION.url(f"https://a.example/{text}")),
    "risk of a command": ("sudo -a ", is_risky),
    "pattern of addresses, 9 stars": ("a", Glob("**a*a**{a,b}*a**a*!").matches),
    "glob of names, 8 stars": ("a", glob("*a*a*a*a*a*a*!*a").fullmatch),
    "glob of paths, 8 stars": ("a/", glob("**/a*/**/a*/**/a*!", paths=True).fullmatch),
    "template of an MCP server's addresses": ("a", lambda text: matches("{a}a{b}a{c}a{d}!", text)),
    "error of the browser": ("parsing a", lambda text: failure_of(text, "reading")),
    "markup, for fields with a password": (' type="password"', without_passwords),
    "output of a terminal": ("\r", lambda text: plain(text.encode())),
    "a piece of output": ("\x1b[1;", lambda text: increment(text.encode(), last=False)),
}


def seconds(work: Callable[[str], object], text: str) -> float:
    """The least of a few runs, in seconds of the processor."""
    taken = []
    for _ in range(RUNS):
        started = time.thread_time()
        work(text)
        taken.append(time.thread_time() - started)
    return min(taken)


def main() -> None:
    """Print a table, and the same as JSON."""
    out, figures = sys.stdout, dict[str, list[float]]()
    out.write(f"| milliseconds for characters | {' | '.join(f'{size:,}' for size in SIZES)} |\n|---|{'---|' * len(SIZES)}\n")
    for name, (unit, work) in CASES.items():
        figures[name] = [round(seconds(work, (unit * (size // len(unit) + 1))[:size]) * 1000, 3) for size in SIZES]
        out.write(f"| {name} | {' | '.join(f'{each:,.2f}' for each in figures[name])} |\n")
        out.flush()
    out.write(json.dumps({"unit": "ms", "sizes": SIZES, "figures": figures}) + "\n")


main()
