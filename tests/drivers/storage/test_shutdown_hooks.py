import stat
from pathlib import Path

from sandbox_server.drivers.storage.shutdown_hooks import ShutdownHookStore
from sandbox_server.settings import ShutdownHook


def test_nothing_is_registered_before_the_first_write(tmp_path: Path) -> None:
    assert ShutdownHookStore(f"{tmp_path}/hooks.json").read() == []


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    store = ShutdownHookStore(f"{tmp_path}/hooks.json")
    hooks = [ShutdownHook("a", "sync", 2.5, 7), ShutdownHook("b", "true")]

    store.write(hooks)

    assert store.read() == hooks


def test_nobody_else_may_read_the_commands(tmp_path: Path) -> None:
    store = ShutdownHookStore(f"{tmp_path}/hooks.json")

    store.write([ShutdownHook("a", "curl -H 'Authorization: secret' host")])

    assert stat.S_IMODE((tmp_path / "hooks.json").stat().st_mode) == 0o600
