"""Sandboxes as containers of Docker, or of an engine that speaks its API.

A sandbox is one container and one volume, both called `tandem-<id>`. All that the fleet knows of it is in the container's labels.
"""

import asyncio
import io
import json
import re
import tarfile
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path
from typing import Any

import aiodocker
import aiohttp
from pydantic import ValidationError

from tandem_fleet.backends.backend import Finding, Found, Order, Phase
from tandem_fleet.errors import EngineError, EngineUnreachableError
from tandem_fleet.sandboxes import FLEET_LABEL as FLEET
from tandem_fleet.sandboxes import ID_LABEL as ID
from tandem_fleet.sandboxes import NAME_LABEL as NAME
from tandem_fleet.sandboxes import SPEC_LABEL as SPEC
from tandem_fleet.sandboxes import TENANT_LABEL as TENANT
from tandem_fleet.sandboxes import Spec

PORT = "8080/tcp"
KEYS = "/etc/tandem/jwks.json"
STOP_SECONDS = 45
FREEZES = 20
"""How often a freeze is tried at most."""
FREEZE_PAUSE = 0.25
"""Seconds from one try to the next."""
SHARED_MEMORY = 1 << 30
NOTED = {"create", "start", "die", "pause", "unpause", "destroy"}
"""Events of a container that change what it is."""
_PHASES = {"created": Phase.CREATED, "running": Phase.RUNNING, "restarting": Phase.RUNNING, "paused": Phase.PAUSED}
_EXIT = re.compile(r"Exited \((\d{1,3})\)")
_NAMED = "is already in use by container"
_NOT_FROZEN = "unable to freeze"


def seccomp_profile() -> str:
    """The profile of the isolation level `box`, as JSON: in an installed package beside this module, in a checkout in `deploy`."""
    packed = resources.files("tandem_fleet.backends") / "seccomp.json"
    if packed.is_file():
        return packed.read_text("utf-8")
    return (Path(__file__).parents[3] / "deploy/seccomp/tandem.json").read_text("utf-8")


@contextmanager
def refusals(*, but: tuple[int, ...] = ()) -> Iterator[None]:
    """Raise the engine's refusals as ours, but those of an HTTP status that means that there is nothing to do."""
    try:
        yield
    except aiodocker.DockerError as error:
        if error.status not in but:
            raise EngineError(f"the engine refused: {error.message}") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        raise EngineUnreachableError(f"the engine does not answer: {error}") from error


def archive(path: str, content: bytes) -> bytes:
    """A tar file that holds one file and the folders above it, readable by everybody."""
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        parts = Path(path.lstrip("/"))
        for folder in list(parts.parents)[-2::-1]:
            entry = tarfile.TarInfo(str(folder))
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        entry = tarfile.TarInfo(str(parts))
        entry.size, entry.mode = len(content), 0o644
        tar.addfile(entry, io.BytesIO(content))
    return written.getvalue()


