import pytest

from sandbox_server.features.secrets import metrics
from sandbox_server.features.secrets.metrics import SecretMetrics


def test_requests_are_counted_by_name_and_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metrics, "MAX_NAMES", 2)
    counted = SecretMetrics()
    for name, outcome in (("A", "sent"), ("A", "sent"), ("A", "not_bound"), ("B", "sent"), ("C", "sent")):
        counted.hear({"event": "secret", "name": name, "outcome": outcome})
    counted.hear({"event": "secret", "name": "A", "outcome": "unheard of"})
    counted.hear({"event": "open"})
    assert counted.exposition()[2:] == [
        'tandem_egress_secret_requests_total{name="A",outcome="not_bound"} 1',
        'tandem_egress_secret_requests_total{name="A",outcome="sent"} 2',
        'tandem_egress_secret_requests_total{name="other",outcome="sent"} 2',
    ]
