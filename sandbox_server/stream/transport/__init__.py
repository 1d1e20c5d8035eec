"""Transport: how messages reach a viewer and return, over a WebSocket, and over a WebRTC data channel beside it where one opens."""
