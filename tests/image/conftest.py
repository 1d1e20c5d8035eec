"""The image from outside. `scripts/test` says which image, and on which network these tests may start containers."""

import os
import re
from collections.abc import Callable, Iterator

import pytest
from agent_sandbox import Sandbox as Client

from tests.image.container import GVISOR, Launcher, Sandbox
from tests.image.egress_peers import EgressHosts, start_hosts
from tests.image.gvisor_reasons import reason


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Under gVisor, skip what cannot hold."""
    for item in items:
        if GVISOR and (why := reason(item.nodeid)):
            item.add_marker(pytest.mark.skip(reason=f"gVisor: {why}"))


def new_launcher(session: str, *, boxed: bool = True, plain: bool = False) -> Launcher:
    """What starts containers of the image under test; `session` tells theirs from others of this run."""
    image, run = os.environ.get("TANDEM_IMAGE"), os.environ.get("TANDEM_RUN")
    if not image or not run:
        pytest.fail("these tests need a container engine and the built image: run scripts/test")
    return Launcher(image, run, session, boxed=boxed, plain=plain)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """One running container with default settings and a key, for every test that leaves it as it was."""
    launcher = new_launcher("shared")
    try:
        yield launcher.start()
    finally:
        launcher.remove()


@pytest.fixture(scope="session")
def mended_container() -> Iterator[Sandbox]:
    """The container that `mended` gives."""
    launcher = new_launcher("mended")
    try:
        yield launcher.start()
    finally:
        launcher.remove()


@pytest.fixture
def mended(mended_container: Sandbox) -> Sandbox:
    """One container with default settings and a key, ready, for tests that end parts of it and see them come back."""
    mended_container.wait_ready()
    return mended_container


@pytest.fixture(scope="session")
def configured() -> Iterator[Sandbox]:
    """One running container without sudo, on another port, for every test that leaves it as it was."""
    launcher = new_launcher("configured")
    try:
        yield launcher.start(env={"ALLOW_SUDO": "false", "PUBLIC_PORT": "9123"}, port=9123)
    finally:
        launcher.remove()


@pytest.fixture(scope="module")
def egress_hosts() -> Iterator[EgressHosts]:
    """A container for a module, with a policy that denies all but one host, that host, and one that no rule names."""
    launcher = new_launcher("egress")
    try:
        yield start_hosts(launcher)
    finally:
        launcher.remove()


@pytest.fixture
def start_sandbox(request: pytest.FixtureRequest) -> Iterator[Callable[..., Sandbox]]:
    """Start containers of this test's own: `start_sandbox(env=..., args=..., files=...)`; they are removed after it."""
    launcher = new_launcher(f"{abs(hash(request.node.nodeid)):x}"[:8])
    try:
        yield launcher.start
    finally:
        launcher.remove()


@pytest.fixture(scope="module")
def sandbox_with(request: pytest.FixtureRequest) -> Iterator[Callable[..., Sandbox]]:
    """Start containers that all tests of a module share: `sandbox_with(env=..., args=..., files=...)`."""
    launcher = new_launcher(f"{abs(hash(request.node.nodeid)):x}"[:8])
    try:
        yield launcher.start
    finally:
        launcher.remove()


@pytest.fixture
def client(sandbox: Sandbox) -> Client:
    """The published SDK's blocking client."""
    return Client(base_url=sandbox.base_url, headers=sandbox.headers, httpx_client=sandbox.http)


@pytest.fixture
def folder(sandbox: Sandbox, request: pytest.FixtureRequest) -> Iterator[str]:
    """A directory of this test's own in the container."""
    path = f"/home/gem/{re.sub(r'[^a-z]', '-', request.node.name)[:60]}"
    assert sandbox.run("mkdir", path).code == 0
    yield path
    sandbox.run("rm", "-rf", path)
