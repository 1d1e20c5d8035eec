"""What a token may allow in a sandbox (docs/gateway.md)."""

SCOPES = frozenset({"view", "control", "shell", "files", "browser", "code", "admin"})
