import asyncio

import pytest

from sandbox_server.drivers.egress.policy import AppProtocol, Destination
from sandbox_server.egress import credential_broker
from sandbox_server.egress.credential_broker import CredentialBroker
from sandbox_server.egress.flow_events import FlowEvents
from tests.secret_servers import HOST, PLACEHOLDER, VALUE, SecretLab, binding, request, secret

pytestmark = pytest.mark.anyio
BEARER = f"Authorization: Bearer {PLACEHOLDER}"


def test_it_opens_bound_hosts_alone() -> None:
    broker = CredentialBroker(FlowEvents())
    assert not broker.has_authority
    broker.replace([secret(binding("a.example"))])
    assert broker.has_authority

    def opens(name: str, port: int = 443, protocol: AppProtocol = AppProtocol.TLS, *, inspects: bool = False) -> bool:
        return broker.opens(Destination(port, name, protocol=protocol), inspects=inspects)

    assert opens("a.example")
    assert not opens("b.example")
    assert not opens("a.example", 8443)
    assert not opens("a.example", protocol=AppProtocol.HTTP)
    assert opens("b.example", inspects=True)
    assert not opens("", inspects=True)


def test_a_value_that_is_known_is_kept_when_the_bindings_change() -> None:
    broker = CredentialBroker(FlowEvents())
    broker.replace([secret()])
    broker.replace([secret(value=None)])
    assert broker.values() == {"TOKEN": VALUE}
    assert VALUE not in str(broker.describe())
    broker.replace([])
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
    opened.broker.replace(after)
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
