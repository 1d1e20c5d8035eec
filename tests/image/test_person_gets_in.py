"""Whatever the agent takes, a person signs in, sees the screen, takes control and stops the agent, in seconds."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import cast

import pytest

from sandbox_server.stream.client import connect
from tests.image.conftest import new_launcher
from tests.image.container import Launcher, Sandbox, engine
from tests.image.crowds import CROWDS, IDLE, Agent
from tests.image.rfb import viewing
from tests.patience import until

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


def new_link(sandbox: Sandbox) -> str:
    """Have the container's owner ask for a link, meanwhile. How long that takes is the engine's time, and an interpreter's to start."""
    made = sandbox.exec("sandbox", "sign-in", timeout=60)
    assert made.code == 0, made.stderr
    return made.stdout.strip()


def sign_in(sandbox: Sandbox, link: str) -> dict[str, str]:
    """Use a link; the headers of the browser that is signed in then."""
    opened = sandbox.http.get(f"{sandbox.base_url}/?ticket={link.partition('?ticket=')[2]}", headers=PAGE)
    assert opened.status_code == 302, opened.text
    return {"Cookie": opened.headers["set-cookie"].partition(";")[0], "Origin": sandbox.base_url, "Sec-Fetch-Site": "same-origin"}


def see(sandbox: Sandbox, person: dict[str, str]) -> None:
    """Get a first picture over VNC, and one of the stream."""
    with viewing(sandbox, {name: person[name] for name in ("Cookie", "Origin")}) as viewer:
        assert len(viewer.pixel(0, 0)) == 4
    address = f"{sandbox.base_url.replace('http', 'ws')}/stream/socket"
    asyncio.run(_first_picture(address, {name: person[name] for name in ("Cookie", "Origin")}))


async def _first_picture(address: str, headers: dict[str, str]) -> None:
    async with connect(address, headers, videos=False) as desktop:
        await desktop.until(lambda picture: picture.frame, timeout=SECONDS)


def order(sandbox: Sandbox, person: dict[str, str], verb: str, body: object) -> None:
    answer = sandbox.http.post(f"{sandbox.base_url}/v1/control/{verb}", headers=person, json=body)
    assert answer.status_code == 200, answer.text


def take_over(sandbox: Sandbox) -> dict[str, str]:
    """Sign in, see, take control and stop the agent, in time."""
    link, began = new_link(sandbox), time.monotonic()
    person = sign_in(sandbox, link)
    see(sandbox, person)
    order(sandbox, person, "take", {"scope": ["gui", "cdp", "shell"]})
    order(sandbox, person, "freeze", {})
    assert time.monotonic() - began < SECONDS
    return person


@pytest.mark.parametrize("crowd", CROWDS)
@pytest.mark.slow
def test_a_person_gets_in_whatever_the_agent_takes(crowded: Sandbox, agent: Agent, crowd: str) -> None:
    with cast("AbstractContextManager[None]", CROWDS[crowd](agent)):
        person = take_over(crowded)
        refused = agent.post("/v1/bash/exec", {"command": "true"})
        assert refused.status_code in (423, 429), refused.text
    order(crowded, person, "thaw", {})
    crowded.request("POST", "/v1/checkpoints/image/restore", json={"keep": False}).raise_for_status()
    until(lambda: '"fine\\n"' in crowded.request("POST", "/v1/bash/exec", json={"command": "echo fine"}).text)


@pytest.mark.slow
def test_a_person_and_the_command_line_get_in_whatever_comes_from_another_machine(crowded: Sandbox, launcher: Launcher) -> None:
    attacker = launcher.beside(["/opt/venv/bin/python", "-c", IDLE, crowded.name, "6000", "60"])
    until(lambda: int((engine("logs", "--tail", "1", attacker).stdout or "0").split()[0]) >= 1000)
    person = take_over(crowded)
    assert crowded.exec("sandbox", "control", "control-state", timeout=60).code == 0
    order(crowded, person, "thaw", {})
