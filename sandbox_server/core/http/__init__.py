"""The HTTP surface: operations as Starlette routes, in the contract's envelope."""

from sandbox_server.core.http.app import create_app, create_routes

__all__ = ["create_app", "create_routes"]
