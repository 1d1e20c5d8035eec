"""W3C Trace Context."""

import pytest

from sandbox_server.features.recorder.trace_context import new_trace, trace_of

HEADER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_a_call_is_a_span_below_what_its_header_names() -> None:
    found = trace_of({"traceparent": HEADER})
    assert found
    assert (found.trace, found.parent, found.sampled) == ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", True)
    assert len(found.span) == 16
    assert found.span != found.parent


@pytest.mark.parametrize(
    "header",
    ["", "x", HEADER.upper(), HEADER.replace("00-", "ff-", 1), f"00-{'0' * 32}-00f067aa0ba902b7-01", f"00-{'a' * 32}-{'0' * 16}-01"],
)
def test_a_header_that_names_none_is_ignored(header: str) -> None:
    assert trace_of({"traceparent": header}) is None


def test_a_trace_of_our_own_has_no_parent() -> None:
    assert new_trace().parent is None
    assert new_trace().trace != new_trace().trace
