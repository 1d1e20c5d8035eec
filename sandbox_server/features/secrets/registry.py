"""The secrets and their values, which this process and the egress process hold in memory alone: each gives them to the other again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Protocol, Self

from sandbox_server.core import Failure, InvalidArgument, NotFound, ResourceExhausted, Tasks, Unavailable
from sandbox_server.core.tasks import in_thread
from sandbox_server.drivers.egress.bound_secrets import MAX_SECRETS, check_value
from sandbox_server.drivers.egress.secret_users import SecretUsers
from sandbox_server.drivers.secrets.definition import (
    DefinitionError,
    PlaceholderOf,
    SecretDefinition,
    SourceKind,
    binding_document,
    check_distinct,
    read_definition,
)
from sandbox_server.drivers.secrets.sources import FetchedValue, ValueUnavailable
from sandbox_server.drivers.secrets.widening import widened
from sandbox_server.drivers.storage.json_file import JsonFile

log = logging.getLogger(__name__)

type Fetch = Callable[[SecretDefinition], Awaitable[FetchedValue]]
"""Gets a value from its source. Raises ValueUnavailable."""
type Event = Mapping[str, Any]


class EgressAsk(Protocol):
    """What the registry needs of the egress process."""

    off: str

    async def ask(self, op: str, **fields: object) -> dict[str, Any]:
        """Have one thing done. Raises Failure."""


class SecretRegistry:
    """Knows the secrets; an asynchronous context manager.

    `users` are those whose connections may get values. `trust` is told the authority by which bound hosts are opened; `changed` gets the
    variables with placeholders.
    """

    def __init__(
        self,
        egress: EgressAsk,
        file: JsonFile,
        declared: Sequence[SecretDefinition],
        placeholder_of: PlaceholderOf,
        users: SecretUsers,
        fetch: Fetch,
        trust: Callable[[str], Awaitable[None]],
        changed: Callable[[Mapping[str, str]], None],
    ) -> None:
        self._egress = egress
        self._file = file
        self._placeholder_of = placeholder_of
        self._users = users
        self._fetch = fetch
        self._trust = trust
        self._changed = changed
        self._definitions = {each.name: each for each in (*_stored(file, placeholder_of), *declared)}
        self._values: dict[str, str] = {}
        self._used: dict[str, float] = {}
        self._changing = asyncio.Lock()
        self._tasks = Tasks()

    async def __aenter__(self) -> Self:
        self._tell()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self._tasks.close()

    def listed(self) -> list[tuple[SecretDefinition, bool, float | None]]:
        """Return every secret, whether its value is here, and when it was used last."""
        return [(each, self._has_value(each), self._used.get(each.name)) for _, each in sorted(self._definitions.items())]

    def get(self, name: str) -> SecretDefinition:
        """Return a secret. Raises NotFound."""
        if found := self._definitions.get(name):
            return found
        raise NotFound(f"there is no secret {name!r}", name=name)

    async def put(self, name: str, document: Mapping[str, Any], value: str | None) -> SecretDefinition:
        """Define a secret, or replace one. Raises InvalidArgument and others.

        Without a value one from the API keeps its own, unless somebody could get it whom the known definition does not give it to.
        """
        async with self._changing:
            known = self._definitions.get(name)
            if known and known.declared:
                raise InvalidArgument(f"{name} is declared by the container's SECRETS", field="name")
            if known is None and len(self._definitions) >= MAX_SECRETS:
                raise ResourceExhausted(f"at most {MAX_SECRETS} secrets are kept", limit=MAX_SECRETS)
            definition = self._read(name, document, value)
            if definition.source.kind is SourceKind.API and value is None:
                self._require_kept(known, definition)
            self._definitions[name] = definition
            if value is not None:
                self._values[name] = value
            elif definition.source.kind is not SourceKind.API:
                self._values.pop(name, None)
            await self._inform()
            await self._keep()  # at last: what a restart reads is never wider than what the egress process has the value for
            return definition

    def _require_kept(self, known: SecretDefinition | None, definition: SecretDefinition) -> None:
        """Raise InvalidArgument where there is no value to keep, or the definition gives it to somebody new."""
        if known is None or definition.name not in self._values:
            raise InvalidArgument("value: is missing", field="value")
        if field := widened(known, definition):
            raise InvalidArgument(f"{field}: gives the value to more than before: give the value again", field=field)

    async def remove(self, name: str) -> None:
        """Forget a secret. Raises NotFound, and InvalidArgument for one that the container declares."""
        async with self._changing:
            if self.get(name).declared:
                raise InvalidArgument(f"{name} is declared by the container's SECRETS", field="name")
            del self._definitions[name]
            self._values.pop(name, None)
            await self._keep()
            await self._inform()

    async def forget(self) -> None:
        """Forget every secret, those that the container declares too. The egress process is told when it starts again."""
        async with self._changing:
            for known in (self._definitions, self._values, self._used):
                known.clear()
            await in_thread(self._file.write, {})
            self._tell()

    async def value(self, name: str) -> str:
        """Return the value, from its source if it is not here. Raises NotFound and Unavailable."""
        definition = self.get(name)
        try:
            return self._values[name] if definition.source.kind is SourceKind.API else (await self._fetch(definition)).value
        except KeyError:
            raise Unavailable(f"the value of {name} was lost with the processes that held it: put it again", reason="lost") from None
        except ValueUnavailable as error:
            raise Unavailable(f"the value of {name} could not be fetched: {error}", reason="source") from None

    async def give(self) -> None:
        """Tell the egress process what holds; it may have been started again, as may this process."""
        async with self._changing:
            await self._give()
        authority = (await self._egress.ask("authority", make=False))["authority"]
        if authority:
            await self._trust(authority)

    def hear(self, event: Event) -> None:
        """Take an event of the egress process."""
        if event.get("event") == "authority":
            self._tasks.start(self._take_authority(), name="trust the egress authority")
        elif event.get("event") == "secret_needed":
            self._tasks.start(self._supply(str(event["name"])), name="fetch a secret")
        elif event.get("event") == "secret" and event.get("outcome") == "sent":
            self._used[str(event["name"])] = float(event["at"])

    def filled(self, name: str, at: float) -> None:
        """Note that a secret was filled into a page."""
        self._used[name] = at

    def _read(self, name: str, document: Mapping[str, Any], value: str | None) -> SecretDefinition:
        try:
            definition = read_definition(name, document, self._placeholder_of)
            others = [each for each in self._definitions.values() if each.name != name]
            check_distinct([*others, definition])
        except DefinitionError as error:
            raise InvalidArgument(str(error), field=error.field) from None
        if value is not None and definition.source.kind is not SourceKind.API:
            raise InvalidArgument("value: comes from the source", field="value")
        try:
            check_value(value) if value is not None else None
        except ValueError as error:
            raise InvalidArgument(str(error), field="value") from None
        return definition

    async def _keep(self) -> None:
        """Write the definitions down for a restart."""
        kept = {name: each.document() for name, each in self._definitions.items() if not each.declared}
        await in_thread(self._file.write, kept)

    async def _inform(self) -> None:
        """Tell programs the placeholders, and the egress process everything."""
        self._tell()
        if not self._egress.off:
            await self._give()
            await self._take_authority()

    async def _give(self) -> None:
        """Take the values from the API that the egress process alone knows, since this process was started, and give it all."""
        for name, value in (await self._egress.ask("values"))["values"].items():
            known = self._definitions.get(name)
            if known and known.source.kind is SourceKind.API:
                self._values.setdefault(name, value)
        bound = [each for each in self._definitions.values() if each.bindings]
        await self._egress.ask("secrets", secrets=[self._sent(each) for each in bound], users=self._users.document())

    def _sent(self, definition: SecretDefinition) -> dict[str, object]:
        return {
            "name": definition.name,
            "placeholder": definition.placeholder,
            "bindings": [binding_document(each) for each in definition.bindings],
            "value": self._values.get(definition.name),
        }

    async def _take_authority(self) -> None:
        if authority := (await self._egress.ask("authority", make=False))["authority"]:
            await self._trust(authority)

    async def _supply(self, name: str) -> None:
        """Give the egress process a value that it needs now."""
        try:
            found = await self._fetched(name)
            await self._egress.ask("secret", name=name, value=found.value, until=found.until)
        except (Failure, ValueUnavailable) as error:
            log.warning("the secret %s could not be fetched: %s", name, error)
            try:
                await self._egress.ask("secret", name=name, problem=str(error))
            except Failure as failure:
                log.warning("%s", failure.message)

    async def _fetched(self, name: str) -> FetchedValue:
        definition = self.get(name)
        if definition.source.kind is SourceKind.API:
            return FetchedValue(await self.value(name), None)
        found = await self._fetch(definition)
        try:
            return replace(found, value=check_value(found.value))
        except ValueError as error:
            raise ValueUnavailable(str(error)) from None

    def _has_value(self, definition: SecretDefinition) -> bool:
        return definition.source.kind is not SourceKind.API or definition.name in self._values

    def _tell(self) -> None:
        self._changed({each.variable: each.placeholder for each in self._definitions.values() if each.variable})


def _stored(file: JsonFile, placeholder_of: PlaceholderOf) -> list[SecretDefinition]:
    """Read the definitions of an earlier process; one that cannot be read any more is left out."""
    try:
        kept = file.read() or {}
        return [read_definition(name, each, placeholder_of) for name, each in kept.items()]
    except (OSError, ValueError, AttributeError, TypeError):
        log.exception("the definitions of secrets cannot be read")
        return []
