"""A Starlette WebSocket as the `Socket` that operations take."""

from starlette.websockets import WebSocket, WebSocketDisconnect


class AcceptedSocket:
    """One accepted WebSocket."""

    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def receive(self) -> str | bytes | None:
        """Wait for one message; None once the other side has closed."""
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            return None
        text: str | None = message.get("text")
        data: bytes = message.get("bytes") or b""
        return data if text is None else text

    async def send(self, message: str | bytes) -> None:
        """Send one message; raises `ConnectionError` once the other side has closed."""
        try:
            if isinstance(message, str):
                await self._socket.send_text(message)
            else:
                await self._socket.send_bytes(message)
        except (WebSocketDisconnect, RuntimeError) as error:
            raise ConnectionError("the socket is closed") from error

    async def close(self, code: int = 1000, reason: str = "") -> None:
        """Close the socket, unless either side has closed it already."""
        try:
            await self._socket.close(code, reason)
        except (RuntimeError, WebSocketDisconnect):
            return
