"""Capture: the screen, its cursor and its pointer, read from the X server."""
