"""The longest time of a test: whatever it hangs in, it fails and says where, and the next one runs."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import time_limit

TESTS = """
import asyncio, os, signal, subprocess, threading, time

import pytest


def its_time_is_over():
    threading.Timer(2.0, os.kill, (os.getpid(), signal.SIGALRM)).start()


@pytest.fixture
def anyio_backend():
    return "asyncio", {"use_uvloop": True}


@pytest.fixture
def slow():
    its_time_is_over()
    time.sleep(600)


@pytest.fixture
async def slow_on_the_loop():
    its_time_is_over()
    await asyncio.Event().wait()


@pytest.mark.limit(1)
def test_limit():
    time.sleep(600)


def test_process():
    its_time_is_over()
    subprocess.run(["sleep", "600"])


def test_thread():
    its_time_is_over()
    threading.Event().wait()


def test_setup(slow):
    pass


async def wait_for_what_never_comes():
    await asyncio.Event().wait()


@pytest.mark.anyio
async def test_loop():
    its_time_is_over()
    await wait_for_what_never_comes()


@pytest.mark.anyio
async def test_setup_on_the_loop(slow_on_the_loop):
    pass


@pytest.mark.anyio
async def test_polling():
    its_time_is_over()
    while True:
        await asyncio.sleep(0.01)


def test_playwright():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright, playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"]) as browser:
        missing = browser.new_page().locator("#nothing")
        its_time_is_over()
        missing.wait_for(timeout=600_000)


def test_after_all():
    pass


@pytest.mark.anyio
async def test_on_the_loop_after_all():
    await asyncio.sleep(0)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest says of these tests."""
    file = tmp_path_factory.mktemp("hanging") / "test_hanging.py"
    file.write_text(TESTS)
    (file.parent / "conftest.py").write_text("from tests.time_limit import pytest_runtest_protocol\n")
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null", f"--rootdir={file.parent}", str(file)]
    return subprocess.run(argv, capture_output=True, text=True, cwd=Path(__file__).parent.parent, check=False).stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "place"),
    [
        ("limit", "not done after 1 s"),
        ("process", 'subprocess.run(["sleep", "600"])'),
        ("thread", "threading.Event().wait()"),
        ("setup", "time.sleep(600)"),
        ("loop", "in wait_for_what_never_comes"),
        ("setup_on_the_loop", "in slow_on_the_loop"),
        ("polling", "in test_polling"),
        ("playwright", "missing.wait_for(timeout=600_000)"),
    ],
)
def test_what_hangs_fails_and_says_where(said: str, test: str, place: str) -> None:
    section = said.partition(f" test_{test} __")[2].partition("\n____")[0]
    assert "TookTooLong: not done after" in section
    assert place in section


@pytest.mark.slow
def test_the_tests_after_it_run(said: str) -> None:
    assert "6 failed, 2 passed" in said
    assert "2 errors" in said


def test_a_test_with_a_container_has_longer_and_a_marker_counts_more(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    item = request.node
    assert time_limit.limit_of(item) == time_limit.LIMIT_SECONDS
    monkeypatch.setattr(time_limit, "CONTAINER_TESTS", ("tests/",))
    assert time_limit.limit_of(item) == time_limit.CONTAINER_LIMIT_SECONDS
    item.add_marker(pytest.mark.limit(7))
    assert time_limit.limit_of(item) == 7
