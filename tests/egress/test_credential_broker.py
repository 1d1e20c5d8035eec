import asyncio
import json

import pytest

from sandbox_server.drivers.egress.policy import AppProtocol, Destination
from sandbox_server.drivers.egress.secret_users import SecretUsers
from sandbox_server.drivers.egress.socket_owner import SocketOwner
from sandbox_server.egress import credential_broker
from sandbox_server.egress.credential_broker import CredentialBroker
from sandbox_server.egress.flow_events import FlowEvents
from tests.secret_servers import BROWSER, HOST, PLACEHOLDER, PROGRAM, USERS, VALUE, SecretLab, binding, plain, request, secret

pytestmark = pytest.mark.anyio
BEARER = f"Authorization: Bearer {PLACEHOLDER}"


def test_it_opens_bound_hosts_alone() -> None:
    broker = CredentialBroker(FlowEvents())
    assert not broker.has_authority
    broker.replace([secret(binding("a.example"))], USERS)
    assert broker.has_authority

    def opens(name: str, port: int = 443, protocol: AppProtocol = AppProtocol.TLS, *, inspects: bool = False) -> bool:
        return broker.opens(Destination(port, name, protocol=protocol), inspects=inspects)

    assert opens("a.example")
    assert not opens("b.example")
    assert not opens("a.example", 8443)
    assert not opens("a.example", protocol=AppProtocol.HTTP)
    assert opens("b.example", inspects=True)
    assert not opens("", inspects=True)


def test_a_value_is_kept_for_no_other_definition() -> None:
    broker = CredentialBroker(FlowEvents())
    broker.replace([secret()], USERS)
    assert broker.values() == {"TOKEN": VALUE}
    assert VALUE not in str(broker.describe())
    broker.replace([secret(binding("evil.example"), value=None)], USERS)
    assert broker.values() == {}


async def test_a_value_is_fetched_when_it_is_needed_and_again_when_it_is_old(opened: SecretLab) -> None:
    opened.secrets(secret(value=None))
    opened.broker._clock = lambda: 100.0
    for value, until in ((VALUE, 100.0), ("another-value", 101.0)):
        asked = asyncio.ensure_future(opened.ask(request(BEARER)))
        assert (await opened.lab.event("secret_needed"))["name"] == "TOKEN"
        assert opened.broker.give("TOKEN", value, until, "")
        await asked
        assert opened.server.fields()["authorization"] == f"Bearer {value}"
    await opened.ask(request(BEARER))
    assert not opened.broker.give("TOKEN", None, None, "late")


@pytest.mark.parametrize("after", [[], [secret(binding("elsewhere.example"), value="a-value-for-elsewhere")]])
async def test_a_secret_that_is_removed_or_bound_anew_while_a_request_comes_stays_here(
    opened: SecretLab, after: list[dict[str, object]]
) -> None:
    opened.secrets(secret(value=None))
    asked = asyncio.ensure_future(opened.ask(request(BEARER)))
    await opened.lab.event("secret_needed")
    opened.broker.replace(after, USERS)
    opened.broker.give("TOKEN", None, None, "")
    said = await asked
    assert said.startswith(b"HTTP/1.1 502")
    assert opened.server.heard == []


@pytest.mark.parametrize("problem", ["Vault answered 403", ""])
async def test_a_value_that_cannot_be_fetched_is_said(opened: SecretLab, problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credential_broker, "FETCH_SECONDS", 20.0 if problem else 0.05)
    opened.secrets(secret(value=None))
    asked = asyncio.ensure_future(opened.ask(request(BEARER)))
    await opened.lab.event("secret_needed")
    if problem:
        opened.broker.give("TOKEN", None, None, problem)
    said = await asked
    assert said.startswith(b"HTTP/1.1 502")
    assert (problem or "no answer within").encode() in said
    assert opened.server.heard == []


async def test_an_unbound_placeholder_is_told_of_by_the_names(opened: SecretLab) -> None:
    opened.secrets(secret(binding(methods=["GET"])))
    await opened.ask(request(BEARER, method="DELETE", target="/x?token=y"))
    told = await opened.lab.event("secret")
    assert (told["outcome"], told["method"], told["path"], told["destination"]) == (
        "not_bound",
        "DELETE",
        "/x",
        f"{HOST}:{opened.server.port}",
    )


SAME, CROSS, OWN = "Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site", "Origin: https://api.example"
ANYWHERE = ["header:Authorization", "query", "path", "json", "form"]


def asks() -> list[bytes]:
    """Requests with the placeholder in each place of `ANYWHERE`."""
    form, document = f"key={PLACEHOLDER}".encode(), json.dumps({"key": PLACEHOLDER}).encode()
    return [
        request(BEARER),
        request(target=f"/?key={PLACEHOLDER}"),
        request(target=f"/{PLACEHOLDER}"),
        request("Content-Type: application/json", method="POST", body=document),
        request("Content-Type: application/x-www-form-urlencoded", method="POST", body=form),
    ]


def with_fields(asked: bytes, *fields: str) -> bytes:
    line, rest = asked.split(b"\r\n", 1)
    return line + b"\r\n" + "".join(f"{field}\r\n" for field in fields).encode() + rest


