"""The containers that tests of the image and of its pages share, and those of one test or module. A plugin of pytest."""

import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

import pytest

from tests.image.conftest import new_launcher
from tests.image.container import Launcher, Sandbox
from tests.image.test_control import return_control

_FAILED = pytest.StashKey[bool]()
_shared: dict[str, Launcher] = {}
"""What started the containers that tests share, by the fixture."""
_replacements = iter(range(3))
"""How often a container is replaced: where tests break more of them, the product has a fault that every test may show."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Remember that a test failed."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """After a test that failed, let the next one find the containers that it used as the first one did."""
    yield
    if item.stash.get(_FAILED, False):
        for name in _shared.keys() & set(getattr(item, "fixturenames", ())):
            _shared[name].mend(return_control, lambda: next(_replacements, None) is not None)


@contextmanager
def sharing(fixture: str, prefix: str) -> Iterator[Launcher]:
    """What starts containers for the tests that use a fixture."""
    launcher = _shared[fixture] = new_launcher(prefix)
    try:
        yield launcher
    finally:
        del _shared[fixture]
        launcher.remove()


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """One running container with default settings and a key, for every test that leaves it as it was."""
    with sharing("sandbox", "shared") as launcher:
        yield launcher.start()


@pytest.fixture(scope="session")
def mended_container() -> Iterator[Sandbox]:
    """The container that `mended` gives."""
    with sharing("mended_container", "mended") as launcher:
        yield launcher.start()


@pytest.fixture
def mended(mended_container: Sandbox) -> Sandbox:
    """One container with default settings and a key, ready, for tests that end parts of it and see them come back."""
    mended_container.wait_ready()
    return mended_container


@pytest.fixture(scope="session")
def configured() -> Iterator[Sandbox]:
    """One running container without sudo, on another port, for every test that leaves it as it was."""
    with sharing("configured", "configured") as launcher:
        yield launcher.start(env={"ALLOW_SUDO": "false", "PUBLIC_PORT": "9123"}, port=9123)


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
    with sharing("sandbox_with", f"{abs(hash(request.node.nodeid)):x}"[:8]) as launcher:
        yield launcher.start


@pytest.fixture
def folder(sandbox: Sandbox, request: pytest.FixtureRequest) -> Iterator[str]:
    """A directory of this test's own in the container."""
    path = f"/home/gem/{re.sub(r'[^a-z]', '-', request.node.name)[:60]}"
    assert sandbox.run("mkdir", path).code == 0
    yield path
    sandbox.run("rm", "-rf", path)
