"""Whatever the agent takes, a person signs in, sees the screen, takes control and stops the agent, in seconds."""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import cast

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Launcher, Sandbox, engine, until
from tests.image.crowds import CROWDS, IDLE, Agent
from tests.image.rfb import viewing

SECONDS = 5.0
"""What all of it may take."""
PAGE = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    found = new_launcher("crowded")
    try:
        yield found
    finally:
        found.remove()


@pytest.fixture(scope="module")
def crowded(launcher: Launcher) -> Sandbox:
    """A container that these tests crowd, one after the other; its box is on a small filesystem."""
    return launcher.start(args=["--memory=3g", "--tmpfs=/sandbox:size=256m,nr_inodes=40k,mode=700,exec"])


@pytest.fixture(scope="module")
def agent(crowded: Sandbox) -> Agent:
    return Agent(crowded, crowded.exec("cat", "/run/sandbox-agent/token").stdout.strip())


def sign_in(sandbox: Sandbox) -> dict[str, str]:
    """Use the link that the container's owner asks for; the headers of the browser that is signed in then."""
    link = sandbox.exec("sandbox", "sign-in", timeout=30).stdout.strip()
    opened = sandbox.http.get(f"{sandbox.base_url}/?ticket={link.partition('?ticket=')[2]}", headers=PAGE)
    assert opened.status_code == 302, opened.text
    return {"Cookie": opened.headers["set-cookie"].partition(";")[0], "Origin": sandbox.base_url, "Sec-Fetch-Site": "same-origin"}


def see(sandbox: Sandbox, person: dict[str, str]) -> None:
    """Get a first picture over VNC, and the stream's first message."""
    with viewing(sandbox, {name: person[name] for name in ("Cookie", "Origin")}) as viewer:
        assert len(viewer.pixel(0, 0)) == 4


def order(sandbox: Sandbox, person: dict[str, str], verb: str, body: object) -> None:
    answer = sandbox.http.post(f"{sandbox.base_url}/v1/control/{verb}", headers=person, json=body)
    assert answer.status_code == 200, answer.text


def take_over(sandbox: Sandbox) -> dict[str, str]:
    """Sign in, see, take control and stop the agent, in time."""
    began = time.monotonic()
    person = sign_in(sandbox)
    see(sandbox, person)
    order(sandbox, person, "take", {"scope": ["gui", "cdp", "shell"]})
    order(sandbox, person, "freeze", {})
    assert time.monotonic() - began < SECONDS
    return person


@pytest.mark.parametrize("crowd", CROWDS)
def test_a_person_gets_in_whatever_the_agent_takes(crowded: Sandbox, agent: Agent, crowd: str) -> None:
    with cast("AbstractContextManager[None]", CROWDS[crowd](agent)):
        person = take_over(crowded)
        refused = agent.post("/v1/bash/exec", {"command": "true"})
        assert refused.status_code in (423, 429), refused.text
    order(crowded, person, "thaw", {})
    crowded.request("POST", "/v1/checkpoints/image/restore", json={"keep": False}).raise_for_status()
    until(lambda: crowded.request("POST", "/v1/bash/exec", json={"command": "echo fine"}).json()["data"]["stdout"] == "fine\n", 60)


def test_a_person_and_the_command_line_get_in_whatever_comes_from_another_machine(crowded: Sandbox, launcher: Launcher) -> None:
    launcher.beside(["/opt/venv/bin/python", "-c", IDLE, crowded.name, "6000", "60"])
    until(lambda: int((engine("logs", "--tail", "1", f"{crowded.name[:-1]}1").stdout or "0").split()[0]) >= 1000, 30)
    person = take_over(crowded)
    assert crowded.exec("sandbox", "control", "status", timeout=30).code == 0
    order(crowded, person, "thaw", {})
