"""What Docker is told to make, and how its list is read. tests/image/test_fleet.py runs it against a real engine."""

import io
import json
import tarfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import aiodocker
import pytest
from aiohttp import web
from tandem_fleet.backends.backend import Order, Phase
from tandem_fleet.backends.docker import KEYS, DockerBackend, archive, container_config, read_container, refusals
from tandem_fleet.errors import EngineError, EngineUnreachableError
from tandem_fleet.sandboxes import Spec

ORDER = Order(
    "a1", "work", "default", Spec(image="image", memory_mb=512, cpus=1.5, environment={"A": "b"}, labels={"team": "x"}), "{}", "issuer"
)


def listed(**values: Any) -> dict[str, Any]:
    """A container in the engine's list."""
    labels = container_config("default", ORDER, "", apparmor=False)["Labels"]
    return {"Labels": labels, "State": "running", "Status": "Up 2 seconds", "Created": 1_700_000_000, "Ports": []} | values


@asynccontextmanager
async def engine(answer: Callable[[web.Request], Awaitable[web.Response]]) -> AsyncIterator[DockerBackend]:
    """A backend whose engine answers as `answer` says."""
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    backend = DockerBackend("default", url=f"http://127.0.0.1:{runner.addresses[0][1]}")
    yield backend
    await backend.close()
    await runner.cleanup()


def test_a_container_gets_limits_a_volume_and_nobody_elses_port() -> None:
    config = container_config("default", ORDER, "", apparmor=False)
    host = config["HostConfig"]
    assert (host["Memory"], host["NanoCpus"], host["PidsLimit"]) == (512 << 20, 1_500_000_000, 4096)
    assert host["PortBindings"]["8080/tcp"] == [{"HostIp": "127.0.0.1", "HostPort": ""}]
    assert [mount["Type"] for mount in host["Mounts"]] == ["volume"]
    assert not host.get("Privileged")
    assert "CapAdd" not in host


def test_a_container_takes_the_fleets_tokens_for_itself_alone() -> None:
    variables = dict(one.split("=", 1) for one in container_config("default", ORDER, "", apparmor=False)["Env"])
    assert (variables["JWT_JWKS_FILE"], variables["JWT_AUDIENCE"], variables["JWT_ISSUER"], variables["A"]) == (KEYS, "a1", "issuer", "b")


def test_what_the_fleet_sets_gives_way_to_the_creator() -> None:
    order = replace(ORDER, environment={"A": "fleet", "PREVIEW_DOMAIN": "a1.boxes.test", "JWT_AUDIENCE": "other"})
    variables = dict(one.split("=", 1) for one in container_config("default", order, "", apparmor=False)["Env"])
    assert (variables["A"], variables["PREVIEW_DOMAIN"], variables["JWT_AUDIENCE"]) == ("b", "a1.boxes.test", "a1")


@pytest.mark.parametrize("apparmor", [True, False])
def test_the_level_box_comes_with_its_profile(apparmor: bool) -> None:  # a case
    host = container_config("default", ORDER, "", apparmor=apparmor)["HostConfig"]
    profile, *more = host["SecurityOpt"]
    assert json.loads(profile.removeprefix("seccomp="))["defaultAction"] == "SCMP_ACT_ERRNO"
    assert more == (["apparmor=unconfined"] if apparmor else [])
    assert (host["MaskedPaths"], host["ReadonlyPaths"]) == ([], [])


def test_the_level_plain_comes_with_no_flag() -> None:
    plain = Order("a1", "work", "default", Spec(image="image", level="plain", runtime="runsc"), "{}", "issuer")
    host = container_config("default", plain, "", apparmor=True)["HostConfig"]
    assert not {"SecurityOpt", "MaskedPaths", "ReadonlyPaths"} & set(host)
    assert host["Runtime"] == "runsc"


@pytest.mark.anyio
async def test_the_level_restricted_is_refused() -> None:
    backend = DockerBackend("default", url="http://127.0.0.1:9")
    with pytest.raises(EngineError, match="restricted"):
        await backend.create(Order("a1", "work", "default", Spec(image="image", level="restricted"), "{}", "issuer"))
    await backend.close()


@pytest.mark.anyio
async def test_an_engine_is_asked_about_apparmor_once_per_connection() -> None:
    asked: list[str] = []
    made: list[list[str]] = []

    async def answer(request: web.Request) -> web.Response:
        path = request.path.rpartition("/")[2]
        asked.append(path)
        if path == "info":
            return web.json_response({"SecurityOptions": ["name=apparmor"]})
        if path == "create":
            made.append((await request.json())["HostConfig"]["SecurityOpt"])
            return web.json_response({"Id": "1"}, status=201)
        return web.json_response([listed(Id="1")] if path == "json" else {"ApiVersion": "1.44"})

    async with engine(answer) as backend:
        await backend.create(ORDER)
        await backend.create(ORDER)
        assert asked.count("info") == 1
        await backend.close()
        await backend.create(ORDER)
        assert asked.count("info") == 2
    assert [options[1:] for options in made] == [["apparmor=unconfined"]] * 3


