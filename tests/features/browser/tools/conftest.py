"""Fixtures of the browser tools's tests."""

from tests.drivers.browser.conftest import anyio_backend, attached, display, programs, shared, web
from tests.features.browser.driven import pages

__all__ = ["anyio_backend", "attached", "display", "pages", "programs", "shared", "web"]
