"""Bodies that are asked for, and how many are kept."""

from typing import Any

import pytest

from sandbox_server.drivers.devtools.bodies import MAX_ASKED, MAX_BODIES, Bodies
from sandbox_server.drivers.devtools.connection import DevtoolsRefused
from sandbox_server.drivers.devtools.traffic import MAX_BODY, Exchange

pytestmark = pytest.mark.anyio


class FakeConnection:
    """Answers with what it was given, or refuses."""

    def __init__(self, body: str | None, *, coded: bool = False) -> None:
        self._answer = {"body": body, "base64Encoded": coded}

    async def command(self, method: str, params: dict[str, Any], session: str) -> dict[str, Any]:
        assert (method, session) == ("Network.getResponseBody", "session")
        if self._answer["body"] is None:
            raise DevtoolsRefused("No resource with given identifier found")
        return self._answer


def exchange(mime_type: str = "text/html") -> Exchange:
    return Exchange("1", "session", "page", "GET", "http://a/", "document", 1.0, 1.0, mime_type=mime_type)


async def fetched(bodies: Bodies, body: str | None, *, coded: bool = False) -> Exchange:
    one = exchange()
    await bodies.fetch(FakeConnection(body, coded=coded), one)  # type: ignore[arg-type] # it has what is used
    return one


@pytest.mark.parametrize(
    ("mime_type", "wanted"),
    [
        ("text/css", True),
        ("application/json", True),
        ("application/ld+json", True),
        ("image/svg+xml", True),
        ("image/png", False),
        ("application/octet-stream", False),
        ("", False),
    ],
)
def test_text_is_asked_for(mime_type: str, wanted: bool) -> None:
    assert Bodies().wants(exchange(mime_type), {"encodedDataLength": 10}) is wanted


def test_what_is_too_long_is_not_asked_for() -> None:
    assert not Bodies().wants(exchange(), {"encodedDataLength": MAX_BODY + 1})


async def test_a_body_is_kept_with_its_exchange() -> None:
    assert (await fetched(Bodies(), "text")).body == "text"


async def test_what_the_browser_has_no_more_is_left_out() -> None:
    bodies = Bodies()
    for _ in range(MAX_ASKED + 1):
        assert (await fetched(bodies, None)).body is None
    assert bodies.wants(exchange(), {}), "those that failed are waited for no longer"


async def test_what_turns_out_long_is_said_to_be_cut_and_what_is_no_text_left_out() -> None:
    long, coded = await fetched(Bodies(), "x" * (MAX_BODY + 1)), await fetched(Bodies(), "AAAA", coded=True)
    assert (long.body, long.cut, coded.body, coded.cut) == (None, True, None, False)


async def test_the_oldest_go_first() -> None:
    bodies = Bodies()
    kept = [await fetched(bodies, "x" * MAX_BODY) for _ in range(MAX_BODIES // MAX_BODY + 1)]
    assert [one.body is None for one in kept[:2]] == [True, False]
    assert kept[0].cut
