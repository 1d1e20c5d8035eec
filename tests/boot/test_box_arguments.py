"""The box daemon's command line."""

import json

from sandbox_server.boot.box_arguments import box_arguments
from sandbox_server.drivers.box.main import parse
from sandbox_server.settings import load


def test_the_daemon_understands_what_the_settings_say() -> None:
    settings = load({"CHECKPOINT_QUOTA_BYTES": "12345", "CHECKPOINT_WORKSPACE": "false", "EGRESS_POLICY": json.dumps({"default": "deny"})})
    told = parse(box_arguments(settings))
    assert (told.store, told.quota, told.shared) == (settings.box.directory, 12345, [settings.agent.workspace])
    assert (told.socket, told.record) == (settings.paths.socket("box"), settings.paths.box_record)


def test_a_workspace_that_is_kept_is_not_shared() -> None:
    assert parse(box_arguments(load({}))).shared == []
