"""The browser, driven by pixels on the screen or by its pages."""
