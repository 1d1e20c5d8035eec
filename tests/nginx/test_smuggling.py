"""No request gets past the question, whatever it is dressed as."""

from typing import TYPE_CHECKING

import pytest

from tests.attacks import REFUSALS, requests, statuses

if TYPE_CHECKING:
    from tests.nginx.conftest import Gateway

ATTACKS = requests("/v1/echo", 8091)


@pytest.mark.parametrize("name", ATTACKS)
def test_without_a_credential_it_is_refused(gateway: "Gateway", name: str) -> None:
    before = gateway.echo.reached
    received = gateway.send(ATTACKS[name])
    assert set(statuses(received)) <= REFUSALS, received
    assert gateway.echo.reached == before, received
