"""Rules are checked before they hold, and the log is listed and written."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from sandbox_server.core.dispatch import InvalidFields
from sandbox_server.core.errors import FileError, NotFound
from sandbox_server.drivers.files.files import Files
from sandbox_server.features.browser.network import (
    BEGUN,
    ExportHarRequest,
    HeadersRequest,
    Network,
    RequestsQuery,
    RouteRemoval,
    RouteRequest,
    ScopedHeadersRequest,
)
from tests.drivers.devtools.har_schema import SCHEMA
from tests.features.browser.browsers import FakeDevtools

pytestmark = pytest.mark.anyio


@pytest.fixture
def devtools() -> FakeDevtools:
    return FakeDevtools()


@pytest.fixture
def network(devtools: FakeDevtools, files: Files) -> Network:
    return Network(devtools, files, "1.0")  # type: ignore[arg-type] # all that is used


def route(**fields: Any) -> RouteRequest:
    return RouteRequest.model_validate({"url_pattern": "**/x", **fields})


async def test_headers_hold_until_they_are_replaced(network: Network, devtools: FakeDevtools) -> None:
    await network.set_headers(HeadersRequest(headers={"X-A": "1"}))
    await network.set_headers(HeadersRequest(headers={"X-B": "2"}))
    assert (devtools.rules.headers, devtools.applied) == ({"X-B": "2"}, 2)


async def test_headers_of_an_origin_are_kept_by_the_origin(network: Network, devtools: FakeDevtools) -> None:
    await network.set_scoped_headers(ScopedHeadersRequest(origin="https://A.example:443/", headers={"X-A": "1"}))
    assert devtools.rules.origins == {"https://a.example": {"X-A": "1"}}


@pytest.mark.parametrize(
    "origin", ["", "a.example", "ftp://a.example", "https://a.example/path", "https://u:p@a.example", "http://[", "**"]
)
async def test_what_is_no_origin_is_refused(network: Network, devtools: FakeDevtools, origin: str) -> None:
    with pytest.raises(InvalidFields) as refused:
        await network.set_scoped_headers(ScopedHeadersRequest(origin=origin, headers={}))
    assert (refused.value.problems[0]["loc"], devtools.applied) == (("origin",), 0)


async def test_headers_that_break_requests_are_refused_without_their_values(network: Network, devtools: FakeDevtools) -> None:
    with pytest.raises(InvalidFields) as refused:
        await network.set_headers(HeadersRequest(headers={"Host": "hush"}))
    assert "hush" not in str(refused.value)
    assert (devtools.rules.headers, devtools.applied) == ({}, 0)


async def test_a_route_is_added_replaced_and_removed(network: Network, devtools: FakeDevtools) -> None:
    await network.add_route(route(response={"status": 201, "body": "ü", "headers": {"X": "1"}}))
    answer = devtools.rules.routes["**/x"].answer
    assert answer
    assert (answer.status, answer.body, answer.content_type) == (201, b"\xc3\xbc", "text/plain")
    await network.add_route(route(abort=True))
    assert (len(devtools.rules.routes), devtools.rules.routes["**/x"].abort) == (1, True)
    await network.remove_route(RouteRemoval(url_pattern="**/x"))
    assert (devtools.rules.routes, devtools.applied) == ({}, 3)
    with pytest.raises(NotFound):
        await network.remove_route(RouteRemoval(url_pattern="**/x"))


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"url_pattern": ""}, ("url_pattern",)),
        ({"url_pattern": "{a"}, ("url_pattern",)),
        ({"response": {"status": 100}}, ("response", "status")),
        ({"response": {"headers": {"A B": ""}}}, ("response", "headers")),
        ({"response": {"content_type": "a\r\nb"}}, ("response", "content_type")),
        ({"response": {"body": "x" * (10 * 2**20 + 1)}}, ("response", "body")),
    ],
)
async def test_a_wrong_route_names_its_field(
    network: Network, devtools: FakeDevtools, fields: dict[str, Any], place: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidFields) as refused:
        await network.add_route(route(**fields))
    assert (refused.value.problems[0]["loc"], devtools.applied) == (place, 0)


async def test_the_latest_requests_are_listed_without_their_headers(network: Network, devtools: FakeDevtools) -> None:
    assert (await network.get_requests(RequestsQuery())).hint == BEGUN
    for number in range(5):
        devtools.request(f"https://a.example/{number}", str(number))
    listed = (await network.get_requests(RequestsQuery(limit=2))).data
    assert [request.url for request in listed] == ["https://a.example/3", "https://a.example/4"]
    assert (listed[0].resource_type, listed[0].status, listed[0].started) == ("xhr", None, "2023-11-14T22:13:20.000Z")
    assert "hush" not in str(listed)


@pytest.mark.parametrize(
    ("wanted", "found"), [("b.ex", ["https://b.example/1"]), ("https://*/1", ["https://a.example/1", "https://b.example/1"])]
)
async def test_requests_are_found_by_a_part_or_a_pattern(network: Network, devtools: FakeDevtools, wanted: str, found: list[str]) -> None:
    for number, url in enumerate(("https://a.example/1", "https://b.example/1", "https://a.example/2/1")):
        devtools.request(url, str(number))
    assert [request.url for request in (await network.get_requests(RequestsQuery(filter=wanted))).data] == found


@pytest.mark.parametrize("query", [{"limit": -1}, {"filter": "{*"}])
async def test_a_wrong_question_names_its_field(network: Network, devtools: FakeDevtools, query: dict[str, Any]) -> None:
    devtools.request("https://a.example/1")
    with pytest.raises(InvalidFields) as refused:
        await network.get_requests(RequestsQuery.model_validate(query))
    assert refused.value.problems[0]["loc"] == tuple(query)


async def test_the_log_is_written_as_a_valid_archive(network: Network, devtools: FakeDevtools, home: Path) -> None:
    devtools.request("https://a.example/1")
    done = await network.export_har(ExportHarRequest(save_path="~/new/log.har"))
    document = json.loads((home / "new/log.har").read_text())
    jsonschema.validate(document, SCHEMA)
    assert (done.entries, done.size) == (1, (home / "new/log.har").stat().st_size)
    assert (home / "new/log.har").stat().st_mode & 0o777 == 0o600


async def test_an_archive_that_cannot_be_written_says_so(network: Network) -> None:
    with pytest.raises(FileError):
        await network.export_har(ExportHarRequest(save_path="/proc/log.har"))
