from collections.abc import AsyncIterator
from datetime import date
from typing import Annotated, Any

import pytest
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from sandbox_server.core import Deprecation, Event, FileError, Model, NotFound, Reply, Slashes, Socket, operation, socket
from sandbox_server.core.dispatch import Dispatcher, require_scope
from sandbox_server.core.http import create_app
from sandbox_server.core.operation import operations

CALLER = {"X-Sandbox-Caller": "test", "X-Sandbox-Scopes": "view code files"}


@pytest.fixture(scope="module")
def client(app: ASGIApp) -> TestClient:
    return TestClient(app, headers=CALLER, base_url="http://box:8080")


def test_a_result_comes_in_the_envelope(client: TestClient) -> None:
    answer = client.post("/v1/sample/add", json={"left": 2})

    assert answer.status_code == 200
    assert answer.json() == {"success": True, "message": "Operation successful", "data": {"total": 3}, "hint": None}


def test_an_operation_without_envelope_gives_its_model_bare(client: TestClient) -> None:
    assert client.get("/v1/sample/tree").json() == {"name": "root", "branches": [{"name": "leaf", "branches": []}]}


def test_bytes_come_as_they_are(client: TestClient) -> None:
    answer = client.get("/v1/sample/picture")

    assert answer.headers["content-type"] == "image/png"
    assert answer.content.startswith(b"\x89PNG")


def test_fields_come_from_path_and_query(client: TestClient) -> None:
    answer = client.get("/v1/sample/shelves/top%20left?colours=red&colours=blue&shiny=true&ticket=t")

    assert answer.json()["data"] == ["top left", "red", "blue", "True"]


class Place(Model):
    name: Annotated[str, Slashes()]


class Places:
    tag = "places"

    @operation("GET /v1/places/{name}", scope="view")
    async def place(self, request: Place) -> str:
        """Say the name."""
        return request.name


@pytest.mark.parametrize("path", ["a/b/*", "a%2Fb%2F*"])
def test_a_field_of_the_path_may_hold_slashes_where_that_is_said(path: str) -> None:
    client = TestClient(create_app(operations(Places()), Dispatcher([])), headers=CALLER)

    assert client.get(f"/v1/places/{path}").json()["data"] == "a/b/*"


def test_a_field_that_does_not_exist_is_ignored_over_http_and_refused_to_agents(client: TestClient) -> None:
    body = {"left": 2, "newer": True}

    assert client.post("/v1/sample/add", json=body).status_code == 200
    for surface in ("mcp", "cli"):
        refused = client.post("/v1/sample/add", json=body, headers={"X-Sandbox-Surface": surface})
        assert refused.status_code == 400
        assert refused.json()["message"] == "sample.add has no field 'newer'; it has left, right"


class Inner(Model):
    size: int = 0


class Mistaken(Model):
    label: str = ""
    fail: bool = False
    inner: Inner | None = None


class Hints:
    tag = "hints"

    @operation("POST /v1/hints/reply", scope="view")
    async def reply(self, request: Mistaken) -> Reply[None]:
        """Answer, or fail."""
        if request.fail:
            raise NotFound("there is none", hint="make one")
        return Reply(None, hint="it is late")

    @operation("POST /v1/hints/bare", scope="view", envelope=False)
    async def bare(self, request: Mistaken) -> list[int]:
        """Answer without an envelope."""
        return [1]

    @operation("POST /v1/hints/events", scope="view")
    async def events(self, request: Mistaken) -> AsyncIterator[Event]:
        """Answer with events."""
        yield Event("told", request.label)

    @operation("POST /v1/hints/nothing", scope="view")
    async def nothing(self) -> None:
        """Take nothing."""


@pytest.fixture(scope="module")
def hints() -> TestClient:
    return TestClient(create_app(operations(Hints()), Dispatcher([])), headers=CALLER)


MEANT = "Ignored unknown field 'name' (did you mean 'label'?)."


def test_unknown_fields_are_named_in_the_hint_behind_the_operations_own(hints: TestClient) -> None:
    answer = hints.post("/v1/hints/reply", json={"name": "x"})
    failed = hints.post("/v1/hints/reply", json={"name": "x", "fail": True})
    nothing = hints.post("/v1/hints/nothing", json={"name": "x"})

    assert (answer.status_code, answer.json()["hint"]) == (200, f"it is late. {MEANT}")
    assert (failed.status_code, failed.json()["hint"]) == (404, f"make one. {MEANT}")
    assert nothing.json()["hint"] == "Ignored unknown field 'name'. There are no fields here."


def test_wrong_fields_come_with_a_hint_about_unknown_ones(hints: TestClient) -> None:
    answer = hints.post("/v1/hints/reply", json={"name": "x", "fail": "perhaps"})

    assert answer.status_code == 422
    assert [problem["loc"] for problem in answer.json()["detail"]] == [["body", "fail"]]
    assert answer.json()["hint"] == MEANT


