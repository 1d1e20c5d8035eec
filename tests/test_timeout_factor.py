"""The factor of this machine that `scripts/test` measures."""

import pytest

from tests import timeout_factor
from tests.tables import table_test


@table_test({"good": (0.13, 1), "normal": (0.3, 1), "slower": (0.4, 1.5), "twice": (0.6, 2), "slow": (1.5, 5), "hopeless": (60.0, 6)})
def test_the_factor_is_the_least_that_is_enough(seconds: float, factor: float) -> None:
    assert timeout_factor.factor_of(seconds) == factor


def test_the_work_is_done_more_than_once_and_takes_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeout_factor, "MEASURED_SECONDS", 0.0)
    assert 0 < timeout_factor.measure() < 60
