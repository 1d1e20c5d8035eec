"""The desktop's variables."""

import pytest

from sandbox_server.settings import BadSettings, DisplaySettings, load


def test_the_screen_has_the_size_that_was_asked_for() -> None:
    display = load({"DISPLAY_WIDTH": "3840", "DISPLAY_HEIGHT": "2160"}).display
    assert (display.width, display.height, display.depth) == (3840, 2160, 24)


@pytest.mark.parametrize(("name", "value"), [("DISPLAY_WIDTH", "3841"), ("DISPLAY_HEIGHT", "63"), ("DISPLAY_DEPTH", "16")])
def test_a_screen_that_cannot_be_had_is_named(name: str, value: str) -> None:
    with pytest.raises(BadSettings, match=name):
        load({name: value})


def test_clients_find_the_server_s_socket_by_its_number() -> None:
    assert DisplaySettings(name=":7").socket == "/tmp/.X11-unix/X7"


def test_programs_of_the_agent_are_not_trusted_unless_that_is_asked_for() -> None:
    assert [load({}).display.trust_shells, load({"X_TRUST_SHELLS": "true"}).display.trust_shells] == [False, True]
