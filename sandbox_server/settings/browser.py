"""The browser's variables; a section of `settings`. Stdlib only, for the sake of boot."""

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from sandbox_server.settings.kinds import BOOLEAN, OPTIONAL_PATH, PATH, SIZE, TEXT, Kind, choice, variable


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") for word in part.split())


def _arguments(text: str) -> tuple[str, ...]:
    import shlex

    words = tuple(shlex.split(text))
    owned = [word for word in words if word.partition("=")[0] in ("--remote-debugging-port", "--remote-debugging-pipe", "--no-sandbox")]
    if owned:
        raise ValueError(f"must not hold {owned[0]}: DevTools are a pipe here, and BROWSER_NO_SANDBOX is how to give up the sandbox")
    return words


def _cookies(text: str) -> tuple[dict[str, Any], ...]:
    try:
        cookies = json.loads(text)
    except ValueError as error:
        raise ValueError(f"must be a JSON list of cookies: {error}") from None
    if not isinstance(cookies, list) or not all(isinstance(one, dict) and {"name", "value"} <= one.keys() for one in cookies):
        raise ValueError("must be a JSON list of cookies: {name, value, domain or url, ...}")
    return tuple(cookies)


def _profile(text: str) -> str:
    if not re.fullmatch("[a-z0-9][a-z0-9_-]{0,62}", text):
        raise ValueError("must be small letters, digits, '-' and '_', at most 63")
    return text


WORDS: Kind[tuple[str, ...]] = Kind("list", _words)
ARGUMENTS: Kind[tuple[str, ...]] = Kind("arguments", _arguments)
COOKIES: Kind[tuple[dict[str, Any], ...]] = Kind("JSON", _cookies)
PROFILE: Kind[str] = Kind("name", _profile)
MAYBE: Kind[bool | None] = Kind("boolean", BOOLEAN.parse)


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """The browser"""

    start: Literal["eager", "lazy"] = variable(
        "BROWSER_START", choice("eager", "lazy"), "eager", "`lazy` starts Chromium when a client first needs it."
    )
    executable: str = variable("BROWSER_EXECUTABLE_PATH", PATH, "/usr/local/bin/browser", "Chromium's program.")
    profile: str = variable(
        "BROWSER_PROFILE",
        PROFILE,
        "default",
        "The profile that the browser starts on; one that is missing is made. See [profiles.md](profiles.md).",
    )
    profiles_bytes: int = variable(
        "PROFILES_MAX_BYTES", SIZE, 8 << 30, "Bytes of all named profiles together, caches apart. A copy or an import beyond it is refused."
    )
    homepage: str | None = variable("HOMEPAGE", TEXT, None, "What the first tab shows. Unset: a blank page.")
    language: str = variable("BROWSER_LANG", Kind("languages", str), "en-US", "Accept-Language of the browser, most wanted first.")
    ui_language: str | None = variable("CHROME_UI_LANG", TEXT, None, "Language of the browser's own menus.")
    user_agent: str | None = variable("BROWSER_USER_AGENT", TEXT, None, "User agent to send. Unset: Chromium's own.")
    extra_arguments: tuple[str, ...] = variable("BROWSER_EXTRA_ARGS", ARGUMENTS, (), "More arguments for Chromium, quoted as in a shell.")
    extensions: bool = variable(
        "BROWSER_EXTENSIONS", BOOLEAN, False, "Allow extensions. They are stopped while a person drives, and may not use `chrome.debugger`."
    )
    no_sandbox: bool = variable(
        "BROWSER_NO_SANDBOX",
        BOOLEAN,
        False,
        "Run Chromium without any sandbox. Otherwise it does not start on a host that allows neither user namespaces nor Landlock.",
    )
    downloads: str | None = variable(
        "BROWSER_DOWNLOAD_DIR", OPTIONAL_PATH, None, "Where downloads go. Unset: Downloads in the home directory."
    )
    file_dialogs: bool | None = variable(
        "BROWSER_ALLOW_FILE_SELECTION_DIALOGS", MAYBE, None, "`false` keeps Chromium from opening file dialogs."
    )
    blocked_urls: tuple[str, ...] = variable(
        "BROWSER_URL_BLOCKLIST", WORDS, (), "URL patterns that Chromium refuses, as in its policy URLBlocklist."
    )
    allowed_urls: tuple[str, ...] = variable("BROWSER_URL_ALLOWLIST", WORDS, (), "Exceptions to the block list.")
    cookies: tuple[dict[str, Any], ...] = variable(
        "BROWSER_INIT_COOKIES", COOKIES, (), "Cookies of a new profile: `[{name, value, domain, path, ...}]`."
    )
    doh_templates: str | None = variable("DNS_OVER_HTTPS_TEMPLATES", TEXT, None, "DNS over HTTPS servers for Chromium, as URI templates.")