class DockerBackend:
    """Docker on one host, with the containers of one fleet.

    With `network` the sandboxes are on that network of the engine and reached by their addresses there. Without it each is published on
    a free port of this machine's loopback.
    """

    def __init__(self, fleet: str, *, network: str = "", url: str | None = None) -> None:
        self._fleet = fleet
        self._network = network
        self._url = url
        self._opened: aiodocker.Docker | None = None
        self._apparmor: bool | None = None

    @property
    def _docker(self) -> aiodocker.Docker:
        if self._opened is None:
            with refusals():
                self._opened = aiodocker.Docker(self._url)
        return self._opened

    async def create(self, order: Order) -> None:
        """See `Backend.create`. Its keys are put into it as long as it was not started."""
        if order.spec.level == "restricted":
            raise EngineError("the level `restricted` is for Kubernetes: take `plain`")
        with refusals():
            config = container_config(self._fleet, order, self._network, apparmor=await self._has_apparmor())
            try:
                await self._docker.containers.create(config, name=_name(order.id))
            except aiodocker.DockerError as error:
                if error.status != 409 or _NAMED not in error.message:
                    raise
        found = await self.find(order.id)
        if found is None:
            raise EngineError(f"a container {_name(order.id)} exists that is not of this fleet")
        if found.phase == Phase.CREATED:
            with refusals():
                await self._container(order.id).put_archive("/", archive(KEYS, order.keys.encode()))

    async def start(self, sandbox: str) -> None:
        """See `Backend.start`."""
        found = await self.find(sandbox)
        with refusals(but=(304,)):
            if found and found.phase == Phase.PAUSED:
                await self._container(sandbox).unpause()
            else:
                await self._container(sandbox).start()

    async def stop(self, sandbox: str) -> None:
        """See `Backend.stop`."""
        found = await self.find(sandbox)
        with refusals(but=(304,)):
            if found and found.phase == Phase.PAUSED:
                await self._container(sandbox).unpause()
            await self._container(sandbox).stop(t=STOP_SECONDS, timeout=STOP_SECONDS + 30)

    async def pause(self, sandbox: str) -> None:
        """See `Backend.pause`. A freeze that came while its processes were forking has failed and is tried again."""
        left = FREEZES
        while left:
            left -= 1
            try:
                with refusals():
                    await self._container(sandbox).pause()
                return
            except EngineError as error:
                if not left or _NOT_FROZEN not in str(error):
                    raise
            await asyncio.sleep(FREEZE_PAUSE)

    async def delete(self, sandbox: str) -> None:
        """See `Backend.delete`."""
        with refusals(but=(404,)):
            await self._container(sandbox).delete(force=True, v=True)
        with refusals(but=(404,)):
            volumes: Any = self._docker.volumes
            await (await volumes.get(_name(sandbox))).delete()

    async def list_all(self) -> list[Found]:
        """See `Backend.list_all`."""
        return await self._list(f"{FLEET}={self._fleet}")

    async def find(self, sandbox: str) -> Found | None:
        """See `Backend.find`."""
        found = await self._list(f"{FLEET}={self._fleet}", f"{ID}={sandbox}")
        return found[0] if found else None

    async def _list(self, *labels: str) -> list[Found]:
        with refusals():
            listed = await self._docker.containers.list(all=True, filters=json.dumps({"label": list(labels)}))
        return [found for one in listed if (found := read_container(one._container, self._network))]

    async def watch(self) -> AsyncIterator[str]:
        """See `Backend.watch`."""
        with refusals():
            source: Any = self._docker.events
            events = source.subscribe(filters=json.dumps({"type": ["container"], "label": [f"{FLEET}={self._fleet}"]}))
            while (event := await events.get()) is not None:
                sandbox = event.get("Actor", {}).get("Attributes", {}).get(ID)
                if sandbox and event.get("Action") in NOTED:
                    yield sandbox

    async def logs(self, sandbox: str, *, lines: int, follow: bool) -> AsyncIterator[bytes]:
        """See `Backend.logs`."""
        with refusals():
            if not follow:
                for line in await self._container(sandbox).log(stdout=True, stderr=True, tail=lines):
                    yield line.encode()
                return
            async for line in self._container(sandbox).log(stdout=True, stderr=True, tail=lines, follow=True):
                yield line.encode()

    async def examine(self) -> list[Finding]:
        """See `Backend.examine`."""
        with refusals():
            info = await self._docker.system.info()
        limits = [
            name
            for name, key in (("memory", "MemoryLimit"), ("processors", "CpuCfsQuota"), ("processes", "PidsLimit"))
            if not info.get(key)
        ]
        secure = [option.partition(",")[0].removeprefix("name=") for option in info.get("SecurityOptions") or ()]
        return [
            Finding("engine", True, f"{info.get('OperatingSystem')}, engine {info.get('ServerVersion')}, {info.get('NCPU')} processors"),
            Finding("limits", not limits, f"the engine limits no {', '.join(limits)}" if limits else "memory, processors and processes"),
            Finding(
                "seccomp", "seccomp" in secure, ", ".join(secure) or "none", "" if "seccomp" in secure else "use an engine with seccomp"
            ),
        ]

    async def close(self) -> None:
        """See `Backend.close`."""
        if self._opened:
            await self._opened.close()
            self._opened = self._apparmor = None

    def _container(self, sandbox: str) -> Any:
        return self._docker.containers.container(_name(sandbox))

    async def _has_apparmor(self) -> bool:
        if self._apparmor is None:
            info = await self._docker.system.info()
            self._apparmor = any(option.startswith("name=apparmor") for option in info.get("SecurityOptions") or ())
        return self._apparmor


