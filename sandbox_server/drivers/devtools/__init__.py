"""The DevTools client of the API server: it observes and shapes all of the browser's traffic, whatever state a page is in."""
