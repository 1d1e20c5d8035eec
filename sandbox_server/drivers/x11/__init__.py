"""The X display: input, screenshots, windows and clipboard, each with its own connection and thread."""
