"""Who may come in: `/auth`, which the gateway asks before every request, and tickets for where no header can be sent."""

from sandbox_server.features.auth.auth import Auth
from sandbox_server.features.auth.credentials import Credentials
from sandbox_server.features.auth.sessions import SessionGuard, SignInSessions

__all__ = ["Auth", "Credentials", "SessionGuard", "SignInSessions"]
