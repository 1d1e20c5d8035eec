"""Notifications of handoffs: a section of `settings`. Standard library only, because boot imports it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlsplit

from sandbox_server.settings.kinds import BOOLEAN, HTTP_URL, OPTIONAL_PATH, SECRET, TEXT, Kind, Secret, variable

SMTP_SCHEMES = ("smtp", "smtps", "smtp+plain")


def _http_url(text: str) -> str:
    if not _is_url(text, ("https", "http")):
        raise ValueError("must be a URL that starts with https:// or http://")
    return text


def _smtp_url(text: str) -> Secret:
    if not _is_url(text, SMTP_SCHEMES):
        raise ValueError("must be a URL as in smtps://user:password@host:465")
    return Secret(text)


def _is_url(text: str, schemes: tuple[str, ...]) -> bool:
    """Whether a text is a URL. The parser's own message for an invalid one may contain the password."""
    try:
        parts = urlsplit(text)
        return parts.scheme in schemes and bool(parts.hostname) and parts.port != 0 and text.isprintable() and " " not in text
    except ValueError:
        return False


def _mail(text: str) -> str:
    if not re.fullmatch(r"[^\s@,;<>]+@[^\s@,;<>]+", text):
        raise ValueError("must be a mail address, name@host")
    return text


HTTP_SERVER: Kind[str] = Kind("URL", _http_url)
SECRET_URL: Kind[Secret | None] = Kind("secret URL", lambda text: Secret(_http_url(text)), secret=True)
"""A URL that is itself a credential: anyone who knows it may post there."""
SMTP_URL: Kind[Secret | None] = Kind("secret URL", _smtp_url, secret=True)
MAIL: Kind[str | None] = Kind("mail address", _mail)
MAILS: Kind[tuple[str, ...]] = Kind("mail addresses", lambda text: tuple(_mail(part.strip()) for part in text.split(",")))


def _users(text: str) -> tuple[int, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"[1-9][0-9]{0,17}", part) for part in parts):
        raise ValueError("must be numbers of users, separated by commas")
    return tuple(map(int, parts))


USERS: Kind[tuple[int, ...]] = Kind("numbers", _users)


_SLACK_USER = re.compile(r"[UW][A-Z0-9]{2,20}")
_DISCORD_USER = re.compile(r"[1-9][0-9]{14,19}")


def _ids(pattern: re.Pattern[str], of: str) -> Callable[[str], tuple[str, ...]]:
    def parse(text: str) -> tuple[str, ...]:
        parts = tuple(part.strip() for part in text.split(","))
        if not all(pattern.fullmatch(part) for part in parts):
            raise ValueError(f"must be ids of {of}, separated by commas")
        return parts

    return parse


SLACK_USERS: Kind[tuple[str, ...]] = Kind("ids", _ids(_SLACK_USER, "users, as in U012AB3CD"))
DISCORD_USERS: Kind[tuple[str, ...]] = Kind("ids", _ids(_DISCORD_USER, "users, as in 80351110224678912"))


