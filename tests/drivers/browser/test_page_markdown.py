"""The program that makes Markdown of markup, as it is run: with limits, in a process of its own."""

import os
from pathlib import Path

import pytest

from sandbox_server.core.errors import InvalidArgument
from sandbox_server.drivers.browser import page_markdown
from sandbox_server.drivers.spawn import confined_program
from sandbox_server.drivers.spawn.process import Processes

pytestmark = pytest.mark.anyio


async def converted(spawner, tmp_path: Path, html: str) -> str:  # type: ignore[no-untyped-def]
    file = tmp_path / "page"
    file.write_text(html, encoding="utf-8")
    document = os.open(file, os.O_RDONLY)
    try:
        return str((await confined_program.answer(Processes(spawner.socket), page_markdown.__file__, {}, document, seconds=60))["text"])
    finally:
        os.close(document)


async def test_markup_becomes_markdown(spawner, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    html = "<h1>One</h1><ul><li>a</li></ul><script>1</script><p>\u00e9</p>"
    assert await converted(spawner, tmp_path, html) == "# One\n\n- a\n\n1\n\n\u00e9"


async def test_markup_that_is_too_deep_is_refused(spawner, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidArgument, match="deep"):
        await converted(spawner, tmp_path, "<div>" * 5000 + "deep")
