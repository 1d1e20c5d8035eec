"""The browser by its DevTools protocol, for what has to see and shape everything, whatever state a page is in."""
