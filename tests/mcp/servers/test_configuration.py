from typing import Any

import pytest

from sandbox_server.core import InvalidArgument
from sandbox_server.mcp.servers.configuration import MAX_TEXT, MAX_WORDS, read_server
from tests.tables import table_test


def test_a_program_and_a_url_are_told_apart() -> None:
    assert read_server("files", {"command": "npx", "args": ["-y", "files"], "autoApprove": []}).kind == "stdio"
    assert read_server("remote", {"url": "http://127.0.0.1:3000/mcp", "type": "streamable-http"}).kind == "http"


def test_a_server_that_is_off_needs_neither() -> None:
    assert read_server("chrome_devtools", {"disabled": True}).disabled


@table_test(
    [
        ("a b", {"command": "x"}, "cannot name"),
        ("", {"command": "x"}, "cannot name"),
        ("sandbox", {"command": "x"}, "the sandbox's own"),
        ("markitdown", {"command": "x"}, "the sandbox's own"),
        ("both", {"command": "x", "url": "http://a/"}, "either command or url"),
        ("none", {}, "either command or url"),
        ("file", {"url": "file:///etc/passwd"}, "url"),
        ("old", {"url": "http://a/sse", "type": "sse"}, "type"),
        ("late", {"command": "x", "timeout": 0}, "timeout"),
        ("never", {"command": "x", "timeout": "inf"}, "timeout"),
        ("empty", {"command": ""}, "command"),
        ("nul", {"command": "x\0y"}, "command"),
        ("nularg", {"command": "x", "args": ["a\0b"]}, "args"),
        ("manyargs", {"command": "x", "args": ["a"] * (MAX_WORDS + 1)}, "args"),
        ("longarg", {"command": "x", "args": ["a" * (MAX_TEXT + 1)]}, "args"),
        ("nowhere", {"command": "x", "cwd": ""}, "cwd"),
        ("unnamed", {"command": "x", "env": {"": "1"}}, "env"),
        ("equals", {"command": "x", "env": {"A=B": "1"}}, "env"),
        ("nulenv", {"command": "x", "env": {"A": "\0"}}, "env"),
        ("split", {"url": "http://a/", "headers": {"X": "a\r\nX-Sandbox-Caller: key"}}, "headers"),
        ("hidden", {"command": "x", "prefix": "\x1b[2J"}, "prefix"),
    ]
)
def test_what_cannot_be_used_is_refused_by_name(name: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        read_server(name, given)


def test_a_refusal_shows_no_value() -> None:
    with pytest.raises(InvalidArgument) as refused:
        read_server("keyed", {"command": "x", "env": {"KEY": ["s3cret"]}})

    assert "s3cret" not in refused.value.message


def test_a_pattern_of_tools_that_cannot_be_used_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="stars"):
        read_server("files", {"command": "x", "tools": ["*a" * 40]})
