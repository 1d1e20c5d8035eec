"""The agent's programs have less weight than what serves a person, whoever started them, and cannot get more."""

import json
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from sandbox_server.drivers.spawn.busy_groups import BUSY_NICE
from sandbox_server.drivers.spawn.child_setup import NICE
from tests.image.conftest import new_launcher
from tests.image.container import Sandbox
from tests.image.test_control import Person
from tests.image.test_mcp_servers import PROGRAM, SAMPLE
from tests.image.test_terminal import opened
from tests.patience import until

FILES = {"/opt/sample_server.py": SAMPLE, "/opt/gem/mcp-servers.json": json.dumps({"mcpServers": {"sample": PROGRAM}})}
OURS = ("sandbox_server serve", "sandbox_server stream", "sandbox_server mcp", "sandbox_server cdp", "nginx", "Xvfb", "chromium", "openbox")
"""What serves a person, by its command line."""
HIGHER = ["nice -n -1 true", "renice -n 0 -p $$", "renice -n 0 -g 0", "chrt --fifo 1 true", "bash -c 'ulimit -e 40'", "ionice -c 1 true"]
"""Ways to more weight, for a program that has little."""
PATIENCE_SECONDS = 20.0
"""Generous: what is measured is in `benchmarks/busy`."""
SPIN = "for i in 1 2 3 4 5 6 7 8; do (exec -a busy-loop bash -c 'while :; do :; done') & done; wait"


@pytest.fixture(scope="module", params=["box", "users"])
def busy(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A container with a hook and an MCP server, at that isolation level; `sudo` works on both."""
    launcher = new_launcher(f"busy-{request.param}", boxed=request.param == "box")
    try:
        yield launcher.start(env={"RUN_HOOK_INIT": "nice >/tmp/nice-of-the-hook"}, files=FILES)
    finally:
        launcher.remove()


def programs(busy: Sandbox) -> list[tuple[str, int, str]]:
    """User, nice value and command line of each process."""
    lines = busy.exec("ps", "-eo", "user:32,ni,args", "--no-headers").stdout.splitlines()
    words = [line.split(None, 2) for line in lines]
    return [(user, int(nice), args) for user, nice, args in words if nice != "-"]


def data(busy: Sandbox, path: str, **body: object) -> dict[str, Any]:
    answer = busy.request("POST", path, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["data"]
    return found


def test_what_a_door_starts_has_less_weight(busy: Sandbox) -> None:
    kernel = data(busy, "/v1/jupyter/execute", code="import os; print(os.nice(0), end='')")
    node = data(busy, "/v1/nodejs/execute", code="console.log(require('os').getPriority())")
    with opened(busy) as person:
        person.send("input", 'echo "nice:$(nice):"\r')
        while not (typed := re.search(r"nice:([0-9]+):", person.seen)):
            person.receive("output")
    found = {
        "terminal": typed.group(1),
        "bash": data(busy, "/v1/bash/exec", command="nice")["stdout"],
        "root": data(busy, "/v1/bash/exec", command="sudo nice")["stdout"],
        "shell": data(busy, "/v1/shell/exec", id="busy", command="nice")["output"],
        "kernel": kernel["outputs"][0]["text"],
        "nodejs": node["stdout"],
        "hook": busy.run("cat", "/tmp/nice-of-the-hook").stdout,
    }
    assert {door: text.strip() for door, text in found.items()} == dict.fromkeys(found, str(NICE))


def test_every_program_of_the_agent_has_less_weight_and_none_of_those_that_serve_a_person(busy: Sandbox) -> None:
    listing = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    headers = {"Accept": "application/json, text/event-stream"}
    assert "sample_echo" in busy.request("POST", "/mcp?servers=sample", json=listing, headers=headers).text
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "sample_echo", "arguments": {"text": "x"}}}
    busy.request("POST", "/mcp?servers=sample", json=call, headers=headers)
    found = programs(busy)

    assert [one for one in found if one[0] == "gem" and one[1] < NICE] == []
    assert any("sample_server.py" in args for user, _, args in found if user == "gem")
    for name in OURS:
        assert {nice for user, nice, args in found if name in args and user != "gem"} == {0}, name


@pytest.mark.parametrize("way", HIGHER)
@pytest.mark.parametrize("user", ["gem", "root"])
def test_nobody_in_there_gets_more_weight(busy: Sandbox, user: str, way: str) -> None:
    assert busy.run("bash", "-c", f"{way} && nice", user=user).stdout.strip() in ("", str(NICE))
    assert busy.run("bash", "-c", f"{way}; nice", user=user).stdout.strip().splitlines()[-1] == str(NICE)


def test_a_command_and_a_person_who_takes_control_are_served_while_loops_take_every_processor(busy: Sandbox) -> None:
    person = Person(busy)
    data(busy, "/v1/bash/sessions/create", session_id="loops")
    data(busy, "/v1/bash/exec", session_id="loops", command=SPIN, async_mode=True)
    try:
        until(lambda: [nice for _, nice, args in programs(busy) if args.startswith("busy-loop")] == [BUSY_NICE] * 8)
        works: list[Callable[[], object]] = [partial(data, busy, "/v1/bash/exec", command="true"), partial(person.control, "take")]
        for work in works:
            before = time.monotonic()
            work()
            assert time.monotonic() - before < PATIENCE_SECONDS
    finally:
        person.control("release")
        busy.exec("pkill", "-KILL", "-f", "^busy-loop")
    assert data(busy, "/v1/bash/exec", command="nice")["stdout"] == f"{NICE}\n"
