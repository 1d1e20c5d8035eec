"""Forks, and the tabs of one that are put back."""

from pathlib import Path

import pytest

from sandbox_server.composition.forks import RestoredTabs, build_forks
from sandbox_server.composition.profiles import build_profiles
from sandbox_server.core import Unavailable
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.forks.fork_state import KeptState, KeptTab
from tests.composition.made import first

pytestmark = pytest.mark.anyio
TABS = (KeptTab("https://a.example/", y=7.0),)


class FakePages:
    """Takes what is put into pages, after so many failures."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.written: list[tuple[KeptTab, ...]] = []

    async def write(self, kept: tuple[KeptTab, ...]) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("the browser is starting")
        self.written.append(kept)


async def put_back(pages: FakePages, path: Path) -> None:
    """Open it, and wait until its work is over."""
    restored = RestoredTabs(pages, path)  # type: ignore[arg-type]
    await restored._restore()


def test_tabs_are_noted_where_there_is_a_browser() -> None:
    made = first()
    part = build_forks(made, build_profiles(made.machine, Devtools("/nowhere")).held)
    assert [feature.tag for feature in part.features] == ["checkpoints"]
    assert made.work.states.sources.tabs is not None
    without = first(DISABLE_BROWSER="true")
    assert len(build_forks(without, None).opened) == 1
    assert without.work.states.sources.tabs is None


async def test_what_the_tabs_had_is_put_back_once_when_the_browser_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox_server.composition.forks.PAUSES", (0.0,) * 3)
    path, pages = tmp_path / "tabs.json", FakePages(failures=2)
    path.write_text(KeptState(tabs=TABS).dumps())
    await put_back(pages, path)
    assert pages.written == [TABS]
    assert not path.exists()
    async with RestoredTabs(pages, path):  # type: ignore[arg-type]
        pass
    assert pages.written == [TABS]


async def test_a_browser_that_does_not_start_and_a_damaged_file_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("sandbox_server.composition.forks.PAUSES", (0.0,))
    path = tmp_path / "tabs.json"
    for content, reason in ((KeptState(tabs=TABS).dumps(), "the browser does not start"), ("[", "is lost")):
        path.write_text(content)
        await put_back(FakePages(failures=9), path)
        assert not path.exists()
        assert reason in caplog.text