@pytest.mark.parametrize("path", ["reply", "bare", "events", "nothing"])
def test_unknown_fields_are_named_in_a_header_of_every_answer(hints: TestClient, path: str) -> None:
    answer = hints.post(f"/v1/hints/{path}", json={"größe": 1})

    assert answer.status_code == 200
    assert answer.headers["x-sandbox-hint"].startswith("Ignored unknown field 'gr\\xf6\\xdfe'.")


@pytest.mark.parametrize("path", ["reply", "bare", "events", "nothing"])
def test_without_unknown_fields_there_is_no_such_header(hints: TestClient, path: str) -> None:
    sent = {} if path == "nothing" else {"label": "x", "inner": {"size": 1}}
    assert "x-sandbox-hint" not in hints.post(f"/v1/hints/{path}", json=sent).headers


def test_agents_and_the_command_line_are_told_of_unknown_fields_inside_of_others(hints: TestClient) -> None:
    for surface in ("mcp", "cli"):
        answer = hints.post("/v1/hints/reply", json={"inner": {"length": 1}}, headers={"X-Sandbox-Surface": surface})
        assert answer.json()["hint"] == "it is late. Ignored unknown field 'inner.length'."
        refused = hints.post("/v1/hints/reply", json={"name": "x"}, headers={"X-Sandbox-Surface": surface})
        assert refused.json()["message"].startswith("hints.reply has no field 'name' (did you mean 'label'?);")
        assert (refused.status_code, refused.json()["hint"]) == (400, None)


@pytest.mark.parametrize(
    "body",
    [
        {f"field{number}": number for number in range(10_000)},
        {"x" * 1_000_000: 1},
        {f"{'y' * 1_000}{number}": 1 for number in range(1_000)},
        {"a\r\nSet-Cookie: b=c\x00\x1b[2J": 1},
        {"inner": {"\u202e" * 1_000: {"deep": [[[[[1]]]]]}}},
    ],
    ids=["many", "long", "many long", "control characters", "inner"],
)
def test_a_hint_is_short_and_plain_whatever_was_sent(hints: TestClient, body: dict[str, object]) -> None:
    answer = hints.post("/v1/hints/reply", json=body)

    assert answer.status_code == 200
    assert len(answer.json()["hint"]) < 1_000
    assert answer.json()["hint"].isprintable()
    assert len(answer.headers["x-sandbox-hint"]) < 3_000
    assert "set-cookie" not in answer.headers


def test_a_wrong_field_is_named_where_the_sdks_look_for_it(client: TestClient) -> None:
    missing = client.post("/v1/sample/add", json={})
    wrong = client.get("/v1/sample/shelves/a?shiny=perhaps")

    assert missing.status_code == wrong.status_code == 422
    assert missing.json() == {"detail": [{"loc": ["body", "left"], "msg": "Field required", "type": "missing"}]}
    assert wrong.json()["detail"][0]["loc"] == ["query", "shiny"]


def test_what_was_sent_is_never_sent_back(client: TestClient) -> None:
    assert "hunter2" not in client.post("/v1/sample/add", json={"left": "hunter2"}).text


def test_a_failure_has_its_status_and_says_what_to_do(client: TestClient) -> None:
    answer = client.delete("/v1/sample/shelves/none")

    assert answer.status_code == 404
    assert answer.json() == {"success": False, "message": "no shelf 'none'", "data": {"shelf": "none"}, "hint": "list the shelves first"}


def test_a_failure_for_now_says_when_to_come_back(client: TestClient) -> None:
    answer = client.get("/v1/sample/full")

    assert (answer.status_code, answer.headers["retry-after"]) == (429, "3")


def test_a_file_failure_is_an_answer_where_the_contract_has_it_so(client: TestClient) -> None:
    answer = client.get("/v1/sample/missing")

    assert answer.status_code == 200
    assert answer.json()["success"] is False
    assert answer.json()["message"] == "Failed to read file: [Errno 2] No such file or directory: '/nowhere'"
    assert answer.json()["data"]["error_type"] == "not_found"


def test_a_defect_shows_its_id_only(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    answer = client.get("/v1/sample/broken")
    error_id = answer.json()["data"]["error_id"]

    assert answer.status_code == 500
    assert "secret" not in answer.text
    assert error_id in caplog.text
    assert "a secret of ours" in caplog.text


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v1/nowhere", 404), ("PUT", "/v1/sample/add", 405), ("GET", "/v1/sample/add", 405)]
)
def test_a_route_that_does_not_exist_is_answered_in_the_envelope(client: TestClient, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)

    assert answer.status_code == status
    assert answer.json()["success"] is False
    assert answer.json()["message"]


def test_a_request_without_a_caller_is_refused(client: TestClient) -> None:
    assert client.post("/v1/sample/add", json={"left": 1}, headers={"X-Sandbox-Caller": ""}).status_code == 401


