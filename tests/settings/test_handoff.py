"""The variables of handoffs."""

import pytest

from sandbox_server.settings import BadSettings, Settings, load, without_secrets
from tests.tables import table_test


def test_nobody_is_told_unless_it_is_set() -> None:
    assert (Settings().handoff.webhook, Settings().handoff.file, Settings().handoff.link) == (None, None, None)


def test_the_secret_is_shown_to_nobody() -> None:
    environ = {"HANDOFF_WEBHOOK_SECRET": "s3cret"}
    assert "s3cret" not in repr(load(environ))
    assert without_secrets(environ) == {}


def test_a_webhook_is_an_address() -> None:
    with pytest.raises(BadSettings, match="HANDOFF_WEBHOOK_URL"):
        load({"HANDOFF_WEBHOOK_URL": "hook.example"})


@table_test(
    [
        ({"HANDOFF_SLACK_URL": "hooks.slack.com/x"}, "HANDOFF_SLACK_URL must be a URL"),
        ({"HANDOFF_NTFY_URL": "https:// x"}, "HANDOFF_NTFY_URL must be a URL"),
        ({"HANDOFF_SMTP_URL": "smtp://me:s3cret"}, "HANDOFF_SMTP_URL must be a URL as in"),
        ({"HANDOFF_SMTP_URL": "https://me:s3cret@host"}, "HANDOFF_SMTP_URL must be a URL as in"),
        ({"HANDOFF_SMTP_URL": "smtps://h", "HANDOFF_MAIL_TO": "a@b"}, "HANDOFF_MAIL_FROM must be set, where HANDOFF_SMTP_URL is"),
        ({"HANDOFF_SMTP_URL": "smtps://h", "HANDOFF_MAIL_FROM": "a@b"}, "HANDOFF_MAIL_TO must be set"),
        ({"HANDOFF_MAIL_TO": "a@b, nobody"}, "HANDOFF_MAIL_TO must be a mail address"),
        ({"HANDOFF_TELEGRAM_TOKEN": "s3cret"}, "HANDOFF_TELEGRAM_CHAT must be set"),
        ({"HANDOFF_TELEGRAM_USERS": "7,@ann"}, "numbers of users"),
        ({"HANDOFF_SLACK_TOKEN": "s3cret"}, "HANDOFF_SLACK_CHANNEL must be set, where HANDOFF_SLACK_TOKEN is"),
        ({"HANDOFF_SLACK_USERS": "@ann"}, "ids of users, as in U012AB3CD"),
        ({"HANDOFF_SLACK_TOKEN": "s3cret", "HANDOFF_SLACK_CHANNEL": "C1", "HANDOFF_SLACK_URL": "https://h"}, "two ways to the same place"),
        ({"HANDOFF_DISCORD_TOKEN": "s3cret"}, "HANDOFF_DISCORD_CHANNEL must be set"),
        ({"HANDOFF_DISCORD_USERS": "ann"}, "ids of users, as in 80351110224678912"),
    ]
)
def test_what_cannot_work_stops_the_boot_and_shows_no_secret(environ: dict[str, str], why: str) -> None:
    with pytest.raises(BadSettings, match=why) as refused:
        load(environ)
    assert "s3cret" not in str(refused.value)


def test_addresses_that_let_one_post_are_secrets() -> None:
    environ = {"HANDOFF_SLACK_URL": "https://h/s3cret", "HANDOFF_NTFY_URL": "https://h/s3cret", "HANDOFF_SMTP_URL": "smtps://u:s3cret@h"}
    environ |= {"HANDOFF_MAIL_FROM": "a@b", "HANDOFF_MAIL_TO": "c@d, e@f"}
    settings = load(environ)

    assert "s3cret" not in repr(settings)
    assert set(without_secrets(environ)) == {"HANDOFF_MAIL_FROM", "HANDOFF_MAIL_TO"}
    assert settings.handoff.mail_to == ("c@d", "e@f")


def test_who_may_answer_is_known_to_programs_that_do_not_get_the_token() -> None:
    assert load({"HANDOFF_TELEGRAM_USERS": "7, 8"}).handoff.telegram_users == (7, 8)


SLACK = {"HANDOFF_SLACK_TOKEN": "x", "HANDOFF_SLACK_CHANNEL": "C1", "HANDOFF_SLACK_USERS": "U0ANN"}
DISCORD = {"HANDOFF_DISCORD_TOKEN": "x", "HANDOFF_DISCORD_CHANNEL": "1", "HANDOFF_DISCORD_USERS": "80351110224678912"}


def test_users_without_a_token_are_a_problem_for_who_knows_the_secrets_alone() -> None:
    assert load(SLACK).handoff.problem == "HANDOFF_SLACK_APP_TOKEN must be set, where HANDOFF_SLACK_USERS is"
    assert load({**SLACK, "HANDOFF_SLACK_APP_TOKEN": "x"}).handoff.problem is None
    assert load(DISCORD).handoff.problem is None
    for given, missing in ((SLACK, "HANDOFF_SLACK_TOKEN"), (DISCORD, "HANDOFF_DISCORD_TOKEN")):
        assert (load(without_secrets(given)).handoff.problem or "").startswith(missing)
