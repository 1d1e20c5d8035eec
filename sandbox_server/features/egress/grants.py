"""Temporary rules in front of the policy: what a person allowed or denied for minutes, or for a task."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from sandbox_server.core import InvalidArgument, Model, NotFound, ResourceExhausted, Unavailable
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.egress.egress_client import EgressClient
from sandbox_server.drivers.egress.host_names import parse_host
from sandbox_server.drivers.egress.policy_document import EgressPolicyError
from sandbox_server.drivers.egress.protected_addresses import Address
from sandbox_server.drivers.storage.json_file import JsonFile

MAX_GRANTS = 200
USUAL_PORTS = (80, 443)
"""The ports of a rule that names none."""

type GrantAction = Literal["allow", "deny"]
type EgressProtocol = Literal["http", "tls", "tcp"]
type HostText = Annotated[str, Field(min_length=1, max_length=253)]
type PortNumber = Annotated[int, Field(ge=1, le=65535)]
type TaskName = Annotated[str, Field(min_length=1, max_length=256)]


class EgressDestination(Model):
    host: HostText
    """A name, or an address."""
    port: PortNumber | None = None
    """Null: 80 and 443."""
    protocol: EgressProtocol | None = None
    """What the connection carries. Null: HTTP on port 80, TLS on 443, anything on other ports."""


@dataclass(frozen=True, slots=True)
class GrantScope:
    """What of a destination's traffic a temporary rule is for."""

    method: str = ""
    target: str = ""
    """The whole path with its query, of a request without a body; empty for all requests."""
    users: tuple[int, ...] = ()
    """The users whose programs' connections are meant; empty: everybody's."""


EVERYBODY = GrantScope()


class EgressGrant(Model):
    id: str
    rule: str
    """Its name as a rule, in connections and refusals."""
    action: GrantAction
    host: str
    port: int | None
    protocol: EgressProtocol | None
    methods: list[str] = Field(default_factory=list)
    """The HTTP methods that it is for; empty for all."""
    targets: list[str] = Field(default_factory=list)
    """The paths with their queries that it is for, of requests without a body; empty for all."""
    users: list[int] = Field(default_factory=list)
    """The users whose programs it is for, by their ids; empty for all."""
    until: float | None
    """Seconds since the epoch; null: while its task runs."""
    task: str | None
    by: str
    """The person who granted it."""
    at: float


type GrantChanged = Callable[[str, Literal["grant", "revoke"], EgressGrant], None]
"""Is told who put a rule in force or withdrew it."""


