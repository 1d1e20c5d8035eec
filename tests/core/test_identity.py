import re
from pathlib import Path

import pytest

from sandbox_server.core.identity import (
    ACTOR,
    ALL_SCOPES,
    CALLER,
    EXPIRES,
    HANDOFF,
    LANES,
    PROFILES,
    SCOPES,
    SURFACE,
    TOOLS,
    Caller,
    forwarded,
)
from sandbox_server.core.tool_allow_list import NO_TOOL, AllowList, names_one

ROOT = Path(__file__).parent.parent.parent
NGINX = ROOT / "nginx"
UPSTREAM = "x-sandbox-upstream"
"""The gateway's own: which port a preview is of."""


def test_a_caller_may_what_its_scopes_name_and_nothing_else() -> None:
    viewer = Caller("ann", frozenset({"view"}))

    assert viewer.may("view")
    assert not viewer.may("shell")


def test_a_caller_without_named_scopes_has_them_all() -> None:
    assert all(Caller("ann").may(scope) for scope in ALL_SCOPES)


@pytest.mark.parametrize("tools", [None, (NO_TOOL,), ("browser_*", "sandbox_execute_bash")])
@pytest.mark.parametrize("person", [True, False])
def test_a_caller_is_the_same_after_it_went_through_headers(tools: AllowList, *, person: bool) -> None:
    caller = Caller("ann@example.org", frozenset({"view", "control"}), tools, ("work-*",), ("ann",), person=person)

    assert Caller.from_headers({name.lower(): value for name, value in caller.headers().items()}) == caller


def test_a_token_that_names_no_tool_still_names_none_after_that() -> None:
    read = Caller.from_headers({name.lower(): value for name, value in Caller("ann", tools=()).headers().items()})

    assert read
    assert read.tools is not None
    assert not names_one(read.tools, ["browser_click"])


def test_nobody_is_named_where_the_header_is_missing_or_empty() -> None:
    assert Caller.from_headers({}) is None
    assert Caller.from_headers({CALLER: "", SCOPES: "view"}) is None


def test_what_is_not_said_is_not_allowed() -> None:
    assert Caller.from_headers({CALLER: "ann"}) == Caller("ann", frozenset())


def test_a_call_that_goes_on_to_another_surface_is_nobodys_in_person() -> None:
    ann = {name.lower(): value for name, value in Caller("ann", person=True).headers().items()}
    passed = Caller.from_headers(forwarded({**ann, "host": "h", "cookie": "secret"}))

    assert passed == Caller("ann", person=False)
    assert forwarded({"host": "h", "cookie": "secret"}) == {"host": "h"}


def test_the_gateway_sets_every_header_of_a_caller_and_takes_a_clients_own_away() -> None:
    caller = {*map(str.lower, Caller("ann").headers()), EXPIRES, HANDOFF}

    assert caller == {CALLER, SCOPES, ACTOR, TOOLS, PROFILES, LANES, EXPIRES, HANDOFF}
    for snippet in ("editor", "outer", "preview"):
        assert set_by(f"snippets/{snippet}.conf") - {SURFACE, UPSTREAM} == caller, snippet
    assert {f"x-sandbox-{name.replace('_', '-')}" for name in asked()} >= caller
    assert f"$http_{SURFACE.replace('-', '_')}" in (NGINX / "snippets/maps.conf").read_text("utf-8")


def test_the_command_line_names_its_surface_as_the_server_reads_it() -> None:
    assert f'"{SURFACE.title()}": "cli"' in (ROOT / "sandbox_server/cli/client.py").read_text("utf-8")


def set_by(conf: str) -> set[str]:
    """The headers of ours that a file of the gateway sets, or empties."""
    text = (NGINX / conf).read_text("utf-8")
    return {name.lower() for name in re.findall(r"proxy_set_header (X-Sandbox-[A-Za-z-]+)", text)}


def asked() -> set[str]:
    """What the gateway takes over from the answer of authentication."""
    text = (NGINX / "snippets/outer.conf").read_text("utf-8")
    return set(re.findall(r"\$upstream_http_x_sandbox_(\w+);", text))