@pytest.mark.anyio
@pytest.mark.parametrize(("said", "frozen"), [("OCI runtime pause failed: unable to freeze: unknown", True), ("is not running", False)])
async def test_only_a_freeze_that_failed_is_tried_again(said: str, frozen: bool, monkeypatch: pytest.MonkeyPatch) -> None:  # a case
    monkeypatch.setattr("tandem_fleet.backends.docker.FREEZE_PAUSE", 0.001)
    tries: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        if not request.path.endswith("/pause"):
            return web.json_response({"ApiVersion": "1.44"})
        tries.append(request.path)
        return web.Response(status=204) if len(tries) == 3 else web.json_response({"message": said}, status=500)

    async with engine(answer) as backend:
        with nullcontext() if frozen else pytest.raises(EngineError, match=said):
            await backend.pause("a1")
    assert len(tries) == (3 if frozen else 1)


@pytest.mark.anyio
async def test_a_freeze_that_never_succeeds_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tandem_fleet.backends.docker.FREEZE_PAUSE", 0.001)

    async def answer(request: web.Request) -> web.Response:
        pausing = request.path.endswith("/pause")
        return web.json_response({"message": "unable to freeze"}, status=500) if pausing else web.json_response({"ApiVersion": "1.44"})

    async with engine(answer) as backend:
        with pytest.raises(EngineError, match="unable to freeze"):
            await backend.pause("a1")


def test_on_a_network_nothing_is_published() -> None:
    host = container_config("default", ORDER, "inside", apparmor=False)["HostConfig"]
    assert (host["NetworkMode"], "PortBindings" in host) == ("inside", False)


def test_a_creators_label_is_not_taken_for_the_fleets() -> None:
    forged = Order("a1", "work", "default", Spec(image="image", labels={"tandem.tenant": "other"}), "{}", "issuer")
    assert container_config("default", forged, "", apparmor=False)["Labels"]["tandem.tenant"] == "default"


@pytest.mark.parametrize(
    ("state", "phase"), [("created", "created"), ("running", "running"), ("paused", "paused"), ("exited", "stopped"), ("dead", "stopped")]
)
def test_a_list_says_what_each_is(state: str, phase: str) -> None:
    found = read_container(listed(State=state), "")
    assert found
    assert (found.id, found.name, found.tenant, found.spec, found.phase) == ("a1", "work", "default", ORDER.spec, Phase(phase))
    assert found.created_at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def test_an_address_is_a_published_port_or_one_on_the_network() -> None:
    ports = [{"PrivatePort": 9}, {"PrivatePort": 8080, "PublicPort": 1234}]
    networks = {"Networks": {"inside": {"IPAddress": "10.0.0.2"}, "other": {"IPAddress": "10.1.0.2"}}}
    found = [read_container(listed(Ports=ports, NetworkSettings=networks), network) for network in ("", "inside", "none")]
    assert [one and one.address for one in found] == ["http://127.0.0.1:1234", "http://10.0.0.2:8080", ""]


def test_an_end_is_given_as_its_reason() -> None:
    found = read_container(listed(State="exited", Status="Exited (137) 5 seconds ago"), "")
    assert found
    assert found.reason == "it ended with exit code 137"


@pytest.mark.parametrize("labels", [None, {}, {"tandem.id": "a", "tandem.name": "n", "tandem.tenant": "t", "tandem.spec": "{"}])
def test_a_container_with_other_labels_is_not_ours(labels: dict[str, str] | None) -> None:
    assert read_container(listed(Labels=labels), "") is None


def test_what_is_put_into_a_container_is_readable_there() -> None:
    with tarfile.open(fileobj=io.BytesIO(archive(KEYS, b"{}"))) as tar:
        modes = {member.name: oct(member.mode) for member in tar}
        inside = tar.extractfile(KEYS.lstrip("/"))
        assert inside
        assert inside.read() == b"{}"
    assert modes == {"etc": "0o755", "etc/tandem": "0o755", "etc/tandem/jwks.json": "0o644"}


def test_refusals_and_silence_are_told_apart() -> None:
    with pytest.raises(EngineError, match="no such image") as refused, refusals():
        raise aiodocker.DockerError(404, "no such image")
    assert not isinstance(refused.value, EngineUnreachableError)
    with pytest.raises(EngineUnreachableError), refusals():
        raise ConnectionRefusedError("no socket")
    with refusals(but=(404,)):
        raise aiodocker.DockerError(404, "no such container")
