"""Events of the egress process, as it tells them."""

from typing import Any


def refused(host: str = "evil.example", **more: Any) -> dict[str, Any]:
    """A refusal."""
    event: dict[str, Any] = {
        "event": "refused",
        "at": 1.0,
        "destination": f"{host}:443",
        "host": host,
        "port": 443,
        "protocol": "tls",
        "uid": 1000,
        "inode": 0,
        "request": "",
        "rule": "default",
        "reason": "no",
    }
    return event | more


def flow(number: int = 1, host: str = "a.example", **more: Any) -> dict[str, Any]:
    """A flow, as lists have it."""
    found = refused(host) | {"id": number, "address": "203.0.113.5", "learned": False, "sent": 0, "received": 0, "rule": "docs"}
    return {name: value for name, value in found.items() if name not in ("event", "at", "reason")} | more


def opened(number: int = 1, host: str = "a.example", **more: Any) -> dict[str, Any]:
    """A flow that opens."""
    return {"event": "open", "at": 1.0, **flow(number, host, **more)}


def closed(number: int = 1, host: str = "a.example", **more: Any) -> dict[str, Any]:
    """A flow that ends."""
    return {"event": "close", "at": 2.0, "seconds": 1.0, "reason": "", **flow(number, host, **more)}
