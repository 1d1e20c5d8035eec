"""The variable of slow machines."""

import pytest

from sandbox_server.settings import BadSettings, agent_environ, load
from tests.tables import table_test


def test_nothing_is_multiplied_unless_it_is_asked_for() -> None:
    assert load({}).timeouts.factor == 1
    assert load({"TIMEOUT_FACTOR": ""}).timeouts.factor == 1
    assert load({"TIMEOUT_FACTOR": "2.5"}).timeouts.factor == 2.5


@table_test(("abc", "0", "0.5", "21", "nan", "-1"))
def test_what_is_no_factor_stops_the_boot(text: str) -> None:
    with pytest.raises(BadSettings, match=r"^TIMEOUT_FACTOR must be .*from 1 to 20$"):
        load({"TIMEOUT_FACTOR": text})


def test_the_agent_does_not_get_it() -> None:
    given = {"TIMEOUT_FACTOR": "3", "GREETING": "hello"}
    assert {"TIMEOUT_FACTOR", "GREETING"} & agent_environ(given, load(given)).keys() == {"GREETING"}
