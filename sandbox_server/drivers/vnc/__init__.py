"""VNC: what a viewer may say to the server, and the server itself."""