@dataclass(frozen=True, slots=True)
class HandoffSettings:
    """Handoffs: what the agent asks of people"""

    file: str | None = variable(
        "HANDOFF_FILE",
        OPTIONAL_PATH,
        None,
        "Where requests to people are kept: an SQLite file in a directory that user 990 may write. On a volume below `/run` they outlive "
        "the container.",
    )
    asks_clients: bool = variable(
        "HANDOFF_ASK_CLIENT",
        BOOLEAN,
        True,
        "Also ask the user of the MCP client that waits for a person, if the client supports elicitation.",
    )
    webhook: str | None = variable("HANDOFF_WEBHOOK_URL", HTTP_URL, None, "Where every request to a person is posted, as JSON.")
    secret: Secret | None = variable(
        "HANDOFF_WEBHOOK_SECRET", SECRET, None, "Signs it: `X-Tandem-Signature` is HMAC-SHA256 over time, a dot and the body."
    )
    slack: Secret | None = variable("HANDOFF_SLACK_URL", SECRET_URL, None, "An incoming webhook of Slack for every request.")
    slack_token: Secret | None = variable(
        "HANDOFF_SLACK_TOKEN", SECRET, None, "A token of the bot of a Slack app (`xoxb-…`), for every request, in `HANDOFF_SLACK_CHANNEL`."
    )
    slack_channel: str | None = variable(
        "HANDOFF_SLACK_CHANNEL", TEXT, None, "The id of a channel that the bot is in, such as `C012AB3CD`."
    )
    slack_app_token: Secret | None = variable(
        "HANDOFF_SLACK_APP_TOKEN", SECRET, None, "The app's own token for Socket Mode (`xapp-…`), by which answers come."
    )
    slack_users: tuple[str, ...] = variable(
        "HANDOFF_SLACK_USERS",
        SLACK_USERS,
        (),
        "Who may answer in the channel, by buttons and forms: ids of Slack's users, separated by commas. Unset: nobody.",
    )
    slack_api: str = variable("HANDOFF_SLACK_API_URL", HTTP_SERVER, "https://slack.com/api", "Slack's Web API, if it is another server.")
    discord: Secret | None = variable(
        "HANDOFF_DISCORD_TOKEN", SECRET, None, "The token of a Discord bot, for every request, in `HANDOFF_DISCORD_CHANNEL`."
    )
    discord_channel: str | None = variable("HANDOFF_DISCORD_CHANNEL", TEXT, None, "The id of a channel that the bot may write in.")
    discord_users: tuple[str, ...] = variable(
        "HANDOFF_DISCORD_USERS",
        DISCORD_USERS,
        (),
        "Who may answer in the channel, by buttons and forms: ids of Discord's users, separated by commas. Unset: nobody.",
    )
    discord_api: str = variable(
        "HANDOFF_DISCORD_API_URL", HTTP_SERVER, "https://discord.com/api/v10", "Discord's API, if it is another server."
    )
    telegram: Secret | None = variable(
        "HANDOFF_TELEGRAM_TOKEN", SECRET, None, "A Telegram bot's token, for every request, in `HANDOFF_TELEGRAM_CHAT`."
    )
    telegram_chat: str | None = variable("HANDOFF_TELEGRAM_CHAT", TEXT, None, "A chat's number, or a channel as `@name`.")
    telegram_users: tuple[int, ...] = variable(
        "HANDOFF_TELEGRAM_USERS",
        USERS,
        (),
        "Who may answer in the chat, by buttons and replies: numbers of Telegram's users, separated by commas. Unset: nobody.",
    )
    telegram_url: str = variable(
        "HANDOFF_TELEGRAM_URL", HTTP_SERVER, "https://api.telegram.org", "Telegram's bot API, if it is your own server."
    )
    ntfy: Secret | None = variable("HANDOFF_NTFY_URL", SECRET_URL, None, "A topic of ntfy for every request: `https://ntfy.sh/topic`.")
    ntfy_token: Secret | None = variable("HANDOFF_NTFY_TOKEN", SECRET, None, "The access token for it, if it needs one.")
    smtp: Secret | None = variable(
        "HANDOFF_SMTP_URL",
        SMTP_URL,
        None,
        "A mail server for every request: `smtps://user:password@host`, `smtp://` for STARTTLS, `smtp+plain://` for neither.",
    )
    mail_from: str | None = variable("HANDOFF_MAIL_FROM", MAIL, None, "The sender's address.")
    mail_to: tuple[str, ...] = variable("HANDOFF_MAIL_TO", MAILS, (), "The recipients' addresses, separated by commas.")
    link: str | None = variable(
        "HANDOFF_LINK_URL",
        HTTP_URL,
        None,
        "Where people reach this sandbox. Each notification then has a link that signs in once, to see and control.",
    )

    def __post_init__(self) -> None:
        together = (
            ("HANDOFF_TELEGRAM_TOKEN", self.telegram, "HANDOFF_TELEGRAM_CHAT", self.telegram_chat),
            ("HANDOFF_SLACK_TOKEN", self.slack_token, "HANDOFF_SLACK_CHANNEL", self.slack_channel),
            ("HANDOFF_DISCORD_TOKEN", self.discord, "HANDOFF_DISCORD_CHANNEL", self.discord_channel),
            ("HANDOFF_SMTP_URL", self.smtp, "HANDOFF_MAIL_FROM", self.mail_from),
            ("HANDOFF_SMTP_URL", self.smtp, "HANDOFF_MAIL_TO", self.mail_to),
        )
        for one, given, other, needed in together:
            if given and not needed:
                raise ValueError(f"{other} must be set, where {one} is")
        if self.slack and self.slack_token:
            raise ValueError("HANDOFF_SLACK_URL and HANDOFF_SLACK_TOKEN are two ways to the same place: set one of them")

    @property
    def notifies(self) -> bool:
        """Whether people are told of requests elsewhere than on the pages."""
        return any((self.webhook, self.slack, self.slack_token, self.discord, self.telegram, self.ntfy, self.smtp))

    @property
    def problem(self) -> str | None:
        """What is missing, where the secrets are known; None if nothing is."""
        needed = (
            ("HANDOFF_SLACK_USERS", self.slack_users, "HANDOFF_SLACK_TOKEN", self.slack_token),
            ("HANDOFF_SLACK_USERS", self.slack_users, "HANDOFF_SLACK_APP_TOKEN", self.slack_app_token),
            ("HANDOFF_DISCORD_USERS", self.discord_users, "HANDOFF_DISCORD_TOKEN", self.discord),
        )
        return next((f"{other} must be set, where {one} is" for one, given, other, secret in needed if given and not secret), None)
