"""A flow that is relayed, and what events say of it."""

from ipaddress import ip_address

import pytest

from sandbox_server.drivers.egress.policy import AppProtocol, Destination, EgressAction, EgressDecision, HttpRequest
from sandbox_server.drivers.egress.socket_owner import SocketOwner
from sandbox_server.egress.open_flow import OpenFlow, refusal_of, told_of

PLACE = Destination(443, "api.example", protocol=AppProtocol.TLS)


class Relayed:
    """A flow that has carried so much."""

    sent, received, moved_at = 3, 5, 0.0

    def cut(self, reason: str) -> None:
        raise AssertionError(reason)


def flow(rule: str = "api", approved: str = "") -> OpenFlow:
    return OpenFlow(7, PLACE, ip_address("203.0.113.5"), EgressDecision(EgressAction.ALLOW, rule), Relayed(), approved=approved)


def test_it_tells_of_its_place_rule_and_bytes() -> None:
    said = flow().describe()
    assert (said["id"], said["host"], said["port"], said["rule"]) == (7, "api.example", 443, "api")
    assert (said["address"], said["sent"], said["received"]) == ("203.0.113.5", 3, 5)


@pytest.mark.parametrize(
    ("decision", "goes_on"),
    [
        (EgressDecision(EgressAction.ALLOW, "other"), True),
        (EgressDecision(EgressAction.ASK, "asks"), True),
        (EgressDecision(EgressAction.ASK, "asks too"), False),
        (EgressDecision(EgressAction.DENY, "asks"), False),
    ],
)
def test_an_approval_holds_for_the_rule_that_asked(decision: EgressDecision, *, goes_on: bool) -> None:
    assert flow(approved="asks").allowed_by(decision) is goes_on


def test_of_a_connection_whose_owner_is_unknown_nothing_is_invented() -> None:
    assert (told_of(PLACE, None, None)["uid"], told_of(PLACE, None, None)["inode"], told_of(PLACE, None, None)["request"]) == (None, 0, "")
    owned = told_of(PLACE, SocketOwner(1000, 42), HttpRequest("GET", "/x"))
    assert (owned["uid"], owned["inode"], owned["request"]) == (1000, 42, "GET /x")


def test_a_refusal_names_the_request_and_the_rule() -> None:
    refused = refusal_of(PLACE, HttpRequest("POST", "/x"), EgressDecision(EgressAction.DENY, "default"))
    assert "POST /x is not allowed (default)" in str(refused)
    assert refused.rule == "default"
