"""What the control socket does with secrets, for the API alone.

| request | answer |
|---|---|
| `{"op": "secrets", "secrets": [{"name": "x", "placeholder": "...", "bindings": [...], "value": "..."}], "users": {...}}` | `{"ok": {}}` |
| `{"op": "secret", "name": "x", "value": "...", "until": 1.5, "problem": ""}` | `{"ok": {"awaited": true}}` |
| `{"op": "values"}` | the values, for an API that was started again |
| `{"op": "authority", "make": false}` | `{"ok": {"authority": "PEM"}}`, or null where none was made |

`secrets` takes the place of all, with the user ids whose connections may get them: `{"programs": [1000, 0], "browser": 991}`. `secret`
answers an event `secret_needed`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from sandbox_server.drivers.egress.secret_users import read_users
from sandbox_server.egress.credential_broker import CredentialBroker

type Operations = Mapping[str, Callable[[Mapping[str, Any]], Mapping[str, object]]]


def secret_operations(broker: CredentialBroker) -> Operations:
    """Return the operations by name."""

    def replace(request: Mapping[str, Any]) -> Mapping[str, object]:
        secrets = request["secrets"]
        if not isinstance(secrets, list) or not all(isinstance(each, dict) for each in secrets):
            raise TypeError("secrets is a list of objects")
        broker.replace(secrets, read_users(request["users"]))
        return {}

    def give(request: Mapping[str, Any]) -> Mapping[str, object]:
        value = request.get("value")
        return {"awaited": broker.give(str(request["name"]), value, request.get("until"), str(request.get("problem") or ""))}

    def authority(request: Mapping[str, Any]) -> Mapping[str, object]:
        makes = request.get("make", True) or broker.has_authority
        return {"authority": broker.authority().pem if makes else None}

    return {"secrets": replace, "secret": give, "values": lambda _: {"values": broker.values()}, "authority": authority}
