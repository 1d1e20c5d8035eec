import pytest

from sandbox_server.drivers.egress.secret_users import SecretUsers, read_users, requester_of
from sandbox_server.drivers.egress.socket_owner import SocketOwner

AGENT, ROOT, DESKTOP, CONTROL = (SocketOwner(uid, 7) for uid in (1000, 0, 991, 990))
USERS = SecretUsers(frozenset((1000, 0)), 991)
SAME, CROSS = (b"Sec-Fetch-Site", b"same-origin"), (b"sec-fetch-site", b"cross-site")
OWN, OTHER = (b"Origin", b"https://a.example"), (b"origin", b"https://evil.example")
WEBSOCKET = (b"Upgrade", b"websocket")


def asked(owner: SocketOwner | None, *fields: tuple[bytes, bytes], users: SecretUsers = USERS, port: int = 443) -> str:
    return requester_of(owner, users, [(b"Host", b"a.example"), *fields], ("a.example", port)).value


@pytest.mark.parametrize(
    ("owner", "requester"),
    [
        (AGENT, "program"),
        (ROOT, "program"),
        (CONTROL, "other_user"),
        (SocketOwner(65534, 7), "other_user"),
        (SocketOwner(0, 0), "unknown_owner"),
        (None, "unknown_owner"),
        (DESKTOP, "other_origin"),
    ],
)
def test_a_connection_is_of_a_program_of_the_agent_or_of_somebody_else(owner: SocketOwner | None, requester: str) -> None:
    assert asked(owner) == requester


def test_nobody_is_known_before_it_is_said_who_may() -> None:
    assert [asked(owner, users=SecretUsers()) for owner in (AGENT, ROOT, DESKTOP)] == ["other_user"] * 3


@pytest.mark.parametrize("owner", [AGENT, DESKTOP])
@pytest.mark.parametrize(
    ("fields", "requester"),
    [
        ([SAME], "own_page"),
        ([SAME, OWN], "own_page"),
        ([(b"Sec-Fetch-Site", b"none")], "other_origin"),
        ([(b"Sec-Fetch-Site", b"same-site")], "other_origin"),
        ([CROSS, OWN], "other_origin"),
        ([CROSS], "other_origin"),
        ([SAME, OTHER], "other_origin"),
        ([SAME, (b"Origin", b"null")], "other_origin"),
        ([SAME, (b"Origin", b"http://a.example")], "other_origin"),
        ([SAME, (b"Origin", b"https://a.example:8443")], "other_origin"),
        ([SAME, CROSS], "other_origin"),
        ([SAME, OWN, OTHER], "other_origin"),
        ([WEBSOCKET, SAME, OWN], "own_page"),
        ([WEBSOCKET, CROSS, OWN], "other_origin"),
    ],
)
def test_a_browser_s_request_is_of_the_page_that_it_says_whoever_started_the_browser(
    owner: SocketOwner, fields: list[tuple[bytes, bytes]], requester: str
) -> None:
    assert asked(owner, *fields) == requester


@pytest.mark.parametrize(
    ("owner", "fields", "requester"),
    [
        (DESKTOP, [OWN], "own_page"),
        (DESKTOP, [OTHER], "other_origin"),
        (DESKTOP, [], "other_origin"),
        (AGENT, [], "program"),
        (AGENT, [OWN], "program"),
        (AGENT, [OTHER], "other_origin"),
    ],
)
def test_a_websocket_is_of_the_page_that_its_origin_names(owner: SocketOwner, fields: list[tuple[bytes, bytes]], requester: str) -> None:
    assert asked(owner, WEBSOCKET, *fields) == requester


def test_a_program_may_send_an_origin_as_it_likes() -> None:
    assert asked(AGENT, OTHER) == "program"


def test_an_origin_has_the_port_where_it_is_not_that_of_https() -> None:
    assert asked(DESKTOP, SAME, (b"Origin", b"https://a.example:8443"), port=8443) == "own_page"
    assert asked(DESKTOP, SAME, OWN, port=8443) == "other_origin"


def test_users_are_read_as_they_are_written() -> None:
    assert read_users(USERS.document()) == USERS
    for wrong in ({}, {"programs": [1]}, {"programs": [1], "browser": None}):
        with pytest.raises((KeyError, TypeError)):
            read_users(wrong)
