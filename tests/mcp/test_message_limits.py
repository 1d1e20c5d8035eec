"""What one message may be."""

import pytest

from sandbox_server.mcp import message_limits
from sandbox_server.mcp.message_limits import MAX_REASON, MessageLimitError, MessageSize, shorten


@pytest.mark.parametrize(("limit", "piece"), [("MAX_MESSAGE", b"x" * 40), ("MAX_PARTS", b"[{" * 20)])
def test_a_message_is_measured_over_all_its_pieces(monkeypatch: pytest.MonkeyPatch, limit: str, piece: bytes) -> None:
    monkeypatch.setattr(message_limits, limit, 60)
    measure = MessageSize()
    measure.take(piece)

    with pytest.raises(MessageLimitError, match="more than 60"):
        measure.take(piece)


def test_a_servers_own_words_are_shortened_and_move_nothing() -> None:
    said = shorten("\x1b[31mred\x07\nand \u202eback" + "!" * 10 * MAX_REASON)

    assert said.startswith(" [31mred \nand  back!")
    assert len(said) == MAX_REASON + 3
