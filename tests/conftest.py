"""What every test may use: the event loop of the product, and a real spawner."""

import faulthandler
import functools
import gc
import json
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import hypothesis
import pytest

from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.shells import tmux_connection
from sandbox_server.drivers.spawn import process as drivers_process
from tests import rings
from tests.fork_server import ForkedProcess, ForkServer
from tests.patience import until

pytest_plugins = ["tests.image.shared_containers", "tests.time_limit"]

# How the names of the files begin that tell scripts/test what failed and what was not run. A pytest that a test starts has none.
_TOLD = os.environ.pop("TANDEM_TOLD", "")
# The files of the change, a line each.
_CHANGED = os.environ.pop("TANDEM_CHANGED", "")
# When no further test begins, in seconds since 1970; 0 for never.
_DEADLINE = float(os.environ.pop("TANDEM_DEADLINE", 0))

# What the daemons of these tests are forked from.
_forks = ForkServer("sandbox_server.drivers.spawn.main", "sandbox_server.drivers.files.worker", "tests.daemons")

# The same examples in every run, so that a change fails for what it does; `pytest --hypothesis-profile default` looks for new ones.
# No example is failed for its time: the machine may be busy.
hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow])
hypothesis.settings.load_profile("repeatable")

# The product waits for the end of what it kills for a second and lets it end by itself later; here the loop would be gone by then, and
# what it left open would fail whichever test collects it.
drivers_process.KILL_GRACE = tmux_connection.CLOSE_SECONDS = 30.0


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    """Have what a test leaves open be an error by the setup of the next one, and not of whichever the collector happens to run in.

    What survives is looked at once: the next collection has only what the next test made.
    """
    gc.collect()
    gc.freeze()


@functools.cache
def _changed() -> frozenset[str]:
    return frozenset(Path(_CHANGED).read_text().splitlines()) if _CHANGED else frozenset()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Read no file in vain where only what measures, what belongs to a change or what is pure is run: it may need what is not there."""
    if not collection_path.name.startswith("test_"):
        return None
    file = _file_of(collection_path)
    has = {
        "changed": lambda: rings.belongs(file, _changed()),
        "timing": lambda: file in rings.TIMING,
        "pure": lambda: rings.is_pure(file),
    }.get(config.option.markexpr)
    return True if has and not has() else None


def _file_of(path: Path) -> str:
    return str(path.relative_to(Path(__file__).parent))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test the markers of the ring that the tables have it in."""
    for item in items:
        slow = item.get_closest_marker("slow") is not None
        markers = rings.markers_of(item.nodeid, getattr(item, "fixturenames", ()), slow, _changed())
        if not slow and not markers and rings.is_pure(_file_of(item.path)):
            markers.append("pure")
        for marker in markers:
            item.add_marker(marker)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Begin no test after the deadline, and write a line for it."""
    if _DEADLINE and time.time() > _DEADLINE:
        _tell("late", item.nodeid)
        pytest.skip("not run for lack of time")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write a line for a test whose setup, call or teardown failed."""
    if report.failed:
        _tell("failed", report.nodeid)


def pytest_sessionfinish(exitstatus: int) -> None:
    """Leave a file that says that pytest ended by itself, and with which status: a thread that never ends gives the process another."""
    _tell("ended", str(int(exitstatus)))


def _tell(what: str, line: str) -> None:
    """Write a line for scripts/test, if it is what runs the tests."""
    if _TOLD:
        with open(f"{_TOLD}.{what}", "a") as file:
            file.write(f"{line}\n")


def pytest_unconfigure() -> None:
    """Have the process end, and say where it was, if a thread that never ends would keep it from ending."""
    faulthandler.dump_traceback_later(120, exit=True)


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """Run asynchronous tests on uvloop, as the server does."""
    return "asyncio", {"use_uvloop": True}


class SpawnerDaemon:
    """A spawner in a process of its own; its agent is `gem` where the tests run as root."""

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / "spawn.sock")
        self.workspace = folder / "work"
        self.environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "WORKSPACE": str(self.workspace)}
        self.workspace.mkdir()
        self.workspace.chmod(0o777)
        self._file = folder / "agent-env.json"
        self._process: ForkedProcess | None = None

    @property
    def pid(self) -> int:
        """The daemon's pid."""
        assert self._process
        return self._process.pid

    def start(self, *options: str, user: str | None = None) -> None:
        """Start it and wait until it listens."""
        self._file.write_text(json.dumps(self.environment))
        Path(self.socket).unlink(missing_ok=True)
        arguments = ["--socket", self.socket, "--environment", str(self._file), "--client", "daemon", *options]
        self._process = _forks.start("tests.daemons:serve_spawner", arguments, user=user)
        until(lambda: os.path.exists(self.socket))

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it with a signal and wait for it."""
        if self._process:
            self._process.send_signal(number)
            self._process.wait()
            self._process = None


@pytest.fixture(scope="session")
def spawner_type() -> type[SpawnerDaemon]:
    """For tests that need a spawner for longer than one test, or with other options."""
    return SpawnerDaemon


@pytest.fixture
def spawner() -> Iterator[SpawnerDaemon]:
    """A running spawner that honours requests for root."""
    with tempfile.TemporaryDirectory() as folder:  # not pytest's, which the agent may not enter
        os.chmod(folder, 0o755)
        daemon = SpawnerDaemon(Path(folder))
        daemon.start("--allow-root")
        yield daemon
        daemon.stop()


class FileWorkers:
    """File workers without a spawner: each is a process that serves one socket, as `gem` where the tests run as root."""

    def __init__(self) -> None:
        self.running: list[ForkedProcess] = []

    async def worker(self, user: str) -> socket.socket:
        """Start one, as `Processes.worker` does."""
        ours, theirs = socket.socketpair()
        name = "gem" if user == "agent" and os.geteuid() == 0 else None
        process = _forks.start("tests.daemons:serve_files", descriptors=[theirs.fileno()], user=name, group=name, cwd="/")
        theirs.close()
        self.running.append(process)
        return ours

    def stop(self) -> None:
        """End those that still run."""
        for process in self.running:
            process.kill()
            process.wait()


@pytest.fixture
def workers() -> Iterator[FileWorkers]:
    """Where `Files` and `Watches` get their workers in tests."""
    started = FileWorkers()
    yield started
    started.stop()


@pytest.fixture
async def files(workers: FileWorkers, home: Path) -> AsyncIterator[Files]:
    """The agent's files; `~` is `home`."""
    async with Files(workers, home=str(home)) as opened:
        yield opened


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory that the agent owns."""
    folder = Path(tempfile.mkdtemp(prefix="home-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "gem", "gem")
    folder.chmod(0o755)
    yield folder
    until(lambda: _is_removed(folder))


def _is_removed(folder: Path) -> bool:
    """Remove it; whether it is gone: a program that was hung up on writes its last file, as bash writes its history."""
    shutil.rmtree(folder, ignore_errors=True)
    return not folder.exists()
