import pytest

from sandbox_server.core import InvalidArgument
from sandbox_server.features.bash.follow import BashPosition


def test_a_position_survives_the_wire() -> None:
    position = BashPosition("session", "command", 12, 30)
    assert BashPosition.parse(str(position)) == position
    assert position.seq == 42


@pytest.mark.parametrize("event_id", ["", "a/b/1", "a/b/1/x", "a/b/1/2/3", "17"])
def test_anything_else_is_no_position(event_id: str) -> None:
    with pytest.raises(InvalidArgument):
        BashPosition.parse(event_id)
