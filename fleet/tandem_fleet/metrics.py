"""What the service counts and measures of itself, for Prometheus. None has a label for each sandbox, tenant or key."""

import functools
import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

T = TypeVar("T")
REGISTRY = CollectorRegistry()
"""This process's. Several fleets in one process share it, as they do in tests alone."""
SHORT = (0.001, 0.005, 0.02, 0.1, 0.5, 2, 10, 60)
"""Bounds in seconds."""

SANDBOXES = Gauge("tandem_sandboxes", "Sandboxes that exist, by state and template", ["state", "template"], registry=REGISTRY)
TRANSITIONS = Counter("tandem_transitions", "Changes of a sandbox's state", ["before", "after"], registry=REGISTRY)
CREATED = Counter("tandem_created", "Sandboxes that were made or found in the engine", registry=REGISTRY)
REQUESTS = Histogram(
    "tandem_request_seconds", "Time until an answer begins", ["method", "route", "status"], buckets=SHORT, registry=REGISTRY
)
ENGINE_CALLS = Histogram("tandem_engine_call_seconds", "Time of a call of the engine", ["call"], buckets=SHORT, registry=REGISTRY)
ENGINE_FAILURES = Counter("tandem_engine_failures", "Calls of the engine that failed", ["call"], registry=REGISTRY)
TRANSACTIONS = Histogram(
    "tandem_store_seconds", "Time of a transaction of the store, the wait for its turn included", ["kind"], buckets=SHORT, registry=REGISTRY
)
LEADS = Gauge("tandem_leads", "1 where this service reconciles", registry=REGISTRY)
TENANTS = Gauge("tandem_tenants", "Tenants", registry=REGISTRY)
ProcessCollector(registry=REGISTRY)


@contextmanager
def timed(histogram: Histogram) -> Iterator[None]:
    """Measure a block, also one that fails."""
    begun = time.perf_counter()
    try:
        yield
    finally:
        histogram.observe(time.perf_counter() - begun)


class _Measured:
    """An engine whose calls are measured; what is no call is passed on."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._engine, name)
        return _measured(name, found) if inspect.iscoroutinefunction(found) else found


def measured(engine: T) -> T:
    """The same engine, with each of its calls measured."""
    return cast("T", _Measured(engine))


def _measured(name: str, call: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(call)
    async def run(*arguments: Any, **named: Any) -> Any:
        try:
            with timed(ENGINE_CALLS.labels(name)):
                return await call(*arguments, **named)
        except Exception:
            ENGINE_FAILURES.labels(name).inc()
            raise

    return run
