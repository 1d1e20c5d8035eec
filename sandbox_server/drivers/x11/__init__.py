"""The X display: input, pictures, windows and clipboard, each through a persistent connection of its own thread."""
