import socket
from typing import Any

import pytest

from sandbox_server.drivers.secrets import store_http
from sandbox_server.drivers.secrets.sources import ValueUnavailable
from tests.drivers.secrets.conftest import Serve

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("status", [301, 403, 404, 500])
async def test_another_status_is_said_and_nothing_of_the_answer(serve: Serve, status: int) -> None:
    address, server = await serve(lambda *_: (status, b"the-secret"))
    with pytest.raises(ValueUnavailable, match=str(status)) as refused:
        await store_http.ask("GET", f"{address}/x", {})
    assert "the-secret" not in str(refused.value)
    assert server.asked == [("GET", "/x")]


async def test_an_answer_is_json_and_bounded(serve: Serve) -> None:
    for content, why in ((b"no json", "not JSON"), (b"[" * 5000, "not JSON"), (b" " * (store_http.MAX_ANSWER + 1), "larger")):
        address, _ = await serve(lambda *_, content=content: (200, content))
        with pytest.raises(ValueUnavailable, match=why):
            await store_http.ask("GET", address, {})


async def test_a_store_that_is_not_there_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    for url in (f"http://127.0.0.1:{free}/", "http://[", "http://a b/"):
        with pytest.raises(ValueUnavailable):
            await store_http.ask("GET", url, {})


def test_what_is_missing_is_named() -> None:
    assert store_http.text_at({"a": {"b": "c"}}, "a", "b") == "c"
    documents: list[Any] = [{}, [], {"a": {"b": 1}}, None]
    for document in documents:
        with pytest.raises(ValueUnavailable, match=r"a\.b"):
            store_http.text_at(document, "a", "b")
