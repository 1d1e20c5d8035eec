"""A Chromium outside of the sandbox, as a person has it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, expect, sync_playwright

from tests.patience import PATIENCE_MS


@contextmanager
def chromium(*arguments: str) -> Iterator[Browser]:
    """A running one, with more arguments; what a test expects of its pages is waited for with the patience of all tests."""
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright, pytest.MonkeyPatch.context() as patch:
        given = ["--no-sandbox", "--disable-dev-shm-usage", *arguments]
        launched = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=given, timeout=PATIENCE_MS)
        patch.setattr(launched, "new_context", partial(_patient, launched.new_context))
        yield launched
        launched.close()


def _patient(new_context: Callable[..., BrowserContext], **options: Any) -> BrowserContext:
    """A new context whose pages wait as long."""
    context = new_context(**options)
    context.set_default_timeout(PATIENCE_MS)
    return context
