"""The third process: it owns Chromium and its DevTools pipe, and lets many clients drive the one browser."""
