"""The image from outside. `scripts/test` says which image, and on which network these tests may start containers."""

import os
from collections.abc import Iterator

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


@pytest.fixture(scope="module")
def egress_hosts() -> Iterator[EgressHosts]:
    """A container for a module, with a policy that denies all but one host, that host, and one that no rule names."""
    launcher = new_launcher("egress")
    try:
        yield start_hosts(launcher)
    finally:
        launcher.remove()


@pytest.fixture
def client(sandbox: Sandbox) -> Client:
    """The published SDK's blocking client."""
    return Client(base_url=sandbox.base_url, headers=sandbox.headers, httpx_client=sandbox.http)
