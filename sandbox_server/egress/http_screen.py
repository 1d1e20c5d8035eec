"""The screen of a plain HTTP connection: every request is judged before the server hears it."""

from collections.abc import Callable

from sandbox_server.drivers.egress.http_head import MalformedHead, RequestHead
from sandbox_server.drivers.egress.http_requests import RequestStream, UpgradeAnswer
from sandbox_server.egress.spliced_flow import FlowCut


class HttpScreen:
    """Screens both sides of a flow. `judge` raises FlowCut for a request that is refused; `say` sends on what was held."""

    def __init__(self, judge: Callable[[RequestHead], None], say: Callable[[bytes], None]) -> None:
        self._requests = RequestStream(judge)
        self._say = say
        self._answer = UpgradeAnswer()

    @property
    def upgrading(self) -> bool:
        """Whether the client asks for a WebSocket, so that the server's answer has to be seen."""
        return self._requests.upgrading

    def hear_client(self, received: bytes) -> tuple[bytes, bool]:
        """Take what the client said. Raises FlowCut."""
        try:
            return self._requests.feed(received), not self._requests.opaque
        except MalformedHead as error:
            raise FlowCut(str(error)) from None

    def hear_server(self, received: bytes) -> tuple[bytes, bool]:
        """Take what the server answers to the request for a WebSocket. Raises FlowCut."""
        try:
            agreed = self._answer.feed(received)
            if agreed is None:
                return received, True
            self._say(self._requests.agree() if agreed else self._requests.refuse_upgrade())
        except MalformedHead as error:
            raise FlowCut(str(error)) from None
        return received, False
