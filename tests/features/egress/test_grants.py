from pathlib import Path

import pytest

from sandbox_server.core import InvalidArgument, NotFound, ResourceExhausted, Unavailable
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.egress.policy import OrderedRules
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.features.egress import grants as grants_module
from sandbox_server.features.egress.grants import EgressDestination, EgressGrants, GrantScope, destination_rule, host_of
from tests.egress.conftest import EgressLab
from tests.features.egress.conftest import Ruling, allowed
from tests.threads import Held, left_in_the_middle

pytestmark = pytest.mark.anyio
PLACE = EgressDestination(host="API.example", port=443)


class Clock:
    """A time that is set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def test_a_grant_holds_in_front_of_the_policy_until_it_is_withdrawn(lab: EgressLab, ruling: Ruling) -> None:
    grant = await ruling.grants.add(PLACE, "ada", until=4e9)
    assert (grant.id, grant.host, grant.by) == ("g1", "api.example", "ada")
    assert allowed(lab, "api.example") == "allow by approval g1"
    assert allowed(lab, "api.example", 80) == "deny by default"
    await ruling.grants.remove("g1", "bob")
    assert allowed(lab, "api.example") == "deny by default"
    with pytest.raises(NotFound):
        await ruling.grants.remove("g1", "bob")
    assert ruling.told == [("ada", "grant", "approval g1"), ("bob", "revoke", "approval g1")]


async def test_the_latest_grant_about_the_same_takes_the_place_of_earlier_ones(lab: EgressLab, ruling: Ruling) -> None:
    await ruling.grants.add(PLACE, "ada", until=4e9)
    await ruling.grants.add(PLACE, "bob", action="deny", until=4e9)
    assert [(grant.id, grant.action) for grant in ruling.grants.all()] == [("g2", "deny")]
    assert allowed(lab, "api.example") == "deny by approval g2"


async def test_grants_outlive_server_and_process(lab: EgressLab, client: EgressClient, tmp_path: Path) -> None:
    file, clock = JsonFile(str(tmp_path / "g.json")), Clock()
    grants = EgressGrants(file, client, now=clock)
    await grants.add(PLACE, "ada", until=2000)
    await grants.add(EgressDestination(host="b.example"), "ada", task="t")
    lab.server.policy.grant(OrderedRules())
    assert allowed(lab, "b.example") == "deny by default"
    lab.server.policy.run_tasks(["t"])
    again = EgressGrants(file, client, now=clock)
    await again.give()
    assert allowed(lab, "b.example") == "allow by approval g2"
    clock.now = 3000
    assert [grant.host for grant in again.all()] == ["b.example"]
    assert (await again.add(PLACE, "ada", until=4000)).id == "g3"


@pytest.mark.parametrize("kept", ["x", "[5]", '[{"id": "g1"}]', "{}", "7"])
async def test_a_file_that_is_no_list_of_grants_grants_nothing(client: EgressClient, tmp_path: Path, kept: str) -> None:
    (tmp_path / "g.json").write_text(kept)
    grants = EgressGrants(JsonFile(str(tmp_path / "g.json")), client)
    assert grants.all() == []
    await grants.give()


async def test_one_request_may_be_granted_alone(lab: EgressLab, ruling: Ruling) -> None:
    from sandbox_server.drivers.egress.policy import AppProtocol, Destination, HttpRequest

    await ruling.grants.add(EgressDestination(host="a.example", port=80), "ada", until=4e9, scope=GrantScope("GET", "/a?b=c"))
    decided = [
        lab.server.policy.decide(Destination(80, "a.example", protocol=AppProtocol.HTTP), HttpRequest(*request)).action.value
        for request in (("GET", "/a?b=c"), ("GET", "/a"), ("GET", "/a?b=d"), ("POST", "/a?b=c"), ("GET", "/b"))
    ]
    assert decided == ["allow", "deny", "deny", "deny", "deny"]


async def test_a_grant_may_be_for_one_users_programs(lab: EgressLab, ruling: Ruling) -> None:
    from sandbox_server.drivers.egress.policy import AppProtocol, Destination

    await ruling.grants.add(EgressDestination(host="a.example", port=80), "ada", until=4e9, scope=GrantScope(users=(1000, 0)))
    places = [Destination(80, "a.example", protocol=AppProtocol.HTTP, uid=uid) for uid in (1000, 0, 991, None)]
    assert [lab.server.policy.decide(place).action.value for place in places] == ["allow", "allow", "deny", "deny"]


async def test_there_is_a_limit(ruling: Ruling, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants_module, "MAX_GRANTS", 1)
    await ruling.grants.add(PLACE, "ada", until=4e9)
    with pytest.raises(ResourceExhausted):
        await ruling.grants.add(EgressDestination(host="b.example"), "ada", until=4e9)


async def test_nothing_is_granted_while_the_process_is_away(tmp_path: Path) -> None:
    grants = EgressGrants(JsonFile(str(tmp_path / "g.json")), EgressClient(str(tmp_path / "none")))
    with pytest.raises(Unavailable):
        await grants.add(PLACE, "ada", until=4e9)
    assert grants.all() == []


async def test_a_grant_that_cannot_be_kept_is_said_to_hold(client: EgressClient, lab: EgressLab) -> None:
    told: list[str] = []
    with pytest.raises(Unavailable, match="cannot be kept"):
        await EgressGrants(JsonFile("/proc/none/g.json"), client, lambda _, how, __: told.append(how)).add(PLACE, "ada", until=4e9)
    assert told == ["grant"]
    assert allowed(lab, "api.example") == "allow by approval g1"


def test_an_address_is_a_rule_for_itself_alone_and_a_host_for_the_usual_ports() -> None:
    assert destination_rule(EgressDestination(host="10.1.2.3", port=22), "allow") == {
        "action": "allow",
        "cidrs": ["10.1.2.3/32"],
        "ports": [22],
    }
    assert destination_rule(EgressDestination(host="[2001:DB8::1]", protocol="tls"), "deny") == {
        "action": "deny",
        "cidrs": ["2001:db8::1/128"],
        "ports": [80, 443],
        "protocols": ["tls"],
    }


@pytest.mark.parametrize("host", ["a b", "*.example", "http://a.example", "", "1.2.3", "[1.2.3.4]", "]::1[", "a" * 300])
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(InvalidArgument):
        host_of(host)


async def test_who_leaves_while_a_grant_is_kept_lets_nobody_write_beside_that(
    client: EgressClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = JsonFile(str(tmp_path / "g.json"))
    grants, held = EgressGrants(file, client), Held(file.write)
    monkeypatch.setattr(file, "write", held)
    await left_in_the_middle(grants.add(PLACE, "ada", until=4e9), grants.remove("g1", "bob"), held)
    assert file.read() == []
