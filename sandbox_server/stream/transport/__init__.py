"""How messages get to a viewer and back: a WebSocket, and datagrams beside it where they get through."""