@pytest.mark.parametrize(
    ("owner", "reason"),
    [
        (BROWSER, "other_origin"),
        (SocketOwner(990, 1), "other_user"),
        (SocketOwner(65534, 1), "other_user"),
        (SocketOwner(0, 0), "unknown_owner"),
        (None, "unknown_owner"),
    ],
)
async def test_nobody_but_the_agents_programs_gets_a_value(opened: SecretLab, owner: SocketOwner | None, reason: str) -> None:
    opened.secrets(secret(binding(places=ANYWHERE)))
    opened.owner = owner
    for asked in asks():
        await opened.ask(asked)
    heard = b"".join(bytes(each.target) + body + b"".join(value for _, value in each.headers) for each, body in opened.server.heard)
    assert heard.count(PLACEHOLDER.encode()) == len(asks())
    assert VALUE.encode() not in heard
    told = await opened.lab.event("secret")
    assert (told["outcome"], told["reason"]) == ("not_bound", reason)
    assert opened.broker.describe()["used"] == {}


@pytest.mark.parametrize("uid", [1000, 0])
async def test_programs_of_the_agent_s_user_and_of_the_box_s_root_get_it(opened: SecretLab, uid: int) -> None:
    opened.secrets(secret(binding(places=ANYWHERE)))
    opened.owner = SocketOwner(uid, 1)
    for asked in asks():
        await opened.ask(asked)
    heard = b"".join(bytes(each.target) + body + b"".join(value for _, value in each.headers) for each, body in opened.server.heard)
    assert PLACEHOLDER.encode() not in heard
    assert (await opened.lab.event("secret"))["reason"] == ""


@pytest.mark.parametrize("owner", [BROWSER, PROGRAM])
@pytest.mark.parametrize(
    ("fields", "browser", "reason"),
    [
        ([SAME], True, ""),
        ([SAME, OWN], True, ""),
        ([SAME, OWN], False, "own_page"),
        ([CROSS, "Origin: https://evil.example"], True, "other_origin"),
        ([CROSS], True, "other_origin"),
        (["Sec-Fetch-Site: none"], True, "other_origin"),
        ([SAME, "Origin: null"], True, "other_origin"),
    ],
)
async def test_a_browser_gets_it_for_pages_of_the_bound_host_where_the_binding_says_so(
    opened: SecretLab, owner: SocketOwner, fields: list[str], *, browser: bool, reason: str
) -> None:
    port = f":{opened.server.port}"
    opened.secrets(secret(binding(places=ANYWHERE, browser=browser)))
    opened.owner = owner
    await opened.ask(with_fields(request(BEARER), *(field + port if field == OWN else field for field in fields)))
    assert opened.server.fields()["authorization"] == f"Bearer {PLACEHOLDER if reason else VALUE}"
    assert (await opened.lab.event("secret"))["reason"] == reason


async def test_a_page_shares_what_it_got_with_a_value_with_no_other_origin(opened: SecretLab) -> None:
    shares = [("Access-Control-Allow-Origin", "*"), ("access-control-expose-headers", "X"), ("X", "y")]
    opened.server.respond = lambda *_: plain(b"ok", *shares)
    opened.secrets(secret(binding(browser=True)))
    opened.owner = BROWSER
    said = await opened.ask(with_fields(request(BEARER), SAME))
    assert b"\r\nX: y\r\n" in said
    assert b"access-control" not in said.lower()
    assert b"access-control-allow-origin: *" in (await opened.ask(with_fields(request(), SAME))).lower()
    opened.owner = PROGRAM
    assert b"access-control-allow-origin: *" in (await opened.ask(request(BEARER))).lower()


@pytest.mark.parametrize(
    ("owner", "origin", "browser", "gets"),
    [
        (BROWSER, "https://api.example", True, True),
        (BROWSER, "https://api.example", False, False),
        (BROWSER, "https://evil.example", True, False),
        (PROGRAM, "https://evil.example", True, False),
        (PROGRAM, "", False, True),
    ],
)
async def test_a_websocket_gets_it_by_its_origin(opened: SecretLab, owner: SocketOwner, origin: str, *, browser: bool, gets: bool) -> None:
    opened.secrets(secret(binding(browser=browser)))
    opened.owner = owner
    own = f"{origin}:{opened.server.port}" if "api" in origin else origin
    upgrade = ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: x", "Sec-WebSocket-Version: 13"]
    await opened.ask(request(BEARER, *upgrade, *([f"Origin: {own}"] if own else [])))
    assert opened.server.fields()["authorization"] == f"Bearer {VALUE if gets else PLACEHOLDER}"


async def test_requests_of_one_connection_are_judged_each_by_itself(opened: SecretLab) -> None:
    opened.secrets(secret(binding(browser=True)))
    opened.owner = BROWSER
    pages = with_fields(request(BEARER, closes=False), SAME) + with_fields(request(BEARER), CROSS)
    await opened.ask(pages)
    assert opened.server.connections == 1
    assert [opened.server.fields(index)["authorization"] for index in (0, 1)] == [f"Bearer {VALUE}", f"Bearer {PLACEHOLDER}"]


async def test_before_it_is_said_who_may_nobody_gets_it(opened: SecretLab) -> None:
    opened.secrets(secret())
    opened.broker._users = SecretUsers()
    await opened.ask(request(BEARER))
    assert opened.server.fields()["authorization"] == f"Bearer {PLACEHOLDER}"
