"""VNC: the messages that a viewer may send, and the server."""
