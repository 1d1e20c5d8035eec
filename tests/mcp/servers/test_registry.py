import json
import os
from pathlib import Path
from typing import Any

import pytest

from sandbox_server.core import Conflict, InvalidArgument, NotFound, ResourceExhausted
from sandbox_server.drivers.storage.json_file import JsonFile
from sandbox_server.mcp.servers.configuration import ServerConfig
from sandbox_server.mcp.servers.registry import MAX_ADDED, MAX_FILE_BYTES, ServerRegistry
from sandbox_server.settings.kinds import Secret

BUILT_IN = {"chrome_devtools": ServerConfig(command="node")}


def sources(folder: Path, extra: str = "") -> ServerRegistry:
    return ServerRegistry(
        BUILT_IN, str(folder / "mcp-servers.json"), Secret(extra) if extra else None, JsonFile(str(folder / "added.json"))
    )


def write(folder: Path, document: Any, name: str = "mcp-servers.json") -> None:
    """Replace a file as editors do, so that its time and size differ from before."""
    before = (folder / name).stat().st_mtime_ns if (folder / name).exists() else 0
    (folder / name).write_text(document if isinstance(document, str) else json.dumps(document))
    os.utime(folder / name, ns=(before + 10**9, before + 10**9))


def origins(found: ServerRegistry) -> dict[str, str]:
    return {name: source.origin for name, source in found.servers().items()}


def test_servers_come_from_four_places_and_the_later_wins(tmp_path: Path) -> None:
    write(tmp_path, {"mcpServers": {"one": {"command": "a"}, "two": {"command": "a"}}})
    found = sources(tmp_path, json.dumps({"two": {"command": "b"}}))
    found.add("three", {"command": "c"})

    assert origins(found) == {"chrome_devtools": "built-in", "one": "file", "two": "environment", "three": "added"}
    assert found.servers()["two"].config.command == "b"


def test_the_variable_may_name_a_file(tmp_path: Path) -> None:
    write(tmp_path, {"extra": {"command": "x"}}, "extra.json")

    assert origins(sources(tmp_path, str(tmp_path / "extra.json")))["extra"] == "environment"


def test_a_change_of_the_file_is_seen(tmp_path: Path) -> None:
    found = sources(tmp_path)
    before = list(found.servers())
    write(tmp_path, {"one": {"command": "a"}})
    then = list(found.servers())
    write(tmp_path, {"one": {"command": "a"}, "two": {"command": "b"}})

    assert (before, then, list(found.servers())) == (["chrome_devtools"], ["chrome_devtools", "one"], ["chrome_devtools", "one", "two"])


def test_a_built_in_server_can_be_switched_off(tmp_path: Path) -> None:
    write(tmp_path, {"chrome_devtools": {"disabled": True}})

    assert origins(sources(tmp_path)) == {}


@pytest.mark.parametrize("document", ["{", "[]", '{"mcpServers": []}', '{"one": "x"}'])
def test_a_file_that_cannot_be_understood_breaks_nothing_and_is_named_once(
    tmp_path: Path, document: str, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, document)
    found = sources(tmp_path)

    assert [origins(found), origins(found)] == [{"chrome_devtools": "built-in"}] * 2
    assert caplog.text.count("mcp-servers.json") == 1


def test_a_server_that_cannot_be_used_does_not_take_the_others_along(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(tmp_path, {"bad": {"command": "x", "url": "http://a/"}, "good": {"command": "x"}})

    assert list(sources(tmp_path).servers()) == ["chrome_devtools", "good"]
    assert "'bad' is wrong" in caplog.text


def test_what_was_added_outlives_the_process_and_can_be_removed(tmp_path: Path) -> None:
    sources(tmp_path).add("mine", {"command": "x", "env": {"KEY": "v"}})
    again = sources(tmp_path)

    assert again.servers()["mine"].config.env == {"KEY": "v"}
    again.remove("mine")
    assert list(sources(tmp_path).servers()) == ["chrome_devtools"]


def test_a_name_is_taken_once(tmp_path: Path) -> None:
    found = sources(tmp_path)
    found.add("mine", {"command": "x"})
    found.add("mine", {"command": "y"})

    assert found.servers()["mine"].config.command == "y"
    with pytest.raises(Conflict, match="built in"):
        found.add("chrome_devtools", {"command": "x"})
    with pytest.raises(Conflict, match="built in"):
        found.remove("chrome_devtools")
    with pytest.raises(NotFound):
        found.remove("nobody")
    with pytest.raises(InvalidArgument):
        found.add("mine", {})


def hang(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize(
    "make",
    [
        hang,
        Path.mkdir,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.write_bytes(b" " * MAX_FILE_BYTES + b"{}"),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_bytes(b"\xff\xfe{}"),
    ],
    ids=["pipe", "directory", "device", "long", "deep", "binary"],
)
def test_a_file_that_is_not_what_it_should_be_is_left_out_at_once(tmp_path: Path, make: Any, caplog: pytest.LogCaptureFixture) -> None:
    make(tmp_path / "mcp-servers.json")

    assert list(sources(tmp_path).servers()) == ["chrome_devtools"]
    assert "are left out" in caplog.text


def test_so_many_servers_may_be_added_and_no_more(tmp_path: Path) -> None:
    found = sources(tmp_path)
    for each in range(MAX_ADDED):
        found.add(f"s{each}", {"command": "x"})
    found.add("s0", {"command": "y"})

    with pytest.raises(ResourceExhausted):
        found.add("another", {"command": "x"})
