"""An app of Slack, with a stand-in of its Web API and of Socket Mode."""

from collections.abc import Iterator

import pytest

from sandbox_server.core import Unavailable
from sandbox_server.drivers.clients.slack import SlackApp
from tests.slack_server import APP_TOKEN, BOT_TOKEN, CHANNEL, SlackServer

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def slack() -> Iterator[SlackServer]:
    made = SlackServer()
    with made.serving():
        yield made
    assert made.wrong == []


def app(slack: SlackServer, token: str = BOT_TOKEN, app_token: str | None = APP_TOKEN) -> SlackApp:
    return SlackApp(f"http://127.0.0.1:{slack.port}/api/", token, app_token)


async def test_a_message_is_posted_and_named(slack: SlackServer) -> None:
    block = {"type": "section", "text": {"type": "plain_text", "text": "hello"}}
    result, answer = await app(slack).deliver("chat.postMessage", channel=CHANNEL, text="hello", blocks=[block])

    assert (result.status, result.error, answer["channel"]) == (200, None, CHANNEL)


async def test_a_refusal_is_no_success_although_its_status_is_200(slack: SlackServer) -> None:
    result, answer = await app(slack).deliver("chat.postMessage", channel="C0ELSEWHERE", text="", blocks=[])
    wrong, _ = await app(slack, "xoxb-s3cret-wrong").deliver("chat.postMessage", channel=CHANNEL)

    assert (result.status, result.error, answer) == (None, "channel_not_found", {})
    assert (wrong.status, wrong.error) == (None, "invalid_auth")
    with pytest.raises(Unavailable, match="channel_not_found"):
        await app(slack).call("chat.update", channel="C0ELSEWHERE")


async def test_a_socket_is_opened_with_the_apps_own_token(slack: SlackServer) -> None:
    async with app(slack).socket() as socket:
        assert (await socket.receive())["type"] == "hello"
    for token, why in ((None, "did not answer"), (BOT_TOKEN, "invalid_auth")):
        with pytest.raises(Unavailable, match=why):
            async with app(slack, app_token=token).socket():
                pass


async def test_an_api_that_does_not_answer_is_a_reason_without_an_address() -> None:
    gone = SlackApp("http://127.0.0.1:9/s3cret", BOT_TOKEN)
    result, _ = await gone.deliver("chat.postMessage")
    assert (result.status, result.error) == (None, "Slack did not answer: ConnectError")
