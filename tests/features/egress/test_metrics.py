import pytest

from sandbox_server.features.egress import metrics as metrics_module
from sandbox_server.features.egress.connections import ConnectionTable
from sandbox_server.features.egress.metrics import EgressMetrics
from tests.features.egress.flows import closed, opened, refused


@pytest.fixture
def table() -> ConnectionTable:
    return ConnectionTable()


@pytest.fixture
def metrics(table: ConnectionTable) -> EgressMetrics:
    made = EgressMetrics(table, lambda: "")
    table.seen.append(made.see)
    table.over.append(made.over)
    return made


def test_connections_are_counted_by_rule_and_action_and_bytes_when_they_end(table: ConnectionTable, metrics: EgressMetrics) -> None:
    table.hear(opened(1))
    table.hear(opened(2))
    table.hear(closed(1, sent=10, received=20))
    for _ in range(3):
        table.hear(refused(rule='a "quoted" \\ rule'))
    lines = metrics.exposition()
    assert "tandem_egress_up 1" in lines
    assert "tandem_egress_open_connections 1" in lines
    assert 'tandem_egress_connections_total{rule="docs",action="allow"} 2' in lines
    assert 'tandem_egress_connections_total{rule="a \\"quoted\\" \\\\ rule",action="deny"} 3' in lines
    assert 'tandem_egress_bytes_total{direction="sent"} 10' in lines
    assert 'tandem_egress_bytes_total{direction="received"} 20' in lines


def test_a_process_that_is_away_is_down(table: ConnectionTable) -> None:
    assert "tandem_egress_up 0" in EgressMetrics(table, lambda: "away").exposition()


def test_many_rules_are_counted_together(table: ConnectionTable, metrics: EgressMetrics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics_module, "MAX_RULES", 2)
    for number in range(5):
        table.hear(refused(rule=f"r{number}"))
    assert 'tandem_egress_connections_total{rule="other",action="deny"} 3' in metrics.exposition()
