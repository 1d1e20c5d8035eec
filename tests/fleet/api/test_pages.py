"""The page's files: all ours, and nothing that is anybody's."""

import re

import httpx2
import pytest
from tandem_fleet.api.authorization import SharedKey
from tandem_fleet.api.pages import FILES, WEB
from tandem_fleet.fleet import Fleet

from tests.fleet.api.calling import client

pytestmark = pytest.mark.anyio


async def test_the_page_is_there_for_everybody_and_runs_only_its_own_scripts(fleet: Fleet) -> None:
    async with client(fleet, SharedKey("key")) as stranger:
        for path in ("/", *(f"/static/{name}" for name in FILES)):
            answer = await stranger.get(path)
            assert answer.status_code == 200
            assert "default-src 'none'; script-src 'self'" in answer.headers["content-security-policy"]
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("name", ["%2e%2e/api/app.py", "%2e%2e%2fapi%2fapp.py", "nothing.js", "", "index.html/x"])
async def test_what_is_no_file_of_the_page_is_not_there(http: httpx2.AsyncClient, name: str) -> None:
    assert (await http.get(f"/static/{name}")).status_code == 404


def test_what_the_page_names_is_there_and_nothing_stands_in_it() -> None:
    page = FILES["index.html"].read_text("utf-8")
    named = set(re.findall(r'(?:src|href)="/static/([^"]+)"', page))
    imported = {name for file in WEB.glob("*.js") for name in re.findall(r'from "\./([^"]+)"', file.read_text("utf-8"))}
    assert named | imported <= FILES.keys()
    assert FILES.keys() - named - imported - {"index.html"} == set()
    assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|style=", page)
    marked_up = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|https?://")
    assert not [file.name for file in WEB.glob("*.js") if marked_up.search(file.read_text("utf-8"))]
