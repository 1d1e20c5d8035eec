"""What an agent works with first."""

from tests.composition.made import first


def test_shells_commands_files_and_the_box_are_among_the_first() -> None:
    features = first().work.part.features

    assert {"shell", "bash", "file", "file-watch", "sandbox", "checkpoints"} <= {feature.tag for feature in features}


def test_nothing_runs_before_anything_was_asked_for() -> None:
    work = first().work

    assert len(work.activity._commands) == 2
    assert not work.activity.active()
    assert work.part.opened
