"""The client, written once: the build makes of it the one that waits for nothing, in `_sync`."""
