"""Driving the pages of the browser: Playwright, attached to the process that owns it."""
