"""Rules outlive the server that was told them."""

from pathlib import Path

import pytest

from sandbox_server.drivers.devtools.globs import Glob
from sandbox_server.drivers.devtools.interception import Interception, RequestRoute, RouteAnswer
from sandbox_server.drivers.devtools.kept_rules import KeptRules


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "rules.json"


def test_what_was_written_is_read(file: Path) -> None:
    rules = Interception({"X-A": "1"}, origins={"https://a.example": {"Authorization": "hush"}})
    answer = RouteAnswer(201, {"X-B": "2"}, b"\0\xff", "image/png")
    for route in (RequestRoute(Glob("**/a"), answer), RequestRoute(Glob("**/b"), abort=True), RequestRoute(Glob("**/c"))):
        rules.add(route)
    KeptRules(str(file)).write(rules)
    read = KeptRules(str(file)).read()

    assert (read.headers, read.origins) == (rules.headers, rules.origins)
    assert [(route.glob.text, route.answer, route.abort) for route in read.routes.values()] == [
        ("**/a", answer, False),
        ("**/b", None, True),
        ("**/c", None, False),
    ]
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", [None, "{", "[]", '{"routes": [{}]}', '{"routes": [{"pattern": "", "answer": null, "abort": false}]}'])
def test_where_nothing_can_be_read_there_are_no_rules(file: Path, text: str | None) -> None:
    if text is not None:
        file.write_text(text)
    read = KeptRules(str(file)).read()
    assert (read.headers, read.routes, read.origins) == ({}, {}, {})
