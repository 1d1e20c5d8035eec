"""Named profiles of the browser: where they are, how they are copied, and the worker that touches them as the desktop's user."""
