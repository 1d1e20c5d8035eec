import logging

import pytest

from sandbox_server.core import Call, Caller, Conflict, Model, operation
from sandbox_server.core.audit import BUCKETS, Audit, Durations
from sandbox_server.core.dispatch import Dispatcher, InvalidFields
from sandbox_server.core.operation import Operation, operations

pytestmark = pytest.mark.anyio


class LoginRequest(Model):
    password: str


class Feature:
    tag = "feature"

    @operation("POST /v1/login", scope="admin")
    async def login(self, request: LoginRequest) -> str:
        """Take a secret."""
        return request.password

    @operation("POST /v1/busy", scope="admin")
    async def busy(self) -> None:
        """Refuse."""
        raise Conflict("the password hunter2 is in use")

    @operation("POST /v1/broken", scope="admin")
    async def broken(self) -> None:
        """Break."""
        raise RuntimeError("hunter2")

    @operation("POST /v1/form", scope="admin")
    async def form(self) -> None:
        """Refuse fields that come later than the request."""
        raise InvalidFields([{"loc": ("hunter2",), "msg": "Field required", "type": "missing"}])

    @operation("GET /healthz", scope="public")
    async def health(self) -> str:
        """Say that all is well."""
        return "ok"


OPERATIONS: dict[str, Operation] = {op.spec.name: op for op in operations(Feature())}
CALL = Call(Caller("ann", frozenset()), "r-1", "mcp")


async def test_a_call_is_one_line_that_says_who_what_how_long_and_how_it_ended(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sandbox.audit")
    await Dispatcher([Audit()]).call(OPERATIONS["login"], {"password": "hunter2"}, CALL)

    [record] = caplog.records
    line = dict(record.__dict__["fields"])
    assert line.pop("ms") >= 0
    assert line == {"request_id": "r-1", "caller": "ann", "surface": "mcp", "operation": "feature.login", "outcome": "ok"}


@pytest.mark.parametrize(("name", "outcome"), [("busy", "conflict"), ("form", "invalid_fields"), ("broken", "internal")])
async def test_a_failure_is_named_by_its_kind_alone(name: str, outcome: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sandbox.audit")
    audit = Audit()
    with pytest.raises((Conflict, InvalidFields, RuntimeError)):
        await Dispatcher([audit]).call(OPERATIONS[name], {}, CALL)

    assert caplog.records[0].__dict__["fields"]["outcome"] == outcome
    assert "hunter2" not in caplog.text
    assert audit.durations[f"feature.{name}", outcome].count == 1


async def test_what_a_probe_asks_is_counted_and_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "sandbox.audit")
    audit = Audit()
    await Dispatcher([audit]).call(OPERATIONS["health"], {}, CALL)

    assert caplog.records == []
    assert audit.durations["feature.health", "ok"].count == 1


def test_a_duration_falls_into_the_bucket_whose_bound_it_does_not_pass() -> None:
    durations = Durations()
    for seconds in (0.0, BUCKETS[0], BUCKETS[0] + 1e-6, BUCKETS[-1] + 1):
        durations.add(seconds)

    assert durations.count == 4
    assert (durations.buckets[0], durations.buckets[1], durations.buckets[-1]) == (2, 1, 1)
    assert durations.seconds == pytest.approx(sum((0.0, BUCKETS[0], BUCKETS[0] + 1e-6, BUCKETS[-1] + 1)))
