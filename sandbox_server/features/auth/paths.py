"""Paths that need no sign-in, and the scopes of paths that belong to no operation."""

from sandbox_server.core import Scope

OPEN = frozenset({"/healthz", "/readyz", "/static/style.css", "/static/login/sign-in.js"})
"""Exact paths that anyone may read. They contain no secret; `/readyz` reports more to signed-in callers."""

_GUARDED_ELSEWHERE = ("/v1", "/mcp", "/tickets", "/auth", "/metrics", "/llms.txt", "/static", "/healthz", "/readyz")
"""Operations, which have their own scopes, and the files of our pages, which are the same in every sandbox."""

_PAGES: tuple[tuple[str, Scope], ...] = (
    ("/index.html", "view"),
    ("/stream", "view"),
    ("/terminal", "shell"),
    ("/code-server", "shell"),
    ("/jupyter", "shell"),
    ("/view", "view"),
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


def _under(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")
