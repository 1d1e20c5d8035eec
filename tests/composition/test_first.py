"""What answers the first calls."""

import pytest

from sandbox_server.composition.late import NotMadeYetError
from tests.composition.made import first


def test_what_is_opened_first_is_what_the_others_write_to() -> None:
    made = first()
    opened = [each for part in made.parts for each in part.opened]

    assert opened[0] is made.recorder.journal
    assert opened.index(made.handoffs.queue) < opened.index(made.handoffs.approvals)


def test_what_tells_of_a_persons_changes_is_not_there_yet() -> None:
    with pytest.raises(NotMadeYetError):
        first().receipts.get()


def test_who_is_private_is_known_to_the_recorder_as_soon_as_it_is_made() -> None:
    assert first().recorder.journal.private() is False
