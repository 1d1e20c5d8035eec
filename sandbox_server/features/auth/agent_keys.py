"""Keys for agents: make one, list them, revoke one."""

import time
from collections.abc import Callable
from typing import Annotated

from pydantic import Field

from sandbox_server.core import Call, Model, PermissionDenied, Scope, operation
from sandbox_server.core.identity import EXPIRES
from sandbox_server.core.tasks import in_access_thread
from sandbox_server.drivers.credentials.agent_keys import AgentKey, AgentKeys
from sandbox_server.drivers.credentials.names import is_owner
from sandbox_server.features.auth.credentials import KEY_SCOPES

MAX_KEY_SECONDS = 30 * 86400.0


class CreateKey(Model):
    label: str = Field(default="", max_length=80)
    """A name for the list of keys, such as that of the program."""
    ttl: Annotated[float, Field(ge=60, le=MAX_KEY_SECONDS)] = 7 * 86400.0
    """Seconds until the key expires, at most 30 days."""


class ListedAgentKey(Model):
    key_id: str
    name: str
    """The caller's name in the record and in lists, while the key is used."""
    label: str
    scopes: list[Scope]
    created_at: float
    expires_at: float | None
    """Seconds since the epoch, as `created_at`; null for the key that is there from the start, which does not expire."""
    created_by: str


class NewAgentKey(ListedAgentKey):
    key: str
    """The key, to send as `Authorization: Bearer`. It is shown only once."""


class KeyRef(Model):
    key_id: str


class AgentKeyList:
    """The keys of agents."""

    tag = "auth"

    def __init__(self, keys: AgentKeys, now: Callable[[], float] = time.time) -> None:
        self._keys = keys
        self._now = now

    @operation("POST /v1/keys", scope="admin", decides=True)
    async def create_key(self, request: CreateKey, call: Call) -> NewAgentKey:
        """Make a key for an agent. It allows everything but `admin`, until it expires or is revoked, and decides nothing for people.

        A caller with a signed token makes keys that end with that token, and allow no more than it does.
        """
        if call.caller.profiles is not None:
            raise PermissionDenied("a token that names browser profiles makes no keys, which would be for all of them")
        if call.caller.lanes is not None:
            raise PermissionDenied("a token that names lanes makes no keys, which would be for all of them")
        scopes = KEY_SCOPES & call.caller.scopes
        key, text = await in_access_thread(
            self._keys.create, scopes, self._seconds(request.ttl, call), caller=call.caller.name, label=request.label
        )
        return NewAgentKey(**_described(key).model_dump(), key=text)

    @operation("GET /v1/keys", scope="admin")
    async def list_keys(self) -> list[ListedAgentKey]:
        """List the valid keys, without the keys themselves."""
        return [_described(key) for key in self._keys.all()]

    @operation("DELETE /v1/keys/{key_id}", scope="admin", decides=True)
    async def revoke_key(self, request: KeyRef) -> None:
        """Revoke a key. It is refused from the next request on.

        In the place of the key that is there from the start, the container's next start makes another, or takes the setting's again.
        """
        await in_access_thread(self._keys.revoke, request.key_id)

    def _seconds(self, wished: float, call: Call) -> float:
        """Return the lifetime: a token's bearer leaves nothing behind that outlives the token. The owner may."""
        ends = call.headers.get(EXPIRES)
        if not ends or is_owner(call.caller.name):
            return wished
        return min(wished, max(1.0, float(ends) - self._now()))


def _described(key: AgentKey) -> ListedAgentKey:
    return ListedAgentKey.model_validate(
        {
            "key_id": key.id,
            "name": key.name,
            "label": key.label,
            "scopes": key.scopes,
            "created_at": key.created,
            "expires_at": key.expires,
            "created_by": key.caller,
        }
    )
