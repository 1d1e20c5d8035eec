import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox_server.drivers.box.layer_store import MAX_DEPTH, BoxStore, StoreError
from sandbox_server.drivers.box.mount_plan import LayeredPart, Stack
from tests.boxes import VOLUME


@pytest.fixture
def store() -> Iterator[BoxStore]:
    made = BoxStore(str(VOLUME / f"store-{secrets.token_hex(4)}"))  # where a name can be marked as deleted
    made.prepare()
    yield made
    shutil.rmtree(made.folder)


@pytest.fixture
def parts(tmp_path: Path) -> list[LayeredPart]:
    (tmp_path / "image/etc").mkdir(parents=True)
    (tmp_path / "image/etc").chmod(0o711)
    return [LayeredPart("/", str(tmp_path / "image")), LayeredPart("/etc", str(tmp_path / "image/etc"))]


def change(store: BoxStore, name: str) -> None:
    Path(store.up, name).write_text(name)


def checkpoint(store: BoxStore, parts: list[LayeredPart], name: str) -> str:
    store.prepare_mounts(parts)
    change(store, name)
    return store.checkpoint(name, "me", "asked").id


def test_a_checkpoint_moves_the_changes_and_becomes_the_head(store: BoxStore, parts: list[LayeredPart]) -> None:
    made = checkpoint(store, parts, "a")
    assert (store.head, store.record(made).parent) == (made, None)
    assert Path(store.layer(made), "a").read_text() == "a"
    assert not os.path.exists(store.up)


def test_layers_are_stacked_newest_first_over_the_image(store: BoxStore, parts: list[LayeredPart]) -> None:
    one, two = checkpoint(store, parts, "a"), checkpoint(store, parts, "b")
    root, etc = store.prepare_mounts(parts)
    assert root == Stack((f"l/{two}", f"l/{one}", parts[0].lower), "up", "work/0")
    assert etc == Stack((f"l/{two}/etc", f"l/{one}/etc", parts[1].lower), "up/etc", "work/1")


def test_the_uppermost_directory_looks_like_the_one_below_it(store: BoxStore, parts: list[LayeredPart]) -> None:
    store.prepare_mounts(parts)
    assert Path(store.up, "etc").stat().st_mode & 0o777 == 0o711


def test_untouched_files_are_no_change_and_everything_else_is(store: BoxStore, parts: list[LayeredPart]) -> None:
    store.prepare_mounts(parts)
    assert not store.has_changes(parts)
    Path(store.up, "etc/new").mkdir()
    assert store.has_changes(parts)


def test_starting_from_an_earlier_state_drops_the_changes(store: BoxStore, parts: list[LayeredPart]) -> None:
    one = checkpoint(store, parts, "a")
    checkpoint(store, parts, "b")
    store.prepare_mounts(parts)
    change(store, "c")
    former = store.start_from(one)
    assert store.head == one
    assert not os.path.exists(f"{store.up}/c")
    store.let_go(former)
    assert ["c" in os.listdir(path) for path in store.leftovers()] == [True]


def test_a_crash_after_the_rename_is_finished_at_the_next_start(
    store: BoxStore, parts: list[LayeredPart], monkeypatch: pytest.MonkeyPatch
) -> None:
    store.prepare_mounts(parts)
    change(store, "a")
    real = store._write

    def die_at_the_record(name: str, content: object) -> None:
        if name != "state.json":
            raise KeyboardInterrupt
        real(name, content)

    monkeypatch.setattr(store, "_write", die_at_the_record)
    with pytest.raises(KeyboardInterrupt):
        store.checkpoint("a", "me", "asked")
    again = BoxStore(store.folder)
    again.prepare()
    assert [record.label for record in again.records()] == ["a"]
    assert again.head == again.records()[0].id
    assert Path(again.layer(again.head), "a").exists()


def test_a_crash_before_the_rename_leaves_everything_as_it_was(store: BoxStore, parts: list[LayeredPart]) -> None:
    store.prepare_mounts(parts)
    change(store, "a")
    state = Path(store.folder, "state.json")
    pending = {"id": "00000000", "parent": None, "label": "a", "who": "me", "why": "asked", "created": 1.0}
    state.write_text(json.dumps({"format": 1, "head": None, "pending": pending}))
    again = BoxStore(store.folder)
    again.prepare()
    assert (again.head, again.records()) == (None, [])
    assert Path(again.up, "a").exists()


def test_a_crash_in_the_middle_of_a_restore_is_finished_at_the_next_start(store: BoxStore, parts: list[LayeredPart]) -> None:
    one = checkpoint(store, parts, "a")
    store.prepare_mounts(parts)
    change(store, "b")
    Path(store.folder, "state.json").write_text(json.dumps({"format": 1, "head": one, "drop": True}))
    again = BoxStore(store.folder)
    again.prepare()
    assert again.head == one
    assert not os.path.exists(again.up)


