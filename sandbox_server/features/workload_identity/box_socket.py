"""What the identity's socket in the box answers."""

from collections.abc import Mapping

from sandbox_server.core import InvalidArgument
from sandbox_server.drivers.workload_identity.token_socket import SocketAnswer, SocketRequest
from sandbox_server.features.workload_identity.git_credentials import GitCredentials
from sandbox_server.features.workload_identity.tokens import TokenDesk

CALLER = "box"
"""The caller's name for the rate of tokens: all programs of the box together."""


class BoxAnswers:
    """Answers `/token?audience=...` and `/git-credential?protocol=...&host=...`."""

    def __init__(self, tokens: TokenDesk, git: GitCredentials) -> None:
        self._tokens = tokens
        self._git = git

    async def __call__(self, request: SocketRequest) -> SocketAnswer | None:
        """Answer one request; None for a path that is not there."""
        if request.path == "/token":
            return await self._token(request)
        if request.path == "/git-credential":
            return await self._git_credential(request)
        return None

    async def _token(self, request: SocketRequest) -> SocketAnswer:
        issued = await self._tokens.issue(request.query.get("audience", []), CALLER)
        return SocketAnswer(issued.token if request.accepts_text else {"token": issued.token, "expires_at": issued.expires_at})

    async def _git_credential(self, request: SocketRequest) -> SocketAnswer | None:
        found = await self._git.find(_one(request.query, "protocol"), _one(request.query, "host"))
        if found is None:
            return None
        return SocketAnswer({"username": found.username, "password": found.password, "expires_at": found.expires_at})


def _one(query: Mapping[str, list[str]], name: str) -> str:
    values = query.get(name, [])
    if len(values) != 1:
        raise InvalidArgument(f"{name} must stand once")
    return values[0]
