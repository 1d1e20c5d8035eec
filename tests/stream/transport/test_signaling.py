"""Signaling: an offer and an answer are parsed as they were made, and nothing else is."""

from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sandbox_server.stream.transport.signaling import ChannelAnswer, ChannelOffer, PeerIdentity, VideoPayloadTypes, read_answer, read_offer
from sandbox_server.stream.wire import MalformedMessage
from tests.tables import table_test

PRINT = ":".join(f"{number:02X}" for number in range(32))
PEER = PeerIdentity("name", "p" * 22, PRINT)
ANSWER = ChannelAnswer(PEER, "desktop.example", 8443)


def test_what_is_said_is_read() -> None:
    assert read_offer(str(PEER)) == ChannelOffer(PEER)
    assert read_offer(f"{PEER} 102 35") == ChannelOffer(PEER, VideoPayloadTypes(102, 35))
    for answer in (ANSWER, replace(ANSWER, address="10.0.0.1")):
        assert read_answer(str(answer)) == answer
    assert read_offer("") is None


@table_test(
    [
        " ",
        "name",
        f"nam {'p' * 22} {PRINT}",
        f"name {'p' * 21} {PRINT}",
        f"name {'p' * 22} {PRINT.lower()}",
        f"name {'p' * 22} {PRINT[:-3]}",
        f"{PEER}\n",
        f"{PEER} 10.0.0.1 22",
        f"{PEER} 102",
        f"{PEER} 102 64",
        f"{PEER} 102 128",
        f"{PEER} 0102 103",
        f"{'n' * 257} {'p' * 22} {PRINT}",
        "n" * 5000,
    ]
)
def test_what_is_no_offer_is_refused(text: str) -> None:
    with pytest.raises(MalformedMessage):
        read_offer(text)


@settings(deadline=None, database=None)
@given(st.text(max_size=300) | st.text("abcF09:+/ ", max_size=300))
@example(f"{PEER} host 99999")
@example(f"{PEER} host 0")
@example(f"{PEER} ho\tst 1")
@example(f"{PEER} host")
@example(f"{PEER} host 1 10.0.0.1 ")
@example(f"{PEER} host 1 elsewhere")
@example(f"{PEER} 127 96")
def test_text_is_either_a_signal_or_refused(text: str) -> None:
    for read in (read_offer, read_answer):
        try:
            found = read(text)
        except MalformedMessage:
            continue
        assert str(found or "") == text
