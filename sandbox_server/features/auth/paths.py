"""Which paths need no sign-in, and which scope the others need where no operation says so itself."""

from sandbox_server.core import Scope

OPEN = frozenset({"/healthz", "/readyz", "/static/style.css", "/static/login/sign-in.js"})
"""Exact paths that anyone may get. What they tell is no secret; `/readyz` tells more to those who signed in."""

_GUARDED_ELSEWHERE = ("/v1", "/mcp", "/tickets", "/auth", "/metrics", "/llms.txt", "/static", "/healthz", "/readyz")
"""Operations, each with a scope of its own, and the files of our pages, which are the same in every sandbox."""

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
    """The scope that a normalised path needs; None where signing in is enough.

    Whatever is not listed was added to the image: it has no scopes of its own, so it takes the widest.
    """
    if path == "/":
        return "view"
    if any(_under(path, prefix) for prefix in _GUARDED_ELSEWHERE):
        return None
    return next((scope for prefix, scope in _PAGES if _under(path, prefix)), "admin")


def _under(path: str, prefix: str) -> bool:
    return path == prefix or path.startswith(f"{prefix}/")