def _name(sandbox: str) -> str:
    return f"tandem-{sandbox}"


def container_config(fleet: str, order: Order, network: str, *, apparmor: bool) -> dict[str, Any]:
    """What the engine is told to make: `docker run`'s flags of docs/start.md, as its API takes them."""
    spec = order.spec
    host: dict[str, Any] = {
        "CapDrop": ["NET_RAW"],
        "Memory": spec.memory_mb << 20,
        "Mounts": [
            {"Type": "volume", "Source": _name(order.id), "Target": "/sandbox", "VolumeOptions": {"Labels": {FLEET: fleet, ID: order.id}}}
        ],
        "PidsLimit": spec.processes,
        "ShmSize": SHARED_MEMORY,
    }
    if spec.cpus:
        host["NanoCpus"] = int(spec.cpus * 1e9)
    if spec.runtime:
        host["Runtime"] = spec.runtime
    if spec.level == "box":
        host |= {
            "SecurityOpt": [f"seccomp={seccomp_profile()}", *(["apparmor=unconfined"] if apparmor else [])],
            "MaskedPaths": [],
            "ReadonlyPaths": [],
        }
    host |= {"NetworkMode": network} if network else {"PortBindings": {PORT: [{"HostIp": "127.0.0.1", "HostPort": ""}]}}
    variables = (
        dict(order.environment)
        | spec.environment
        | {
            "JWT_JWKS_FILE": KEYS,
            "JWT_AUDIENCE": order.id,
            "JWT_ISSUER": order.issuer,
            "IDENTITY_SANDBOX_ID": order.id,
        }
    )
    return {
        "Image": spec.image,
        "Hostname": order.name,
        "Env": [f"{name}={value}" for name, value in variables.items()],
        "ExposedPorts": {PORT: {}},
        "Labels": spec.labels | {FLEET: fleet, ID: order.id, NAME: order.name, TENANT: order.tenant, SPEC: spec.model_dump_json()},
        "StopTimeout": STOP_SECONDS,
        "HostConfig": host,
    }


def read_container(listed: Mapping[str, Any], network: str) -> Found | None:
    """What the engine says of a container in its list; None where its labels are not whole."""
    labels = listed.get("Labels") or {}
    try:
        spec = Spec.model_validate_json(labels[SPEC])
        words = {"id": labels[ID], "name": labels[NAME], "tenant": labels[TENANT]}
    except (KeyError, ValidationError):
        return None
    phase = _PHASES.get(str(listed.get("State")), Phase.STOPPED)
    ended = _EXIT.match(str(listed.get("Status"))) if phase == Phase.STOPPED else None
    return Found(
        **words,
        spec=spec,
        phase=phase,
        created_at=datetime.fromtimestamp(listed["Created"], UTC),
        address=_address(listed, network) if phase in (Phase.RUNNING, Phase.PAUSED) else "",
        reason=f"it ended with exit code {ended[1]}" if ended else "",
    )


def _address(listed: Mapping[str, Any], network: str) -> str:
    if network:
        joined = ((listed.get("NetworkSettings") or {}).get("Networks") or {}).get(network) or {}
        return f"http://{joined['IPAddress']}:8080" if joined.get("IPAddress") else ""
    ports = [port["PublicPort"] for port in listed.get("Ports") or () if port.get("PrivatePort") == 8080 and port.get("PublicPort")]
    return f"http://127.0.0.1:{ports[0]}" if ports else ""
