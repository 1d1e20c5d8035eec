"""Windows, clipboard and programs of the desktop."""