def test_a_caller_without_the_scope_is_refused(client: TestClient) -> None:
    answer = client.post("/v1/sample/add", json={"left": 1}, headers={"X-Sandbox-Scopes": "view files"})

    assert answer.status_code == 403
    assert answer.json()["data"] == {"scope": "code"}


def test_the_operation_learns_who_asks_and_from_where(client: TestClient, sample: Any) -> None:
    headers = {"X-Request-Id": "r-7", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "box.example", "X-Sandbox-Surface": "root"}
    client.post("/v1/sample/add", json={"left": 1}, headers=headers)

    call = sample.calls[-1]
    assert (call.caller.name, call.request_id, call.surface, call.base_url) == ("test", "r-7", "http", "https://box.example")


def test_events_are_streamed_to_who_accepts_them_and_resume_where_they_stopped(client: TestClient) -> None:
    body = {"left": 3}
    plain = client.post("/v1/sample/count", json=body)
    events = client.post("/v1/sample/count", json=body, headers={"Accept": "text/event-stream"})
    rest = client.post("/v1/sample/count", json=body, headers={"Accept": "text/event-stream", "Last-Event-ID": "2"})

    assert plain.json()["data"] == {"total": 3}
    assert events.headers["content-type"].startswith("text/event-stream")
    assert events.text.count("event: number") == 3
    assert rest.text == 'id: 3\nevent: number\ndata: {"value":2}\n\n'


def test_a_wrong_field_of_a_stream_is_an_answer_not_a_stream(client: TestClient) -> None:
    assert client.post("/v1/sample/count", json={}, headers={"Accept": "text/event-stream"}).status_code == 422


class Named(Model):
    name: str


class Routes:
    tag = "routes"

    @operation("GET /v1/things/{name}", scope="view")
    async def one(self, request: Named) -> str:
        """Give one."""
        return request.name

    @operation("GET /v1/things/latest", scope="view")
    async def latest(self) -> str:
        """Give the latest."""
        return "the latest"

    @operation("GET /v1/things", scope="view")
    async def odd(self) -> list[str]:
        """Give a name that is no Unicode."""
        return ["\udcff"]

    @operation("GET /v1/download", scope="view")
    async def download(self) -> None:
        """Fail as a download does."""
        raise FileError.from_errno(13, path="/x", operation="read")

    @operation("GET /open", scope="public")
    async def public(self) -> str:
        """Answer anyone."""
        return "come in"

    @socket("/v1/things/{name}/ws", scope="code")
    async def talk(self, request: Named, socket: Socket) -> None:
        """Echo."""
        while (text := await socket.receive()) is not None:
            await socket.send(f"{request.name}: {text!r}")


@pytest.fixture(scope="module")
def routes() -> TestClient:
    return TestClient(create_app(operations(Routes()), Dispatcher([require_scope])), headers=CALLER)


def test_a_literal_route_wins_over_one_with_a_parameter(routes: TestClient) -> None:
    assert routes.get("/v1/things/latest").json()["data"] == "the latest"
    assert routes.get("/v1/things/other").json()["data"] == "other"


def test_a_result_that_is_no_unicode_is_still_given(routes: TestClient) -> None:
    assert routes.get("/v1/things").json()["data"] == ["\udcff"]


def test_a_file_failure_is_a_status_elsewhere(routes: TestClient) -> None:
    assert routes.get("/v1/download").status_code == 403


def test_a_public_operation_needs_nobody() -> None:
    client = TestClient(create_app(operations(Routes()), Dispatcher([require_scope])))

    assert client.get("/open").json()["data"] == "come in"


class Retired:
    tag = "retired"

    @operation("GET /v1/retired/{name}", scope="view", deprecated=Deprecation(date(2027, 1, 1), date(2027, 7, 1), "GET /v1/places"))
    async def retired(self, request: Place) -> str:
        """Say the name, as long as there is one."""
        if request.name == "nobody":
            raise NotFound("there is none")
        return request.name


@pytest.mark.parametrize(("name", "status"), [("anybody", 200), ("nobody", 404)])
def test_every_answer_of_a_deprecated_operation_says_so(name: str, status: int) -> None:
    client = TestClient(create_app(operations(Retired()), Dispatcher([])), headers=CALLER)

    answer = client.get(f"/v1/retired/{name}")

    assert answer.status_code == status
    assert (answer.headers["deprecation"], answer.headers["sunset"]) == ("@1798761600", "Thu, 01 Jul 2027 00:00:00 GMT")
    assert answer.headers["link"] == '</v1/places>; rel="successor-version"'


def test_an_operation_that_is_not_deprecated_says_nothing_of_it(client: TestClient) -> None:
    assert {"deprecation", "sunset"}.isdisjoint(client.get("/v1/sample/tree").headers)
