"""A caller's trace goes on in sandboxes and in the log."""

import json
import logging

import httpx2
import pytest
from tandem_fleet.logs import Lines
from tandem_fleet.sandbox_http import sandbox_http
from tandem_fleet.trace_context import STATE, TRACE, follow

from tests.fleet.answering import Answering

pytestmark = pytest.mark.anyio
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture(autouse=True)
def none() -> None:
    """No trace at first."""
    TRACE.set(None)


async def sent(answers: Answering) -> dict[str, str]:
    """The headers that a sandbox gets."""
    async with sandbox_http() as http:
        await http.get(f"{answers.address}/readyz")
    return answers.calls[-1].headers


async def test_a_call_of_a_sandbox_is_of_the_callers_trace(answers: Answering) -> None:
    follow({"traceparent": PARENT, "tracestate": "vendor=1"})
    headers = await sent(answers)
    assert (headers["traceparent"], headers["tracestate"]) == (PARENT, "vendor=1")
    follow({})
    assert "traceparent" not in await sent(answers)


@pytest.mark.parametrize(
    "wrong",
    ["", "x", PARENT[:-1], PARENT.upper(), f"ff{PARENT[2:]}", f"00-{'0' * 32}-00f067aa0ba902b7-01", f"{PARENT}-more", "00-" * 100_000],
)
def test_what_is_no_trace_is_none(wrong: str) -> None:
    follow({"traceparent": PARENT})
    follow({"traceparent": wrong})
    assert TRACE.get() is None


@pytest.mark.parametrize("state", ["a" * (STATE + 1), "é=1", "a=1\r\nx: y"])
def test_a_state_that_is_no_header_is_left_out(state: str) -> None:
    follow({"traceparent": PARENT, "tracestate": state})
    context = TRACE.get()
    assert context
    assert context.headers == {"traceparent": PARENT}


def test_a_line_of_the_log_names_the_trace() -> None:
    follow({"traceparent": PARENT})
    line = json.loads(Lines().format(logging.LogRecord("tandem_fleet", logging.INFO, "", 0, "said", (), None)))
    assert line["trace"] == "4bf92f3577b34da6a3ce929d0e0e4736"


def test_headers_of_a_request_have_any_case() -> None:
    follow(httpx2.Headers({"TraceParent": PARENT}))
    assert TRACE.get()
