import pytest

from sandbox_server.settings import BadSettings, ShutdownHook, load


def test_a_shutdown_hook_is_a_command_or_a_list() -> None:
    assert load({"SANDBOX_SHUTDOWN_HOOKS": "sync"}).hooks.shutdown == (ShutdownHook("env", "sync"),)
    given = '[{"name": "a", "command": "b", "timeout": 1, "priority": 2}]'
    assert load({"SANDBOX_SHUTDOWN_HOOKS": given}).hooks.shutdown == (ShutdownHook("a", "b", 1, 2),)
    with pytest.raises(BadSettings, match="SANDBOX_SHUTDOWN_HOOKS must be"):
        load({"SANDBOX_SHUTDOWN_HOOKS": '[{"nothing": 1}]'})
