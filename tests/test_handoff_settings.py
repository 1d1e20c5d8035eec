"""The variables of handoffs."""

import pytest

from sandbox_server.settings import BadSettings, Settings, load, without_secrets


def test_nobody_is_told_unless_it_is_set() -> None:
    assert (Settings().handoff.webhook, Settings().handoff.file, Settings().handoff.link) == (None, None, None)


def test_the_secret_is_shown_to_nobody() -> None:
    environ = {"HANDOFF_WEBHOOK_SECRET": "s3cret"}
    assert "s3cret" not in repr(load(environ))
    assert without_secrets(environ) == {}


def test_a_webhook_is_an_address() -> None:
    with pytest.raises(BadSettings, match="HANDOFF_WEBHOOK_URL"):
        load({"HANDOFF_WEBHOOK_URL": "hook.example"})
