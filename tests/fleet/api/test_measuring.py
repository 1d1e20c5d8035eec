"""Requests are measured by their route and logged."""

import logging

import httpx2
import pytest
from tandem_fleet.api import measuring
from tandem_fleet.fleet import Fleet
from tandem_fleet.metrics import REGISTRY

from tests.fleet.test_metrics import value

pytestmark = pytest.mark.anyio


def routes() -> set[str]:
    """The routes that were measured."""
    return {sample.labels["route"] for metric in REGISTRY.collect() if metric.name == "tandem_request_seconds" for sample in metric.samples}


async def test_a_request_is_measured_by_its_route_and_never_by_what_was_sent(
    http: httpx2.AsyncClient, fleet: Fleet, caplog: pytest.LogCaptureFixture
) -> None:
    labels = {"method": "GET", "route": "/v1/sandboxes/{name}", "status": "404"}
    before = value("tandem_request_seconds_count", **labels)
    with caplog.at_level(logging.INFO, measuring.__name__):
        for number in range(3):
            await http.get(f"/v1/sandboxes/none{number}")
        await http.request("BREW", f"/nowhere{id(http)}")
    assert value("tandem_request_seconds_count", **labels) == before + 3
    assert value("tandem_request_seconds_count", method="other", route="none", status="404") >= 1
    assert not [route for route in routes() if "nowhere" in route or "none0" in route]
    told = [record for record in caplog.records if record.name == measuring.__name__]
    assert told[0].getMessage() == "GET /v1/sandboxes/{name} 404"
    assert told[0].fields["tenant"] == "default"  # type: ignore[attr-defined] # as it is given
