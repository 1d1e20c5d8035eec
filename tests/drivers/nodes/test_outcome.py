import pytest

from sandbox_server.drivers.nodes.outcome import Thrown, count_of, exit_code, left_out, text, thrown
from sandbox_server.drivers.spawn.pipes import Capture
from sandbox_server.drivers.spawn.process import LOST, Exit


def test_an_exception_is_read_as_far_as_it_is_told() -> None:
    assert thrown({"name": "Error", "message": "m", "stack": ["a", 1]}) == Thrown("Error", "m", ["a", "1"])
    assert thrown({"stack": "none"}) == Thrown("None", "None", [])
    assert thrown("Error") is None


@pytest.mark.parametrize(("observed", "code"), [(Exit(3, None), 3), (Exit(None, 9), 137), (LOST, 255)])
def test_an_exit_code_is_what_a_shell_would_show(observed: Exit, code: int) -> None:
    assert exit_code(observed) == code


def test_what_was_left_out_is_said_in_bytes() -> None:
    capture = Capture(3)
    assert left_out(capture.dropped) == ()
    capture.take(b"abcde")
    assert text(capture) == "abc"
    assert left_out(2 * capture.dropped) == ("4 bytes of output were over the limit and were not kept",)


def test_a_count_is_a_number_or_none() -> None:
    assert [count_of({"count": 3}), count_of({"count": "3"}), count_of({})] == [3, None, None]
