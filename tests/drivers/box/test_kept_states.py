"""What is kept beside a checkpoint's files."""

import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.box import kept_states
from sandbox_server.drivers.box.layer_store import BoxStore, StoreError
from sandbox_server.drivers.box.mount_plan import LayeredPart
from tests.boxes import VOLUME


@pytest.fixture
def store() -> Iterator[BoxStore]:
    made = BoxStore(str(VOLUME / f"store-{secrets.token_hex(4)}"))
    made.prepare()
    yield made
    shutil.rmtree(made.folder)


@pytest.fixture
def checkpoint(store: BoxStore, tmp_path: Path) -> str:
    store.prepare_mounts([LayeredPart("/", str(tmp_path))])
    Path(store.up, "a").write_text("a")
    return store.checkpoint("a", "me", "asked").id


def test_what_was_kept_is_read_and_goes_with_the_checkpoint(store: BoxStore, checkpoint: str) -> None:
    assert kept_states.read(store, checkpoint) == ""
    kept_states.keep(store, checkpoint, "ä")
    assert kept_states.read(store, checkpoint) == "ä"
    store.start_from(None)
    store.forget(checkpoint)
    assert list(Path(store.folder, "about").iterdir()) == []


@pytest.mark.parametrize("name", ["00000000", "../../etc/passwd", "", "a/b"])
def test_there_is_nothing_beside_a_checkpoint_that_there_is_not(store: BoxStore, name: str) -> None:
    with pytest.raises(StoreError):
        kept_states.keep(store, name, "x")
    with pytest.raises(StoreError):
        kept_states.read(store, name)


def test_too_much_is_refused_and_what_was_there_stays(store: BoxStore, checkpoint: str) -> None:
    kept_states.keep(store, checkpoint, "x")
    with pytest.raises(StoreError, match="at most"):
        kept_states.keep(store, checkpoint, "x" * (kept_states.MAX_STATE + 1))
    assert kept_states.read(store, checkpoint) == "x"


def test_a_damaged_one_is_none(store: BoxStore, checkpoint: str) -> None:
    Path(store.folder, "about", f"{checkpoint}.state").write_bytes(b"\xff")
    assert kept_states.read(store, checkpoint) == ""
