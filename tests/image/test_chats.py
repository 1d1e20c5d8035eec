"""People answer in chats: the sandbox's own clients, and stand-ins of Telegram, Slack and Discord with what they use of each."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests import discord_server, slack_server, telegram_server
from tests.discord_server import DiscordServer
from tests.patience import until
from tests.slack_server import SlackServer
from tests.telegram_server import TelegramServer

if TYPE_CHECKING:
    from tests.image.container import Sandbox

ANN, BEN = 7, 8
SLACK_ANN, SLACK_BEN = "U0ANN", "U0BEN"
DISCORD_ANN, DISCORD_BEN = "80351110224678912", "80351110224678913"
NOT_YOURS = "You may not answer this."


@dataclass
class Chats:
    """A sandbox with three chats, in each of which Ann may answer."""

    telegram: TelegramServer = field(default_factory=TelegramServer)
    slack: SlackServer = field(default_factory=SlackServer)
    discord: DiscordServer = field(default_factory=DiscordServer)
    sandbox: "Sandbox | None" = None

    @property
    def env(self) -> dict[str, str]:
        """The sandbox's settings."""
        host = os.environ["TANDEM_RUN"]
        return {
            "HANDOFF_TELEGRAM_URL": f"http://{host}:{self.telegram.server_port}",
            "HANDOFF_TELEGRAM_CHAT": str(telegram_server.CHAT),
            "HANDOFF_TELEGRAM_TOKEN": telegram_server.TOKEN,
            "HANDOFF_TELEGRAM_USERS": str(ANN),
            "HANDOFF_SLACK_API_URL": f"http://{host}:{self.slack.port}/api",
            "HANDOFF_SLACK_CHANNEL": slack_server.CHANNEL,
            "HANDOFF_SLACK_TOKEN": slack_server.BOT_TOKEN,
            "HANDOFF_SLACK_APP_TOKEN": slack_server.APP_TOKEN,
            "HANDOFF_SLACK_USERS": SLACK_ANN,
            "HANDOFF_DISCORD_API_URL": f"http://{host}:{self.discord.port}/api/v10",
            "HANDOFF_DISCORD_CHANNEL": discord_server.CHANNEL,
            "HANDOFF_DISCORD_TOKEN": discord_server.TOKEN,
            "HANDOFF_DISCORD_USERS": DISCORD_ANN,
        }

    def ask(self, **asked: object) -> str:
        """Ask people; the handoff's id."""
        assert self.sandbox
        handoff: str = self.sandbox.request("POST", "/v1/handoffs", json=asked).json()["data"]["id"]
        return handoff

    def get(self, handoff: str) -> dict[str, Any]:
        """A handoff as it is."""
        assert self.sandbox
        found: dict[str, Any] = self.sandbox.request("GET", f"/v1/handoffs/{handoff}").json()["data"]
        return found

    def answer(self, handoff: str) -> dict[str, Any]:
        """A handoff, once it was answered."""
        assert self.sandbox
        found: dict[str, Any] = self.sandbox.request("GET", f"/v1/handoffs/{handoff}?wait=30", timeout=60).json()["data"]
        return found


@pytest.fixture(scope="module")
def chats(sandbox_with: "Callable[..., Sandbox]") -> Iterator[Chats]:
    made = Chats()
    with ExitStack() as serving:
        for server in (made.telegram, made.slack, made.discord):
            serving.enter_context(server.serving())
        made.sandbox = sandbox_with(env=made.env)
        yield made
        assert made.slack.wrong + made.discord.wrong == []


def message(server: TelegramServer | SlackServer | DiscordServer, reason: str) -> dict[str, Any]:
    """The message about a request."""
    shown: dict[str, Any] = found(lambda: next((said for said in server.told if reason in str(said)), None))
    return shown


def found(look: Callable[[], Any]) -> Any:
    """What `look` gives, once that is something."""
    until(look)
    return look()


