"""Audiences of tokens (RFC 7519, section 4.1.3): what may be asked for."""

from collections.abc import Sequence

from sandbox_server import patterns
from sandbox_server.core.errors import InvalidArgument, PermissionDenied

MAX_AUDIENCES = 4
"""Limit of audiences of one token."""
MAX_CHARS = 255
_AUDIENCE = patterns.compile(rf"[A-Za-z0-9._~:/?#@!$&'()*+,;=%\[\]-]{{1,{MAX_CHARS}}}")


class AudienceRules:
    """The audiences for which tokens are issued: exact ones, or prefixes that end with `*`; any if none are given.

    `own`, the issuer itself, is always one: tokens for it are exchanged here.
    """

    def __init__(self, allowed: Sequence[str], own: str) -> None:
        self._allowed = (*allowed, own) if allowed else ()

    def check(self, audiences: Sequence[str]) -> tuple[str, ...]:
        """Return the audiences. Raises InvalidArgument for malformed ones, and PermissionDenied for one that is not allowed."""
        if not 1 <= len(audiences) <= MAX_AUDIENCES or len(set(audiences)) != len(audiences):
            raise InvalidArgument(f"a token has 1 to {MAX_AUDIENCES} different audiences")
        for audience in audiences:
            if not _AUDIENCE.fullmatch(audience):
                raise InvalidArgument(f"an audience has 1 to {MAX_CHARS} characters of a URL, as in https://vault.example.org")
            if not self._allows(audience):
                raise PermissionDenied("tokens for this audience are not issued here", hint="IDENTITY_AUDIENCES lists the audiences")
        return tuple(audiences)

    def _allows(self, audience: str) -> bool:
        return not self._allowed or any(
            audience.startswith(each[:-1]) if each.endswith("*") else audience == each for each in self._allowed
        )
