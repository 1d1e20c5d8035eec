"""Waiting for what becomes true by itself: the one patience of all tests.

A slow machine makes a wait longer and no test fail: a wait ends after `PATIENCE_SECONDS`, and not before `LOOKS` looks.
"""

import ast
import inspect
import linecache
from asyncio import sleep as sleep_of_loop
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from time import monotonic, sleep
from types import CodeType, FunctionType
from typing import overload

from _pytest._io.saferepr import saferepr
from _pytest.assertion.rewrite import rewrite_asserts

PATIENCE_SECONDS = 180.0
"""How long a test waits for what it wants, also where another waits for it: a client for an answer, a thread for its end."""
PATIENCE_MS = 180_000
"""The same for Playwright."""
LOOKS = 50

_SHOWN = 4000


def until[T](look: Callable[[], T], wanted: Callable[[T], object] = bool, told: Callable[[], object] | None = None) -> T:
    """What `look()` gives, once that is as wanted; fails with what it gave last, and with what `told()` gives."""
    __tracebackhide__ = True
    pauses = _pauses()
    while not wanted(value := look()):
        if (pause := next(pauses, None)) is None:
            raise AssertionError(_seen(value, _explained(look) if wanted is bool else _explained(wanted, value), told))
        sleep(pause)
    return value


@overload
async def eventually[T](
    look: Callable[[], Awaitable[T]], wanted: Callable[[T], object] = bool, told: Callable[[], object] | None = None
) -> T: ...
@overload
async def eventually[T](look: Callable[[], T], wanted: Callable[[T], object] = bool, told: Callable[[], object] | None = None) -> T: ...
async def eventually[T](
    look: Callable[[], T | Awaitable[T]], wanted: Callable[[T], object] = bool, told: Callable[[], object] | None = None
) -> T:
    """What `look()` gives, or what it gives awaited, once that is as wanted; fails as `until` does."""
    __tracebackhide__ = True
    pauses = _pauses()
    while True:
        found = look()
        value = await found if isinstance(found, Awaitable) else found
        if wanted(value):
            return value
        if (pause := next(pauses, None)) is None:
            if wanted is not bool:
                raise AssertionError(_seen(value, _explained(wanted, value), told))
            raise AssertionError(_seen(value, "" if found is not value else _explained(look), told))
        await sleep_of_loop(pause)


def _pauses() -> Iterator[float]:
    """The pauses between looks for as long as there is patience; they grow, so that a long wait takes little of the processor."""
    began = monotonic()
    for looks in count(1):
        waited = monotonic() - began
        if waited >= PATIENCE_SECONDS and looks >= LOOKS:
            return
        yield min(max(waited / 20, 0.005), 0.1)


def _seen(value: object, explained: str, told: Callable[[], object] | None) -> str:
    """What a wait that was in vain says."""
    lines = [f"still {saferepr(value, _SHOWN)} after {PATIENCE_SECONDS:g} s", explained, "" if told is None else str(told())]
    return "\n".join(line for line in lines if line)


def _explained(check: Callable[..., object], *given: object) -> str:
    """What pytest says of the expression of a lambda that does not hold: what it compared. Of other functions, their name."""
    if not isinstance(check, FunctionType) or check.__name__ != "<lambda>":
        return f"by {getattr(check, '__qualname__', check)}"
    try:
        expression = _expression(check.__code__)
        tree = ast.parse(f"assert (\n{expression}\n)")
        rewrite_asserts(tree, b"")
        names = {**check.__globals__, **inspect.getclosurevars(check).nonlocals}
        bound = inspect.signature(check).bind(*given)
        bound.apply_defaults()
        exec(compile(tree, "<what was waited for>", "exec"), names | bound.arguments)
    except AssertionError as failed:
        return str(failed)
    except Exception as error:  # noqa: BLE001 # whatever the expression raises by now
        return f"and then {error!r}"
    return f"and then it held: {expression}"


def _expression(code: CodeType) -> str:
    """The text of the expression of a lambda: it is where its last instruction, the return, has its position."""
    *_, (first, last, start, end) = code.co_positions()
    assert first
    lines = [line.encode() for line in linecache.getlines(code.co_filename)[first - 1 : last]]
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return b"".join(lines).decode()
