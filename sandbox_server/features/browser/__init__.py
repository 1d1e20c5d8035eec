"""The browser, as it is on the screen."""