class EgressGrants:
    """Keeps the rules over restarts, and gives them to the egress process."""

    def __init__(
        self, file: JsonFile, client: EgressClient, changed: GrantChanged = lambda *_: None, now: Callable[[], float] = time.time
    ) -> None:
        self._file = file
        self._client = client
        self._changed = changed
        self._now = now
        self._grants: list[EgressGrant] | None = None
        self._changing = asyncio.Lock()

    def all(self) -> list[EgressGrant]:
        """Return those that hold, the newest first."""
        now = self._now()
        return [grant for grant in self._loaded() if grant.until is None or grant.until > now]

    async def add(
        self,
        place: EgressDestination,
        by: str,
        *,
        action: GrantAction = "allow",
        until: float | None = None,
        task: str | None = None,
        scope: GrantScope = EVERYBODY,
    ) -> EgressGrant:
        """Put a rule in force, in the place of an earlier one about the same. Raises Unavailable, and then nothing has changed."""
        async with self._changing:
            kept = [grant for grant in self.all() if not _about(grant, place, task, scope)]
            if len(kept) >= MAX_GRANTS:
                raise ResourceExhausted(f"at most {MAX_GRANTS} temporary rules hold at once: remove some", limit=MAX_GRANTS)
            made = self._made(place, by, action, until, task, scope)
            await self._replace([made, *kept], lambda: self._changed(by, "grant", made))
        return made

    async def remove(self, grant: str, by: str) -> None:
        """Withdraw one; raises NotFound and Unavailable."""
        async with self._changing:
            found = next((each for each in self.all() if each.id == grant), None)
            if found is None:
                raise NotFound(f"there is no temporary rule {grant!r}", id=grant)
            await self._replace([each for each in self.all() if each is not found], lambda: self._changed(by, "revoke", found))

    async def give(self) -> None:
        """Give the egress process, which has just come, the rules that hold. Raises Unavailable."""
        async with self._changing:
            await self._client.ask("grants", rules=[rule_of(grant) for grant in self.all()])

    def _made(
        self,
        place: EgressDestination,
        by: str,
        action: GrantAction,
        until: float | None,
        task: str | None,
        scope: GrantScope,
    ) -> EgressGrant:
        numbers = [int(grant.id[1:]) for grant in self._loaded()]
        identity = f"g{max(numbers, default=0) + 1}"
        return EgressGrant(
            id=identity,
            rule=f"approval {identity}",
            action=action,
            host=host_of(place.host),
            port=place.port,
            protocol=place.protocol,
            methods=[scope.method] if scope.method else [],
            targets=[scope.target] if scope.target else [],
            users=list(scope.users),
            until=until,
            task=task,
            by=by,
            at=self._now(),
        )

    async def _replace(self, grants: list[EgressGrant], changed: Callable[[], None]) -> None:
        """Put rules in force and keep them; `changed` is called once they are in force, whether they can be kept or not."""
        try:
            await self._client.ask("grants", rules=[rule_of(grant) for grant in grants])
        except EgressPolicyError as error:
            raise InvalidArgument(f"this is no rule: {error}") from None
        self._grants = grants
        changed()
        try:
            await in_thread(self._file.write, [grant.model_dump() for grant in grants])
        except OSError as error:
            raise Unavailable(f"the rule holds, and cannot be kept: {error.strerror}") from None

    def _loaded(self) -> list[EgressGrant]:
        if self._grants is None:
            self._grants = _read(self._file)
        return self._grants


def rule_of(grant: EgressGrant) -> dict[str, Any]:
    """Return a grant as a rule of the policy."""
    rule = destination_rule(EgressDestination(host=grant.host, port=grant.port, protocol=grant.protocol), grant.action)
    more: Mapping[str, Any] = {name: getattr(grant, name) for name in ("methods", "targets", "users", "task", "until")}
    return {"name": grant.rule, **rule, **{name: value for name, value in more.items() if value}}


def destination_rule(place: EgressDestination, action: GrantAction) -> dict[str, Any]:
    """Return the fields of a rule for one destination."""
    host = _parsed(place.host)
    named: dict[str, Any] = {"hosts": [host]} if isinstance(host, str) else {"cidrs": [f"{host}/{host.max_prefixlen}"]}
    protocols = {"protocols": [place.protocol]} if place.protocol else {}
    return {"action": action, **named, "ports": [place.port] if place.port else list(USUAL_PORTS), **protocols}


def host_of(text: str) -> str:
    """Return an address in its usual form, or a name in normal form; raises InvalidArgument."""
    return str(_parsed(text))


def _parsed(text: str) -> Address | str:
    try:
        return parse_host(text)
    except ValueError as error:
        raise InvalidArgument(f"host is no name or address: {error}", field="host") from None


def _about(grant: EgressGrant, place: EgressDestination, task: str | None, scope: GrantScope) -> bool:
    same = (grant.host, grant.port, grant.protocol, grant.task) == (host_of(place.host), place.port, place.protocol, task)
    return same and GrantScope("".join(grant.methods), "".join(grant.targets), tuple(grant.users)) == scope


def _read(file: JsonFile) -> list[EgressGrant]:
    """Read the file; what is malformed grants nothing."""
    try:
        return [EgressGrant.model_validate(each) for each in file.read() or []]
    except (OSError, ValueError, TypeError, ValidationError):
        return []
