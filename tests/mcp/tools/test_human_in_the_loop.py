"""A handoff that the user of the calling client may answer too: real clients, MCP and handoffs over HTTP."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp_types import ElicitResult
from starlette.applications import Starlette

from sandbox_server.core import Caller
from sandbox_server.core.dispatch import Dispatcher, require_scope
from sandbox_server.core.http import create_app
from sandbox_server.core.operation import operations
from sandbox_server.features.api_description import Description
from sandbox_server.features.handoff.handoffs import Handoffs
from sandbox_server.mcp.app import McpParts, create_mcp_app
from sandbox_server.mcp.tools.human_in_the_loop import elicitation_of, has_secrets, reply_of
from tests.features.handoff.queues import queue
from tests.mcp.conftest import InProcessConnector, nothing_behind, servers_of
from tests.mcp.sdk_clients import ERAS, client_of
from tests.patience import PATIENCE_SECONDS, eventually

pytestmark = pytest.mark.anyio

AGENT = {"X-Sandbox-Caller": "agent", "X-Sandbox-Scopes": "view code"}
ANN = {"X-Sandbox-Caller": "ann", "X-Sandbox-Scopes": "view control", "X-Sandbox-Actor": "person"}
ASKED = {"kind": "choice", "reason": "Which seat?", "choices": ["aisle", "window"], "wait": 60}


class User:
    """The user of a client: answers as told, or thinks until the request is withdrawn."""

    def __init__(self, answer: ElicitResult | None = None) -> None:
        self.asked: list[Any] = []
        self.withdrawn = 0
        self.answer = answer
        self.may_answer = asyncio.Event()
        if answer:
            self.may_answer.set()

    async def __call__(self, _: Any, params: Any) -> ElicitResult:
        self.asked.append(params)
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        assert self.answer
        return self.answer


@pytest.fixture
def api(tmp_path: Path, serving: Callable[..., Any]) -> Iterator[str]:
    """The socket of an API that has handoffs alone."""
    store, found = queue(tmp_path)

    async def claimed(_: Caller) -> None:
        """Nothing comes of it."""

    async def drop(origin: str, selector: str, secret: str) -> None:
        raise AssertionError(f"no client is asked for {selector} of {origin}")

    features: list[Any] = [Handoffs(found, claimed, drop)]
    features.append(Description(lambda: [each for feature in features for each in operations(feature)], "1"))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with store, found:
            yield

    app = create_app((each for feature in features for each in operations(feature)), Dispatcher([require_scope]), lifespan)
    with serving(app, tmp_path / "api.sock") as socket:
        yield socket


@pytest.fixture
def url(api: str, serving: Callable[..., Any]) -> Iterator[str]:
    with serving(create_mcp_app(api, nothing_behind(), "1")) as served:
        yield served


@pytest.fixture
async def ann(api: str) -> AsyncIterator[httpx2.AsyncClient]:
    """A person on /view."""
    transport = httpx2.AsyncHTTPTransport(uds=api)
    async with httpx2.AsyncClient(transport=transport, base_url="http://api", headers=ANN, timeout=PATIENCE_SECONDS) as client:
        yield client


async def open_one(ann: httpx2.AsyncClient) -> str:
    """The id of what is asked, once it is."""

    async def found() -> str:
        listed = (await ann.get("/v1/handoffs")).json()["data"]
        return listed[0]["id"] if listed else ""

    return str(await eventually(found))


async def answers(ann: httpx2.AsyncClient, **answer: Any) -> None:
    told = await ann.post(f"/v1/handoffs/{await open_one(ann)}/answer", json={"outcome": "done", **answer})
    assert told.status_code == 200, told.text


@pytest.mark.parametrize("era", ERAS)
async def test_the_clients_user_answers(url: str, era: str) -> None:
    user = User(ElicitResult(action="accept", content={"choice": "window", "note": "a view"}))
    async with client_of(url, era, AGENT, elicitation_callback=user) as client:
        ended = (await client.call_tool("request_human", ASKED)).structured_content or {}

    [form] = user.asked
    assert form.requested_schema["properties"]["choice"]["enum"] == ["aisle", "window"]
    assert (ended["outcome"], ended["choice"], ended["note"], ended["answered_in"]) == ("done", "window", "a view", "client")


@pytest.mark.parametrize("era", ERAS)
async def test_who_declines_has_answered_and_who_looks_away_leaves_it_to_the_others(url: str, ann: httpx2.AsyncClient, era: str) -> None:
    async with client_of(url, era, AGENT, elicitation_callback=User(ElicitResult(action="decline"))) as client:
        declined = (await client.call_tool("request_human", ASKED)).structured_content or {}
    assert (declined["outcome"], declined["answered_in"]) == ("cannot", "client")

    async with client_of(url, era, AGENT, elicitation_callback=User(ElicitResult(action="cancel"))) as client:
        asking = asyncio.create_task(client.call_tool("request_human", ASKED))
        await answers(ann, choice="aisle")
        ended = (await asking).structured_content or {}
    assert (ended["choice"], ended["answered_in"]) == ("aisle", "view")


async def test_the_request_is_withdrawn_when_a_person_on_the_page_is_quicker(url: str, ann: httpx2.AsyncClient) -> None:
    user = User()
    async with client_of(url, "legacy", AGENT, elicitation_callback=user) as client:
        asking = asyncio.create_task(client.call_tool("request_human", ASKED))
        await eventually(lambda: user.asked)
        await answers(ann, choice="aisle")
        ended = (await asking).structured_content or {}
        await eventually(lambda: user.withdrawn)

    assert (ended["choice"], ended["closed_by"]) == ("aisle", "ann")


async def test_a_client_that_is_held_up_by_its_form_gets_what_came_meanwhile(url: str, ann: httpx2.AsyncClient) -> None:
    user = User()
    async with client_of(url, "2026-07-28", AGENT, elicitation_callback=user) as client:
        asking = asyncio.create_task(client.call_tool("request_human", {**ASKED, "wait": 0.1}))
        await eventually(lambda: user.asked)
        user.answer = ElicitResult(action="accept", content={"choice": "window"})
        user.may_answer.set()
        late = (await asking).structured_content or {}
        user.may_answer.clear()
        asking = asyncio.create_task(client.call_tool("request_human", ASKED))
        await eventually(lambda: len(user.asked) == 2)
        await answers(ann, choice="aisle")
        user.may_answer.set()
        ended = (await asking).structured_content or {}

    assert (late["choice"], late["answered_in"]) == ("window", "client"), "an answer after the wait counts"
    assert (ended["choice"], ended["answered_in"]) == ("aisle", "view"), "whoever was first"


async def test_a_handoff_is_polled_with_each_wait_and_reports_progress(url: str, ann: httpx2.AsyncClient) -> None:
    user, heard = User(), list[str | None]()

    async def report(progress: float, total: float | None, message: str | None) -> None:
        heard.append(message)

    async with client_of(url, "legacy", AGENT, elicitation_callback=user) as client:
        made = (await client.call_tool("request_human", {**ASKED, "wait": 0})).structured_content or {}
        assert user.asked == []
        again = (await client.call_tool("wait_for_human", {"id": made["id"], "wait": 1})).structured_content or {}
        waiting = asyncio.create_task(client.call_tool("wait_for_human", {"id": made["id"], "wait": 60}, progress_callback=report))
        await eventually(lambda: len(user.asked) == 2 and heard)
        await answers(ann, choice="aisle")
        ended = (await waiting).structured_content or {}

    assert (again["status"], ended["choice"]) == ("open", "aisle")


@pytest.mark.parametrize("arguments", [{**ASKED, "wait": -1}, {**ASKED, "wait": 1e9}, {**ASKED, "wait": "long"}, {**ASKED, "kind": "odd"}])
async def test_what_is_wrong_is_said_and_nobody_asked(url: str, arguments: dict[str, Any]) -> None:
    user = User()
    async with client_of(url, "legacy", AGENT, elicitation_callback=user) as client:
        assert (await client.call_tool("request_human", arguments)).is_error

    assert user.asked == []


@pytest.mark.parametrize(("headers", "asks_clients"), [({"X-Sandbox-Tools": "request_human"}, True), ({}, False)])
async def test_only_the_people_on_the_page_are_asked_for_some(
    api: str, serving: Callable[..., Any], ann: httpx2.AsyncClient, headers: dict[str, str], asks_clients: bool
) -> None:
    user = User()
    with serving(create_mcp_app(api, McpParts(*servers_of(InProcessConnector().connect), asks_clients), "1")) as url:
        async with client_of(url, "legacy", AGENT | headers, elicitation_callback=user) as client:
            asking = asyncio.create_task(client.call_tool("request_human", ASKED))
            await answers(ann, choice="aisle")
            assert ((await asking).structured_content or {})["choice"] == "aisle"

    assert user.asked == []


def test_fields_are_asked_for_by_form_and_secrets_never() -> None:
    fields = [{"name": "city", "label": "City", "secret": False}, {"name": "note", "label": "Remark", "secret": False}]
    handoff = {"reason": "Where to?", "instructions": "Say it.", "fields": fields}
    form: Any = elicitation_of(handoff).params
    content = {"field_city": "Ulm", "field_note": "soon", "outcome": "partly", "note": "x"}

    assert form.requested_schema["required"] == ["field_city", "field_note", "outcome"]
    assert form.message.startswith("Where to?\n\nSay it.")
    assert reply_of(handoff, content) == {"outcome": "partly", "note": "x", "choice": None, "values": {"city": "Ulm", "note": "soon"}}
    assert not has_secrets(handoff)
    assert has_secrets({"fields": [{"name": "pin", "label": "PIN", "secret": True}]})
