"""What each refusal is answered with."""

import inspect

from tandem_fleet import errors
from tandem_fleet.errors import FleetError, TooManyRequestsError


def test_every_refusal_has_a_code_and_a_status_of_its_own() -> None:
    kinds = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, FleetError) and one is not FleetError]
    assert len({one.code for one in kinds}) == len(kinds)
    assert all(400 <= one.status < 600 for one in kinds)


def test_who_calls_too_often_is_told_when_to_call_again() -> None:
    assert TooManyRequestsError("later", 3).retry_after == 3
    assert FleetError("no").retry_after is None
