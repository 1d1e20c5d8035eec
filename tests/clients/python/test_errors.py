import pytest
from tandem.errors import ApiError, CommandFailed, InvalidRequest, PermissionDenied, failure


@pytest.mark.parametrize("body", ["<html>502</html>", None, [1], {"detail": "x"}, {"message": None, "data": "text"}])
def test_any_answer_is_a_failure_with_a_sentence(body: object) -> None:
    error = failure(502, body, {})
    assert type(error) is ApiError
    assert error.message
    assert (error.status, dict(error.data)) == (502, {})


def test_a_failure_has_its_hint_and_its_request() -> None:
    error = failure(422, {"message": "no", "hint": "say yes", "data": {"field": "a"}}, {"x-request-id": "r"})
    assert isinstance(error, InvalidRequest)
    assert (str(error), error.request_id, error.data["field"]) == ("no (HTTP 422). say yes", "r", "a")


def test_who_may_not_is_told_so() -> None:
    assert all(isinstance(failure(status, {}, {}), PermissionDenied) for status in (401, 403))


def test_a_command_that_failed_shows_the_end_of_its_output() -> None:
    error = CommandFailed("make", 2, "x" * 5000 + "the end")
    assert str(error).endswith("the end")
    assert len(str(error)) < 2100
