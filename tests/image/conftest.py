"""The image from outside. `scripts/test` says which image, and on which network these tests may start containers."""

import os
from collections.abc import Callable, Iterator

import pytest

from tests.image.container import Launcher, Sandbox


def new_launcher(session: str, *, boxed: bool = True) -> Launcher:
    """What starts containers of the image under test; `session` tells theirs from others of this run."""
    image, run = os.environ.get("TANDEM_IMAGE"), os.environ.get("TANDEM_RUN")
    if not image or not run:
        pytest.fail("these tests need a container engine and the built image: run scripts/test")
    return Launcher(image, run, session, boxed=boxed)


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """One running container with default settings and a key, for every test that leaves it as it was."""
    launcher = new_launcher("shared")
    try:
        yield launcher.start()
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
