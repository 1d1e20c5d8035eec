"""DevTools messages as bytes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_server.cdp import messages
from sandbox_server.cdp.messages import BrowserMessage, NotACommandError, Splitter, read_arrival, read_command

SESSION = "0123456789ABCDEF0123456789ABCDEF"


def written(**message: object) -> bytes:
    """A message as Chromium writes it: without blanks, in the order given."""
    return json.dumps(message, separators=(",", ":")).encode()


def arrival(**message: object) -> BrowserMessage:
    read = read_arrival(written(**message))
    assert isinstance(read, BrowserMessage)
    return read


def test_a_reply_is_put_under_the_client_s_id_and_keeps_everything_else() -> None:
    reply = arrival(id=123, result={"id": 123, "sessionId": SESSION}, sessionId=SESSION)
    assert (reply.id, reply.session) == (123, SESSION)
    assert reply.readdressed(7, keep_session=True) == written(id=7, result={"id": 123, "sessionId": SESSION}, sessionId=SESSION)
    assert reply.readdressed(7, keep_session=False) == written(id=7, result={"id": 123, "sessionId": SESSION})


def test_an_event_loses_only_the_session_that_its_client_does_not_know() -> None:
    event = arrival(method="Page.loadEventFired", params={"timestamp": 1}, sessionId=SESSION)
    assert event.id is None
    assert event.event(keep_session=False) == written(method="Page.loadEventFired", params={"timestamp": 1})
    assert event.event(keep_session=True) == event.message


@pytest.mark.parametrize(
    "message",
    [
        {"id": 1, "result": {"sessionId": SESSION}},
        {"method": "Target.detachedFromTarget", "params": {"sessionId": SESSION}},
        {"id": 1, "result": {"value": f',"sessionId":"{SESSION}"}}'}},
        {"method": "Runtime.consoleAPICalled", "params": {"text": f',"sessionId":"{SESSION}'}},
    ],
)
def test_a_session_named_inside_a_message_is_not_its_address(message: dict[str, Any]) -> None:
    assert read_arrival(written(**message)) == message


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.just(SESSION), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_whatever_a_result_holds_it_arrives_unchanged(result: object) -> None:
    reply = arrival(id=99, result={"value": result}, sessionId=SESSION)
    assert json.loads(reply.readdressed(-5, keep_session=False)) == {"id": -5, "result": {"value": result}}


def test_a_command_is_written_anew_so_that_a_doubled_key_has_one_meaning() -> None:
    command = read_command('{"id":1,"method":"A.b","sessionId":"mine","params":{},"sessionId":"other"}')
    assert command.session == "other"
    assert json.loads(command.encode(5, command.session)) == {"id": 5, "method": "A.b", "sessionId": "other", "params": {}}
    assert command.encode(5, "other").count(b"sessionId") == 1


def test_half_a_surrogate_pair_reaches_the_browser() -> None:
    command = read_command('{"id":1,"method":"A.b","params":{"text":"\\ud800"}}')
    assert b'"\\ud800"' in command.encode(1, SESSION)


@pytest.mark.parametrize(
    ("sent", "code", "command"),
    [
        ("{", messages.PARSE_ERROR, None),
        ("[" * 100_000, messages.PARSE_ERROR, None),
        ("[]", messages.INVALID_REQUEST, None),
        ('{"method":"A.b"}', messages.INVALID_REQUEST, None),
        ('{"id":true,"method":"A.b"}', messages.INVALID_REQUEST, None),
        ('{"id":"1","method":"A.b"}', messages.INVALID_REQUEST, None),
        ('{"id":4}', messages.INVALID_REQUEST, 4),
        ('{"id":4,"method":"A.b","sessionId":7}', messages.INVALID_REQUEST, 4),
    ],
)
def test_what_is_not_a_command_is_answered_as_chromium_does(sent: str, code: int, command: int | None) -> None:
    with pytest.raises(NotACommandError) as caught:
        read_command(sent)
    reply = json.loads(caught.value.reply)
    assert (reply.get("id"), reply["error"]["code"]) == (command, code)


@given(st.lists(st.binary(min_size=1).map(lambda part: part.replace(b"\0", b".")), max_size=8), st.integers(1, 9))
def test_messages_are_cut_where_they_end_however_they_arrive(messages: list[bytes], step: int) -> None:
    stream = b"".join(message + b"\0" for message in messages)
    splitter = Splitter()
    found = [message for start in range(0, len(stream), step) for message in splitter.feed(stream[start : start + step])]
    assert found == messages


@pytest.mark.parametrize("step", [1, 7, 1000])
def test_a_reply_over_the_limit_becomes_an_error_for_the_one_who_waits(step: int) -> None:
    splitter = Splitter(limit=500)
    stream = written(id=8, result={"data": "x" * 600}, sessionId=SESSION) + b"\0" + written(id=9, result={}) + b"\0"
    refused, following = [message for start in range(0, len(stream), step) for message in splitter.feed(stream[start : start + step])]
    reply = read_arrival(refused)
    assert isinstance(reply, BrowserMessage)
    assert (reply.id, reply.session, "error" in json.loads(refused)) == (8, SESSION, True)
    assert following == written(id=9, result={})


def test_an_event_over_the_limit_is_dropped() -> None:
    splitter = Splitter(limit=100)
    stream = written(method="A.b", params={"data": "x" * 200}, sessionId=SESSION)
    assert splitter.feed(stream + b"\0" + b"next\0") == [b"next"]
