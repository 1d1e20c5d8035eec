"""The variables of the recorder."""

import pytest

from sandbox_server.settings import BadSettings, load, secrets_in


def test_the_recorder_is_on_by_default() -> None:
    assert load({}).recorder.on
    assert not load({"RECORDER": "off"}).recorder.on


def test_the_events_have_room_for_a_few_files() -> None:
    with pytest.raises(BadSettings, match="RECORDER_MAX_BYTES"):
        load({"RECORDER_MAX_BYTES": "100"})


def test_every_secret_of_the_settings_is_known() -> None:
    assert set(secrets_in(load({"SANDBOX_API_KEY": "the-key-of-all", "HANDOFF_WEBHOOK_SECRET": "s3cret"}))) == {"the-key-of-all", "s3cret"}
