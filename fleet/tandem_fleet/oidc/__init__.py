"""People who sign in by an OpenID provider (OpenID Connect Core 1.0)."""
