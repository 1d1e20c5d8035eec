"""A real browser on a display of its own, and a session on it."""

import os
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sandbox_server.drivers.browser import session as module
from sandbox_server.drivers.browser.browser_client import BrowserClient
from sandbox_server.drivers.browser.dialogs import DialogAnswer
from sandbox_server.drivers.browser.session import BrowserSession
from sandbox_server.drivers.spawn.process import Processes
from tests import site
from tests.cdp.conftest import display, make_browser_server, shared
from tests.patience import PATIENCE_SECONDS

if TYPE_CHECKING:
    from tests.cdp.conftest import BrowserServer
    from tests.conftest import SpawnerDaemon

__all__ = ["display", "make_browser_server", "shared"]


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """One loop for all tests of a module, which share what is attached to the browser."""
    return "asyncio", {"use_uvloop": True}


@pytest.fixture(scope="session")
def web() -> Iterator[str]:
    """The address of the test site."""
    with site.serving() as address:
        yield address


@pytest.fixture(scope="session")
def programs(spawner_type: "type[SpawnerDaemon]") -> Iterator[Processes]:
    """Processes of the agent, through one spawner for all tests."""
    with tempfile.TemporaryDirectory() as folder:  # not pytest's, which the agent may not enter
        os.chmod(folder, 0o755)
        daemon = spawner_type(Path(folder))
        daemon.start()
        yield Processes(daemon.socket)
        daemon.stop()


@pytest.fixture(scope="module")
async def attached(shared: "BrowserServer") -> AsyncIterator[BrowserSession]:
    """A session on the browser that the tests of a module share; a page may be as slow as the machine, unless a test says otherwise."""
    with pytest.MonkeyPatch.context() as patient:
        patient.setattr(module, "ANSWER_SECONDS", 30.0)
        patient.setattr(module, "STRIP_SECONDS", 30.0)
        async with BrowserSession(BrowserClient(shared.socket)) as session:
            yield session


@pytest.fixture
async def session(attached: BrowserSession) -> BrowserSession:
    """The shared session, with one blank tab before each test."""
    await one_blank_tab(attached)
    return attached


async def one_blank_tab(session: BrowserSession) -> None:
    """Leave a new blank tab alone."""
    old = await session.tabs()
    fresh = await session.open("about:blank")
    for tab in old:
        await session.close(tab, DialogAnswer("accept"))
    await session.until(lambda tabs: [tab.page for tab in tabs] == [fresh], PATIENCE_SECONDS)
    await session.hint()


async def visit(session: BrowserSession, url: str) -> None:
    """Load a page in the tab in front."""
    async with session.driving("loading", answer=DialogAnswer(), timeout=30) as driven:
        await driven.page.goto(url)
