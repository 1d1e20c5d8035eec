"""The browser process: it owns Chromium and its DevTools pipe, and multiplexes that pipe for many DevTools clients."""
