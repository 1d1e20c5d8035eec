"""What a sandbox is bound to after its start: a tenant, a task and labels."""

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sandbox_server.core.entity_tags import require_version
from sandbox_server.core.errors import Conflict
from sandbox_server.drivers.storage.json_file import JsonFile

_ID_BYTES = 8


@dataclass(frozen=True, slots=True)
class SandboxBinding:
    """Whom the sandbox works for."""

    tenant: str | None = None
    task: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    bound_at: float | None = None
    """Seconds since the epoch; None for a sandbox that is not bound."""
    version: int = 0
    """How often it has changed."""

    @property
    def etag(self) -> str:
        """The version as an entity tag (RFC 9110, section 8.8.3)."""
        return f'"{self.version}"'

    def same_as(self, other: "SandboxBinding") -> bool:
        """Whether it says the same of tenant, task and labels."""
        return (self.tenant, self.task, dict(self.labels)) == (other.tenant, other.task, dict(other.labels))


class BindingStore:
    """The sandbox's id and binding, in a file of the user control: outside the box, and in no checkpoint."""

    def __init__(self, file: JsonFile, given_id: str | None = None, now: Callable[[], float] = time.time) -> None:
        self._file = file
        self._given_id = given_id
        self._now = now
        self._state: tuple[str, SandboxBinding] | None = None
        self._changing = threading.Lock()

    @property
    def sandbox_id(self) -> str:
        """The id: the given one, else a random one that the first use makes."""
        return self._loaded()[0]

    @property
    def current(self) -> SandboxBinding:
        """The binding as it is now."""
        return self._loaded()[1]

    def bind(self, wanted: SandboxBinding, if_match: str | None = None) -> SandboxBinding:
        """Bind the sandbox, and return the new binding. The same once more changes nothing.

        Raises Conflict for another tenant, PreconditionRequired to change a binding without `if_match`, and
        PreconditionFailed for one that names another version.
        """
        with self._changing:
            sandbox_id, current = self._load()
            if if_match is not None:
                require_version(if_match, current.etag, "binding")
            if current.version and wanted.same_as(current):
                return current
            if current.tenant is not None and wanted.tenant != current.tenant:
                raise Conflict(
                    "a sandbox that is bound to a tenant keeps it: start another one", hint="DELETE it, and start a new container"
                )
            if current.version:
                require_version(if_match, current.etag, "binding")
            made = replace(wanted, bound_at=self._now(), version=current.version + 1)
            self._write(sandbox_id, made)
        return made

    def forget(self) -> None:
        """Read the file at the next use, and take the id from there alone."""
        with self._changing:
            self._given_id = self._state = None

    def _loaded(self) -> tuple[str, SandboxBinding]:
        if self._state is None:
            with self._changing:
                return self._load()
        return self._state

    def _load(self) -> tuple[str, SandboxBinding]:
        if self._state is None:
            found: dict[str, Any] = self._file.read() or {}
            sandbox_id = self._given_id or found.get("id") or secrets.token_hex(_ID_BYTES)
            binding = SandboxBinding(**found["binding"]) if "binding" in found else SandboxBinding()
            self._write(sandbox_id, binding)
            return sandbox_id, binding
        return self._state

    def _write(self, sandbox_id: str, binding: SandboxBinding) -> None:
        self._file.write({"id": sandbox_id, "binding": asdict(binding)})
        self._state = (sandbox_id, binding)
