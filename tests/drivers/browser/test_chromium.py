"""Chromium's command line and policies. What it does once it runs is in tests/cdp/test_browser_supervisor.py."""

import json
from pathlib import Path

import pytest

from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.browser.chromium import Chromium, ChromiumPaths
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.settings.browser import BrowserSettings

SHUT = ["file://*", "chrome://inspect", "chrome://flags", "chrome://extensions", "https://chromewebstore.google.com"]


def chromium(folder: Path, **settings: object) -> Chromium:
    written, profiles = str(folder / "policies.json"), str(folder / "profiles")
    viewable = ("/home", "/tmp")
    place = ChromiumPaths("/home/d", written, "/home/a/Downloads", "/tmp/.X11-unix/X99", ":99", viewable, profiles=profiles)
    return Chromium(Processes("/nowhere"), BrowserSettings(**settings), place)  # type: ignore[arg-type]


def policies(folder: Path, made: Chromium) -> dict[str, object]:
    made.write_policies()
    written: dict[str, object] = json.loads((folder / "policies.json").read_text())
    return written


def test_devtools_are_a_pipe_and_the_sandbox_stays(tmp_path: Path) -> None:
    arguments = chromium(tmp_path).arguments()
    assert "--remote-debugging-pipe" in arguments
    assert "--no-sandbox" not in arguments
    assert not [argument for argument in arguments if argument.startswith("--remote-debugging-port")]


def test_pictures_are_in_shared_memory_only_where_the_agent_cannot_attach_it(tmp_path: Path) -> None:
    assert "--no-xshm" in chromium(tmp_path).arguments()
    shared = ChromiumPaths("/home/d", "/p.json", "/home/a/Downloads", "/x/X99", "unix:/x/X99.localhost", shares_pictures=True)
    assert "--no-xshm" not in Chromium(Processes("/nowhere"), BrowserSettings(), shared).arguments()


def test_where_the_proxy_asks_the_policy_no_name_is_looked_up(tmp_path: Path) -> None:
    made = chromium(tmp_path)
    assert not [each for each in made.arguments() if "host-resolver" in each]
    made.change(egress=True, egress_proxy="socks5://127.0.0.1:1")
    [rules] = [each for each in made.arguments() if each.startswith("--host-resolver-rules=")]
    assert rules.startswith("--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, ")
    assert policies(tmp_path, made)["WebRtcIPHandling"] == "disable_non_proxied_udp"


def test_the_sandbox_is_given_up_only_where_it_was_said(tmp_path: Path) -> None:
    made = chromium(tmp_path, no_sandbox=True)
    made.sandbox = None
    assert "--no-sandbox" in made.arguments()


def test_what_the_image_s_user_adds_comes_last_and_so_wins(tmp_path: Path) -> None:
    arguments = chromium(tmp_path, extra_arguments=("--lang=nl",), ui_language="de").arguments()
    assert [argument for argument in arguments if argument.startswith("--lang=")] == ["--lang=de", "--lang=nl"]


def test_policies_are_written_whole_and_for_everybody_to_read(tmp_path: Path) -> None:
    made = chromium(tmp_path, blocked_urls=("*",), allowed_urls=("a.example",), file_dialogs=False)
    written = policies(tmp_path, made)
    assert (written["URLBlocklist"], written["URLAllowlist"]) == ([*SHUT, "*"], ["file:///home/", "file:///tmp/", "a.example"])
    assert (written["AllowFileSelectionDialogs"], written["DownloadDirectory"]) == (False, "/home/a/Downloads")


def test_a_change_leaves_out_nothing_else(tmp_path: Path) -> None:
    made = chromium(tmp_path, blocked_urls=("a.example",), file_dialogs=False)
    made.change(language="fr", file_dialogs=None)
    written = policies(tmp_path, made)
    assert written["URLBlocklist"] == [*SHUT, "a.example"]
    assert "AllowFileSelectionDialogs" not in written
    assert "--accept-lang=fr" in made.arguments()


def test_dns_over_https_is_asked_for_only_where_it_was_set(tmp_path: Path) -> None:
    assert "DnsOverHttpsMode" not in policies(tmp_path, chromium(tmp_path))
    made = chromium(tmp_path, doh_templates="https://dns.example/dns-query")
    assert policies(tmp_path, made)["DnsOverHttpsTemplates"] == "https://dns.example/dns-query"


def test_extensions_are_kept_out_by_policy_and_by_argument_unless_they_are_allowed(tmp_path: Path) -> None:
    made = chromium(tmp_path)
    written = policies(tmp_path, made)
    assert "--disable-extensions" in made.arguments()
    assert written["ExtensionInstallBlocklist"] == ["*"]
    assert written["ExtensionSettings"] == {"*": {"installation_mode": "blocked"}}
    assert (written["ExtensionDeveloperModeSettings"], written["NativeMessagingBlocklist"]) == (1, ["*"])


def test_an_extension_that_is_allowed_drives_no_pages_and_no_programs(tmp_path: Path) -> None:
    made = chromium(tmp_path, extensions=True)
    written = policies(tmp_path, made)
    assert "--disable-extensions" not in made.arguments()
    assert "ExtensionInstallBlocklist" not in written
    assert "chrome://extensions" not in str(written["URLBlocklist"])
    assert written["ExtensionSettings"] == {"*": {"blocked_permissions": ["debugger", "nativeMessaging"]}}


def test_a_named_profile_is_on_the_volume_and_default_is_where_it_was(tmp_path: Path) -> None:
    made = chromium(tmp_path)
    assert "--user-data-dir=/home/d/chromium" in made.arguments()
    made.profile = "mail"
    assert f"--user-data-dir={tmp_path}/profiles/mail/chromium" in made.arguments()


@pytest.mark.anyio
async def test_a_named_profile_is_never_set_aside(tmp_path: Path) -> None:
    made = chromium(tmp_path)
    made.profile = "mail"
    with pytest.raises(Conflict) as caught:
        await made.set_profile_aside()
    assert (caught.value.details["reason"], made.profile) == ("damaged", "mail")
