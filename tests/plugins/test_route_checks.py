"""With the gateway's own configuration and a real nginx."""

from dataclasses import replace
from pathlib import Path

import pytest

from sandbox_server.plugins.route_checks import check
from sandbox_server.settings.paths import Paths

ROOT = Path(__file__).parent.parent.parent


def problems(folder: Path, text: str) -> list[str]:
    (folder / "gem/nginx").mkdir(parents=True)
    (folder / "gem/nginx/mine.conf").write_text(text)
    (folder / "code").mkdir()
    (folder / "code/nginx").mkdir()
    for file in (ROOT / "nginx").rglob("*.conf"):
        to = folder / "code" / file.relative_to(ROOT)
        to.parent.mkdir(exist_ok=True)
        to.write_text(file.read_text().replace("/opt/gem/", f"{folder}/gem/"))
    return check(replace(Paths(), code=str(folder / "code"), added=(str(folder / "gem"),))).problems


def test_a_route_that_nginx_takes_is_well(tmp_path: Path) -> None:
    assert problems(tmp_path, "location /mine/ {\n    proxy_pass http://127.0.0.1:9100/;\n}\n") == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("location /mine/ {\n", "unexpected end of file"),
        ("location /mine/ { proxy_passs http://127.0.0.1:1/; }", 'unknown directive "proxy_passs"'),
        ("location / { return 200; }", 'duplicate location "/"'),
        ("server { listen 80; }", '"server" directive is not allowed here'),
    ],
)
def test_a_route_that_would_stop_the_gateway_from_starting_is_reported(tmp_path: Path, text: str, problem: str) -> None:
    found = problems(tmp_path, text)

    assert any(problem in each for each in found)
    assert any("gem/nginx/mine.conf" in each for each in found)


def test_without_any_nginx_is_not_asked() -> None:
    assert check(replace(Paths(), code="/nowhere", added=("/nowhere",))).problems == []