def test_a_store_of_another_version_is_left_alone(store: BoxStore) -> None:
    Path(store.folder, "state.json").write_text('{"format": 99, "head": null}')
    with pytest.raises(StoreError, match="format 99"):
        BoxStore(store.folder).prepare()


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "was emptied: .*state.json is gone. A restart makes a new box"), (b"", "is damaged: .*state.json"), (b"\0\0", "is damaged")],
)
def test_a_volume_that_was_emptied_or_is_damaged_is_called_so(store: BoxStore, content: bytes | None, said: str) -> None:
    state = Path(store.folder, "state.json")
    state.unlink() if content is None else state.write_bytes(content)
    with pytest.raises(StoreError, match=said) as failure:
        assert store.head
    assert failure.value.kind == "unavailable"


def test_what_others_stand_on_cannot_go(store: BoxStore, parts: list[LayeredPart]) -> None:
    one, two = checkpoint(store, parts, "a"), checkpoint(store, parts, "b")
    for needed in (one, two):
        with pytest.raises(StoreError, match="stands on it"):
            store.forget(needed)
    store.start_from(one)
    store.forget(two)
    assert [record.id for record in store.records()] == [one]


def test_a_chain_has_an_end(store: BoxStore, parts: list[LayeredPart]) -> None:
    for number in range(MAX_DEPTH):
        store.check_depth(store.head)
        checkpoint(store, parts, str(number))
    with pytest.raises(StoreError, match="squash"):
        store.check_depth(store.head)
    assert len(store.prepare_mounts(parts)[0].lowers) == MAX_DEPTH + 1


def test_a_part_that_was_deleted_as_an_ordinary_directory_is_empty_again(store: BoxStore, parts: list[LayeredPart]) -> None:
    os.makedirs(store.up)
    Path(store.up, "etc").write_text("in its place")
    store.prepare_mounts(parts)
    assert os.getxattr(f"{store.up}/etc", "user.overlay.opaque") == b"y"
    assert store.prepare_mounts(parts)[1].lowers == ("empty",)


IN_THE_WAY: dict[str, Callable[[str], None]] = {
    "a link": lambda path: os.symlink("/run", path),
    "a link to nothing": lambda path: os.symlink("/nowhere", path),
    "a file": lambda path: Path(path).touch(),
    "a pipe": os.mkfifo,
    "a socket": lambda path: os.mknod(path, stat.S_IFSOCK),
    "a name that was deleted": lambda path: os.mknod(path, stat.S_IFCHR, 0),
}


@pytest.fixture
def deep(tmp_path: Path) -> list[LayeredPart]:
    for name in ("image", "image/var", "image/var/lib"):
        (tmp_path / name).mkdir()
    return [LayeredPart(path, f"{tmp_path}/image{path}".rstrip("/")) for path in ("/", "/var", "/var/lib")]


@pytest.mark.parametrize("place", ["var", "var/lib"])
@pytest.mark.parametrize("put", IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_what_is_no_directory_in_a_layer_hides_what_is_below_it(
    store: BoxStore, deep: list[LayeredPart], put: Callable[[str], None], place: str
) -> None:
    old = checkpoint(store, deep, "old")
    store.prepare_mounts(deep)
    shutil.rmtree(f"{store.up}/{place}")
    put(f"{store.up}/{place}")
    bad = store.checkpoint("bad", "me", "asked").id
    root, var, lib = (stack.lowers for stack in store.prepare_mounts(deep))
    assert root == (f"l/{bad}", f"l/{old}", deep[0].lower)
    assert lib == ("empty",)
    assert var == (("empty",) if place == "var" else (f"l/{bad}/var", f"l/{old}/var", deep[1].lower))


@pytest.mark.parametrize("place", ["var", "var/lib"])
@pytest.mark.parametrize("put", IN_THE_WAY.values(), ids=IN_THE_WAY)
def test_what_is_no_directory_above_the_layers_gives_way_and_nothing_is_done_behind_it(
    store: BoxStore, deep: list[LayeredPart], put: Callable[[str], None], place: str, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o700)
    os.makedirs(f"{store.up}/{os.path.dirname(place)}")
    put(f"{store.up}/{place}")
    if os.path.islink(f"{store.up}/{place}"):
        os.unlink(f"{store.up}/{place}")
        os.symlink(outside, f"{store.up}/{place}")
    assert store.prepare_mounts(deep)[2].lowers == ("empty",)
    assert store.prepare_mounts(deep)[2].lowers == ("empty",)  # at the next start too
    assert stat.S_ISDIR(os.lstat(f"{store.up}/var/lib").st_mode)
    assert (os.listdir(outside), outside.stat().st_mode & 0o777) == ([], 0o700)


def test_the_uppermost_directory_does_not_hide_what_the_one_that_it_resembles_does(store: BoxStore, deep: list[LayeredPart]) -> None:
    store.prepare_mounts(deep)
    os.setxattr(f"{store.up}/var/lib", "user.overlay.opaque", b"y")
    one = store.checkpoint("one", "me", "asked").id
    store.prepare_mounts(deep)
    two = store.checkpoint("two", "me", "asked").id
    assert store.prepare_mounts(deep)[2].lowers == (f"l/{two}/var/lib", f"l/{one}/var/lib")


def test_a_million_names_are_not_read_to_tell_that_there_is_a_change(store: BoxStore, deep: list[LayeredPart]) -> None:
    store.prepare_mounts(deep)
    for number in range(20_000):
        Path(store.up, str(number)).touch()
    began = time.thread_time()
    assert store.has_changes(deep)
    assert time.thread_time() - began < 0.5
