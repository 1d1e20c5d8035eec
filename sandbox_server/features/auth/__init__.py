"""Authentication and authorization: `/auth`, which the gateway asks about every request, and tickets for clients without headers."""

from sandbox_server.features.auth.auth import Auth
from sandbox_server.features.auth.credentials import Credentials
from sandbox_server.features.auth.sessions import SessionGuard, SignInSessions

__all__ = ["Auth", "Credentials", "SessionGuard", "SignInSessions"]
