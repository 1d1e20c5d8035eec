"""A container with a factor for its timeouts: each of the product's processes has it, and the agent's programs do not."""

import json
import os
from collections.abc import Callable

from sandbox_server import timeouts
from tests.image.container import Sandbox, engine
from tests.patience import until

LOOK = (
    "for p in /proc/[0-9]*; do [ $p = /proc/$$ ] && continue; c=$(tr '\\0' ' ' <$p/cmdline); case $c in *'-m sandbox_server '*) "
    "echo \"$(tr '\\0' '\\n' <$p/environ | grep ^TIMEOUT_FACTOR=) ${c#*-m sandbox_server }\" ;; esac; done 2>/dev/null"
)
"""Every process of the product by its command, after the factor that it was started with."""


def test_the_products_processes_have_the_factor_and_the_agents_programs_do_not(start_sandbox: Callable[..., Sandbox]) -> None:
    sandbox = start_sandbox(env={"TIMEOUT_FACTOR": "2.5", "GREETING": "hello"})
    looking = (
        *("run", "--rm"),
        f"--pid=container:{sandbox.name}",
        "--cap-add=SYS_PTRACE",
        "--entrypoint=sh",
        sandbox.inspect("{{.Config.Image}}"),
    )
    found = {line.strip() for line in engine(*looking, "-c", LOOK).stdout.splitlines()}
    commands = ("boot", "serve", "spawn", "box", "egress", "cdp", "mcp", "stream", "guests")
    assert {f"TIMEOUT_FACTOR=2.5 {command}" for command in commands} <= found
    assert [line for line in found if not line.startswith("TIMEOUT_FACTOR=2.5 ")] == []
    shown = sandbox.run("env").stdout
    assert "GREETING=hello" in shown
    assert "TIMEOUT_FACTOR" not in shown


def test_the_sandboxes_of_these_tests_have_the_factor_of_this_machine(sandbox: Sandbox) -> None:
    given = {name: value for name, _, value in (each.partition("=") for each in json.loads(sandbox.inspect("{{json .Config.Env}}")))}
    assert given.get(timeouts.VARIABLE) == os.environ.get(timeouts.VARIABLE)


def test_what_is_no_factor_stops_the_container(start_sandbox: Callable[..., Sandbox]) -> None:
    sandbox = start_sandbox(env={"TIMEOUT_FACTOR": "abc"}, ready=False)
    until(lambda: sandbox.inspect("{{.State.Status}}") == "exited")
    assert sandbox.inspect("{{.State.ExitCode}}") == "2"
    assert "TIMEOUT_FACTOR must be a number from 1 to 20" in sandbox.logs()
