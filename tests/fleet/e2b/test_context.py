"""The user of a call, and paths."""

import base64

import pytest
from starlette.requests import Request
from tandem_fleet.e2b.connect_protocol import RPCError
from tandem_fleet.e2b.context import Context, is_root, resolve
from tandem_fleet.e2b.sandbox_calls import SandboxCalls


def context(calls: SandboxCalls, **headers: str) -> Context:
    """A call with headers."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Context(calls, {}, Request({"type": "http", "headers": raw}))


@pytest.mark.parametrize(
    ("path", "absolute"),
    [
        ("", "/home/gem"),
        ("a/b", "/home/gem/a/b"),
        ("~", "/home/gem"),
        ("~/a", "/home/gem/a"),
        ("/a/../../b", "/b"),
        ("../../../etc", "/etc"),
        ("//a", "/a"),
    ],
)
def test_a_path_is_absolute_and_plain(path: str, absolute: str) -> None:
    assert resolve(path, "/home/gem") == absolute


@pytest.mark.parametrize("path", ["~root", "~root/a", "a\0b"])
def test_a_path_of_nobody_is_refused(path: str) -> None:
    with pytest.raises(RPCError):
        resolve(path, "/home/gem")


def test_there_are_the_agent_and_root() -> None:
    assert [is_root(user) for user in ("", "user", "gem", "root")] == [False, False, False, True]
    with pytest.raises(RPCError, match="invalid username"):
        is_root("postgres")


@pytest.mark.anyio
async def test_the_user_is_in_the_authorization(calls: SandboxCalls) -> None:
    root = context(calls, authorization=f"Basic {base64.b64encode(b'root:').decode()}")
    assert root.root
    assert await root.resolve("a") == "/root/a"
    assert not context(calls, authorization="Bearer x").root
    assert await context(calls).resolve("a") == "/home/gem/a"
    with pytest.raises(RPCError, match="cannot be read"):
        _ = context(calls, authorization="Basic \u00e4").root


@pytest.mark.parametrize(("sent", "seconds"), [("5", 5), ("0", 1), ("99999", 300), ("999999999999", 50), ("x", 50), ("", 50)])
@pytest.mark.anyio
async def test_keepalives_come_as_often_as_asked_within_limits(calls: SandboxCalls, sent: str, seconds: float) -> None:
    assert context(calls, keepalive_ping_interval=sent).keepalive_seconds == seconds
