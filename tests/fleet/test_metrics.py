"""What is measured, and the dashboard that shows it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tandem_fleet.errors import EngineError
from tandem_fleet.metrics import REGISTRY, measured

from tests.fleet.engines import MemoryBackend

pytestmark = pytest.mark.anyio
DASHBOARD = Path(__file__).parents[2] / "deploy/grafana/tandem-fleet.json"
NAME = re.compile(r"\b((?:tandem|process)_[a-z_]+)\b")
LABELS = re.compile(r"(?:by \(|[{,])\s*([a-z]+)")


def value(name: str, **labels: str) -> float:
    """A sample; 0 where there is none yet."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


def expressions() -> Iterator[str]:
    """The queries of the dashboard."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        for target in panel["targets"]:
            yield target["expr"]


def samples() -> dict[str, tuple[str, ...]]:
    """The names under which the metrics are scraped, with their labels."""
    found: dict[str, tuple[str, ...]] = {}
    for collector in list(REGISTRY._collector_to_names):
        described: Any = getattr(collector, "_labelnames", ())
        for name in REGISTRY._collector_to_names[collector]:
            found[name] = described
    return found | {sample.name: tuple(sample.labels) for metric in REGISTRY.collect() for sample in metric.samples}


def test_every_query_of_the_dashboard_names_what_is_measured() -> None:
    known = samples()
    for expression in expressions():
        names = NAME.findall(expression)
        assert names, expression
        for name in names:
            assert name in known, expression
        labels = {"le", *(label for name in names for label in known[name])}
        asked = {
            label for group in re.findall(r"by \(([^)]*)\)|\{([^}]*)\}", expression) for label in re.findall(r"([a-z]+)(?:=|,|$)", group[0])
        }
        asked |= {label for group in re.findall(r"\{([^}]*)\}", expression) for label in re.findall(r"([a-z]+)(?==)", group)}
        assert asked <= labels, expression


def test_the_dashboard_shows_everything_that_is_measured() -> None:
    shown = {re.sub("_(bucket|count|total|sum)$", "", name) for expression in expressions() for name in NAME.findall(expression)}
    ours = {re.sub("_(bucket|count|total|sum|created)$", "", name) for name in samples() if name.startswith("tandem_")}
    assert ours - {"tandem"} <= shown | {"tandem_created"}


async def test_calls_of_the_engine_are_counted_and_those_that_fail_too(engine: MemoryBackend) -> None:
    before = value("tandem_engine_call_seconds_count", call="list_all"), value("tandem_engine_failures_total", call="pause")
    same = measured(engine)
    await same.list_all()
    with pytest.raises(EngineError):
        await same.pause("none")
    assert value("tandem_engine_call_seconds_count", call="list_all") == before[0] + 1
    assert value("tandem_engine_failures_total", call="pause") == before[1] + 1
    assert same.calls[-1] == "pause none"