def test_a_yes_a_choice_and_a_code_are_answered_in_telegram(chats: Chats) -> None:
    telegram = chats.telegram
    confirm = chats.ask(kind="confirm", reason="Send the report?")
    telegram.press(message(telegram, "Send the report?"), "Yes", ANN)
    closed = chats.answer(confirm)
    assert (closed["confirmed"], closed["closed_by"], closed["answered_in"]) == (True, f"telegram:{ANN}", "chat")

    choice = chats.ask(kind="choice", reason="Which seat?", choices=["window", "aisle"])
    telegram.press(message(telegram, "Which seat?"), "aisle", ANN)
    assert chats.answer(choice)["choice"] == "aisle"

    code = chats.ask(kind="otp", reason="The code, please")
    telegram.reply(message(telegram, "The code, please"), "123456", ANN)
    assert chats.answer(code)["note"] == "123456"


def test_a_yes_and_a_code_are_answered_in_slack_and_in_discord(chats: Chats) -> None:
    slack, discord = chats.slack, chats.discord
    confirm = chats.ask(kind="confirm", reason="Book the slack flight?")
    slack.press(message(slack, "Book the slack flight?"), "No", SLACK_ANN)
    assert (chats.answer(confirm)["confirmed"], chats.get(confirm)["closed_by"]) == (False, f"slack:{SLACK_ANN}")

    confirm = chats.ask(kind="confirm", reason="Book the discord flight?")
    discord.press(message(discord, "Book the discord flight?"), "Yes", DISCORD_ANN)
    assert (chats.answer(confirm)["confirmed"], chats.get(confirm)["closed_by"]) == (True, f"discord:{DISCORD_ANN}")

    code = chats.ask(kind="otp", reason="The slack code")
    slack.press(message(slack, "The slack code"), "Answer", SLACK_ANN)
    slack.submit(found(lambda: slack.said("views.open"))[-1]["view"], "123456", SLACK_ANN)
    assert chats.answer(code)["note"] == "123456"

    code = chats.ask(kind="otp", reason="The discord code")
    pressed = discord.press(message(discord, "The discord code"), "Answer", DISCORD_ANN)
    discord.submit(found(lambda: discord.callbacks.get(pressed))["data"], "654321", DISCORD_ANN)
    assert chats.answer(code)["note"] == "654321"


def test_each_message_shows_how_it_ended_wherever_it_was_answered(chats: Chats) -> None:
    chats.ask(kind="confirm", reason="Delete the draft?")
    for server in (chats.slack, chats.discord):
        message(server, "Delete the draft?")
    chats.telegram.press(message(chats.telegram, "Delete the draft?"), "Yes", ANN)
    ended = f"Answered by telegram:{ANN}: Yes"
    until(lambda: [each for each in chats.telegram.said("editMessageText") if "Delete the draft?" in str(each) and ended in str(each)])
    until(lambda: [each for each in chats.slack.said("chat.update") if "Delete the draft?" in str(each) and ended in str(each)])
    until(lambda: [each for each in chats.discord.edited if "Delete the draft?" in str(each) and ended in str(each)])


def test_who_is_not_named_answers_nothing_and_what_is_for_the_screen_has_no_button(chats: Chats) -> None:
    confirm = chats.ask(kind="confirm", reason="Delete it?")
    chats.telegram.press(message(chats.telegram, "Delete it?"), "Yes", BEN)
    chats.slack.press(message(chats.slack, "Delete it?"), "Yes", SLACK_BEN)
    pressed = chats.discord.press(message(chats.discord, "Delete it?"), "Yes", DISCORD_BEN)
    until(lambda: any(said["text"] == NOT_YOURS for said in chats.telegram.said("answerCallbackQuery")))
    until(lambda: any(said["text"] == NOT_YOURS for said in chats.slack.said("chat.postEphemeral")))
    assert found(lambda: chats.discord.callbacks.get(pressed))["data"]["content"] == NOT_YOURS
    assert chats.get(confirm)["status"] == "open"

    chats.ask(kind="login", reason="Sign in to the shop")
    assert "reply_markup" not in message(chats.telegram, "Sign in to the shop")
    assert "actions" not in [block["type"] for block in message(chats.slack, "Sign in to the shop")["blocks"]]
    assert message(chats.discord, "Sign in to the shop")["components"] == []
    assert chats.sandbox
    assert "s3cret" not in chats.sandbox.logs()
