import pytest

from sandbox_server.mcp.routing.uri_templates import matches


@pytest.mark.parametrize(
    ("template", "uri", "fits"),
    [
        ("note://{name}", "note://a/b", True),
        ("note://{name}", "note://", False),
        ("a{x}b{y}c", "a1b2b3c", True),
        ("a{x}b{y}c", "abc", False),
        ("{x}{y}", "ab", True),
        ("{x}{y}", "a", False),
        ("a{x}a", "aa", False),
        ("plain", "plain", True),
        ("a{", "a{", True),
        ("a{x}ab", "aab", False),
    ],
)
def test_a_uri_matches_a_template_with_a_character_or_more_for_each_variable(template: str, uri: str, fits: bool) -> None:
    assert matches(template, uri) == fits
