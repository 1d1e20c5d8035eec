"""The desktop."""

from sandbox_server.composition.desktop import build_desktop, private_mode
from tests.composition.made import first


def test_a_recording_of_the_screen_counts_as_activity() -> None:
    made = first()
    before = len(made.work.activity._recordings)
    screen = build_desktop(made.machine, made.control, made.work)

    assert len(made.work.activity._recordings) == before + 1
    assert not made.work.activity.active()
    assert screen.part.opened[:2] == (screen.desktop, screen.turns)


def test_keys_and_clipboard_follow_the_lease() -> None:
    made = first()
    before = len(made.control.keeper._hooks)
    build_desktop(made.machine, made.control, made.work)

    assert [type(each).__name__ for each in made.control.keeper._hooks[before:]] == ["ReleaseKeys", "ClearClipboard"]


def test_private_mode_is_asked_of_the_lease() -> None:
    assert not private_mode(first().control)()
