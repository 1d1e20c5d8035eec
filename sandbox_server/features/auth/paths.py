"""Paths that need no sign-in, and the scopes of paths that belong to no operation."""

from sandbox_server.core import Scope

_SIGNED_OUT_FILES = """
style.css strings.js theme.js home/icon.svg login/sign-in.js login/strings.js join/join.js join/strings.js error/error.js error/strings.js
bar/bar.css bar/dialogs.css bar/markup.js bar/preferences.js bar/shortcut_list.js bar/shortcuts.js bar/signed_out_bar.js bar/strings.js
bar/english.js bar/chinese.js
"""
"""What the sign-in page, the page of an invitation and the error pages load."""
_WELL_KNOWN = ("/.well-known/openid-configuration", "/.well-known/jwks.json")
"""The issuer of the sandbox's tokens and its public keys, which verifiers fetch."""
OPEN = frozenset({"/favicon.ico", "/healthz", "/readyz", "/join", *_WELL_KNOWN, *(f"/static/{name}" for name in _SIGNED_OUT_FILES.split())})
"""Exact paths that anyone may read. They contain no secret; `/readyz` reports more to signed-in callers."""

_GUARDED_ELSEWHERE = ("/join", "/v1", "/mcp", "/tickets", "/auth", "/metrics", "/llms.txt", "/static", "/healthz", "/readyz", *_WELL_KNOWN)
"""Operations, which have their own scopes, and the files of our pages, which are the same in every sandbox."""
_PROBES = ("/healthz", "/readyz", "/metrics", "/auth", "/tickets", "/static", "/favicon.ico", *_WELL_KNOWN)
"""Requests that run the container or sign in. They are no sign of an agent."""

_PAGES: tuple[tuple[str, Scope], ...] = (
    ("/index.html", "view"),
    ("/stream", "view"),
    ("/terminal", "shell"),
    ("/code-server", "shell"),
    ("/jupyter", "shell"),
    ("/view", "view"),
    ("/files", "files"),
    ("/recorder", "admin"),
    ("/vnc", "view"),
    ("/websockify", "view"),
    ("/devtools", "browser"),
    ("/json", "browser"),
    ("/cdp", "browser"),
)


def scope_for(path: str) -> Scope | None:
    """Return the scope that a normalised path needs; None if signing in is enough.

    An unlisted path was added to the image. It has no scope of its own, so it needs the widest.
    """
    if path == "/":
        return "view"
    if any(_under(path, prefix) for prefix in _GUARDED_ELSEWHERE):
        return None
    return next((scope for prefix, scope in _PAGES if _under(path, prefix)), "admin")


def shows_screen(path: str) -> bool:
    """Whether the path shows the whole screen for as long as its caller stays."""
    return any(_under(path, prefix) for prefix in ("/stream", "/view", "/vnc", "/websockify"))


def is_probe(path: str) -> bool:
    """Whether a request for the path says nothing about an agent."""
    return any(_under(path, prefix) for prefix in _PROBES)


def _under(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")
