"""What a tenant may have."""

from typing import Any

import pytest
from pydantic import ValidationError
from tandem_fleet.errors import FleetError, InvalidError, QuotaError
from tandem_fleet.quotas import Held, Quota, check, occupies
from tandem_fleet.sandboxes import Spec

ONE = Spec(memory_mb=1024, cpus=1.5)


@pytest.mark.parametrize(
    ("quota", "held", "exists", "refused"),
    [
        (Quota(), Held(10**6, 10**6, 10**9, 10**6), False, None),
        (Quota(sandboxes=2), Held(1), False, None),
        (Quota(sandboxes=2), Held(2), False, "2 sandboxes, and this would make it 3"),
        (Quota(sandboxes=2), Held(3), True, None),  # one that exists starts again
        (Quota(cpus=3), Held(cpus=1.5), False, None),
        (Quota(cpus=2.9), Held(cpus=1.5), True, "2.9 processors, and this would make it 3"),
        (Quota(memory_mb=2048), Held(memory_mb=1024), False, None),
        (Quota(memory_mb=2047), Held(memory_mb=1024), False, "2047 MiB of memory"),
        (Quota(hours=2), Held(hours=1.9), False, None),
        (Quota(hours=2), Held(hours=2), True, "used its 2 hours"),
        (Quota(sandboxes=0), Held(), False, "0 sandboxes"),
    ],
)
def test_the_limit_itself_is_allowed_and_one_more_is_not(quota: Quota, held: Held, exists: bool, refused: str | None) -> None:
    if refused is None:
        check(quota, held, ONE, exists=exists)
    else:
        with pytest.raises(QuotaError, match=refused):
            check(quota, held, ONE, exists=exists)


def test_where_processors_are_limited_each_one_says_how_many() -> None:
    with pytest.raises(InvalidError, match="cpus"):
        check(Quota(cpus=8), Held(), Spec(), exists=False)


@pytest.mark.parametrize(
    ("desired", "state", "room"),
    [("running", "creating", True), ("paused", "paused", True), ("stopped", "ready", False), ("running", "failed", False)],
)
def test_what_is_stopped_failed_or_deleted_takes_no_room(desired: str, state: str, room: bool) -> None:
    assert occupies(desired, state) is room


@pytest.mark.parametrize("wrong", [{"sandboxes": -1}, {"requests_per_minute": 0}, {"disk": 1}, {"hours": float("nan")}])
def test_a_limit_that_is_none_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Quota(**wrong)


def test_a_refusal_is_no_error_of_the_service() -> None:
    assert issubclass(QuotaError, FleetError)
    assert QuotaError.status == 403
