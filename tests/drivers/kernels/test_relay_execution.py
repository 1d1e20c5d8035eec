"""What of an execution is passed on."""

from typing import Any

import pytest

from sandbox_server.drivers.kernels.relay_execution import PIECE, RelayedExecution


def run(room: int = 10_000, count: int = 100) -> tuple[RelayedExecution, list[dict[str, Any]]]:
    told: list[dict[str, Any]] = []
    return RelayedExecution(lambda line: told.append(line.get("output", line)), room, count), told


def test_outputs_are_passed_on_and_other_messages_are_not() -> None:
    running, told = run()
    running.take("execute_input", {"code": "1"})
    running.take("stream", {"name": "stdout", "text": "a"})
    running.take("execute_result", {"data": {"text/plain": "1"}, "metadata": {}})

    assert [output.get("output_type", output.get("event")) for output in told] == ["begun", "stream", "execute_result"]


def test_text_over_the_limit_is_cut_and_counted_and_nothing_comes_after_it() -> None:
    running, told = run(room=1000)
    running.take("stream", {"name": "stdout", "text": "x" * 1500})
    assert running.full
    running.take("stream", {"name": "stdout", "text": "y"})

    assert [output["text"] for output in told] == ["x" * 1000]
    assert running.dropped == 501


@pytest.mark.parametrize("letter", ["x", "\x01", "é", "€", "𝄞", "\ud800"])
def test_a_stream_holds_as_many_bytes_as_there_is_room_and_says_exactly_how_many_not(letter: str) -> None:
    room, each = 3 * PIECE + 1, len(letter.encode("utf-8", "surrogatepass"))
    running, told = run(room=room)
    running.take("stream", {"name": "stdout", "text": letter * (room + 7)})
    text = "".join(output["text"] for output in told)

    assert text == letter * (room // each)
    assert running.dropped == each * (room + 7 - room // each)
    assert max(len(output["text"]) for output in told) <= PIECE


@pytest.mark.parametrize(("content", "size"), [
    (b'{"name": "stdout", "text": "\\u00e9\\n"}', 3),
    (b'{"name": "stdout"}', 18),
    (b"[" * 100_000, 100_000),
])  # fmt: skip
def test_what_comes_when_nothing_fits_any_more_is_counted_unread(content: bytes, size: int) -> None:
    running, _ = run(room=0)
    running.miss(b"kernel.1.stream.stdout", content)

    assert running.dropped == size


def test_an_output_that_does_not_fit_is_left_out_and_smaller_ones_still_come() -> None:
    running, told = run(room=3000)
    running.take("display_data", {"data": {"image/png": "x" * 5000}})
    running.take("display_data", {"data": {"text/plain": "small"}})

    assert [output["data"] for output in told] == [{"text/plain": "small"}]
    assert running.dropped > 5000


def test_no_more_pieces_are_passed_on_than_were_asked_for() -> None:
    running, told = run(count=2)
    for _ in range(3):
        running.take("display_data", {"data": {}})

    assert len(told) == 2
    assert running.full
    assert running.dropped


def test_an_execution_ends_when_the_kernel_is_idle() -> None:
    running, _ = run()
    running.take("status", {"execution_state": "busy"})
    assert not running.idle.is_set()
    running.take("status", {"execution_state": "idle"})
    assert running.idle.is_set()


def test_what_a_pager_would_show_is_an_output() -> None:
    running, told = run()
    running.show_page({"payload": [{"source": "page", "data": {"text/plain": "help"}}, {"source": "set_next_input"}]})

    assert told == [{"output_type": "display_data", "data": {"text/plain": "help"}, "metadata": {}}]
