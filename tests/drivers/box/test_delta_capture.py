"""Rounds of copying between plain directories of the volume; what a real box makes of them is tested with the live checkpoints."""

import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.box.delta_capture import DeltaCapture
from sandbox_server.drivers.box.entry_copy import CopyBudget
from sandbox_server.drivers.box.layer_store import StoreError
from sandbox_server.drivers.box.resolve_beneath import DIRECTORY, OPAQUE
from sandbox_server.drivers.box.tree_snapshot import COARSE_NS, FolderSnapshot, MappedFiles
from tests.boxes import VOLUME

NOTHING = MappedFiles()


class Site:
    """A source, and drafts beside it."""

    def __init__(self, top: Path) -> None:
        self.top, self.up = top, top / "up"
        self.up.mkdir(parents=True)
        self.draft = top / "none"
        self.since = 0

    def capture(self, reference: FolderSnapshot | None = None) -> DeltaCapture:
        """Begin a new draft on what is known."""
        self.draft = self.top / secrets.token_hex(4)
        self.draft.mkdir()
        target = os.open(self.draft, DIRECTORY)
        budget = CopyBudget(1 << 30, target)
        return DeltaCapture(os.open(self.up, DIRECTORY), target, reference, self.since, budget, self._discard)

    def _discard(self, place: int, name: str) -> None:
        path = f"/proc/self/fd/{place}/{name}"
        if os.path.lexists(path):
            os.rename(path, self.top / secrets.token_hex(4))

    def round(self, capture: DeltaCapture) -> None:
        """Bring the draft up to date; a moment later what is older counts as known."""
        before, self.since = self.since, time.time_ns() - COARSE_NS
        capture.run_round(before, NOTHING)
        time.sleep(2 * COARSE_NS / 1e9)

    def names(self) -> list[str]:
        """What the draft holds."""
        return sorted(str(path.relative_to(self.draft)) for path in self.draft.rglob("*"))


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site(VOLUME / f"delta-{secrets.token_hex(4)}")
    yield made
    shutil.rmtree(made.top)


def known(site: Site) -> FolderSnapshot:
    """Copy everything once."""
    time.sleep(2 * COARSE_NS / 1e9)
    capture = site.capture()
    site.round(capture)
    assert capture.tree
    return capture.tree


def test_without_a_reference_everything_is_copied_and_then_only_what_changed(site: Site) -> None:
    (site.up / "d/e").mkdir(parents=True)
    (site.up / "d/e/f").write_text("1")
    (site.up / "d/g").write_text("1")
    tree = known(site)
    assert site.names() == ["d", "d/e", "d/e/f", "d/g"]
    (site.up / "d/g").write_text("2")
    capture = site.capture(tree)
    site.round(capture)
    assert site.names() == ["d", "d/g"]


def test_a_name_that_has_gone_is_marked_as_deleted_and_one_never_known_is_not(site: Site) -> None:
    (site.up / "old").write_text("1")
    tree = known(site)
    (site.up / "old").unlink()
    (site.up / "new").write_text("1")
    capture = site.capture(tree)
    site.round(capture)
    (site.up / "new").unlink()
    site.round(capture)
    assert site.names() == ["old"]
    assert stat.S_ISCHR((site.draft / "old").lstat().st_mode)


def test_a_directory_that_took_the_place_of_another_hides_it_and_is_whole(site: Site) -> None:
    (site.up / "d").mkdir()
    (site.up / "d/old").write_text("1")
    (site.up / "e").mkdir()
    (site.up / "e/moved").write_text("1")
    tree = known(site)
    (site.up / "d").rename(site.up / "away")
    (site.up / "e").rename(site.up / "d")
    site.round(site.capture(tree))
    assert site.names() == ["away", "away/old", "d", "d/moved", "e"]
    assert os.getxattr(site.draft / "d", OPAQUE) == b"y"


def test_what_was_moved_away_and_back_between_rounds_is_what_it_was(site: Site) -> None:
    (site.up / "d").mkdir()
    (site.up / "d/f").write_text("1")
    (site.up / "d/g").write_text("1")
    tree = known(site)
    (site.up / "d").rename(site.up / "x")
    capture = site.capture(tree)
    site.round(capture)
    assert stat.S_ISCHR((site.draft / "d").lstat().st_mode)
    (site.up / "x").rename(site.up / "d")
    (site.up / "d/g").unlink()
    site.round(capture)
    assert site.names() == ["d", "d/g"]
    assert stat.S_ISCHR((site.draft / "d/g").lstat().st_mode)


def test_hard_links_stay_together(site: Site) -> None:
    (site.up / "a").write_text("1")
    os.link(site.up / "a", site.up / "b")
    site.round(site.capture())
    assert (site.draft / "a").stat().st_ino == (site.draft / "b").stat().st_ino


def test_directories_keep_their_times(site: Site) -> None:
    (site.up / "d").mkdir()
    (site.up / "d/f").write_text("1")
    os.utime(site.up / "d", ns=(1, 2))
    site.round(site.capture())
    assert (site.draft / "d").stat().st_mtime_ns == 2


def test_a_round_that_takes_too_long_ends(site: Site) -> None:
    (site.up / "f").write_text("1")
    with pytest.raises(StoreError, match="faster"):
        site.capture().run_round(0, NOTHING, deadline=time.monotonic() - 1)
