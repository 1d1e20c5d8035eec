"""Metrics of bound secrets in Prometheus' text format: how often which one was used, never a value."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

OUTCOMES = frozenset(("sent", "not_bound"))
MAX_NAMES = 256
OTHER = "other"


class SecretMetrics:
    """Counts requests that got a secret, and those whose placeholder was not bound to them."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str]] = Counter()

    def hear(self, event: Mapping[str, Any]) -> None:
        """Take an event of the egress process."""
        if event.get("event") == "secret" and event.get("outcome") in OUTCOMES:
            key = (str(event["name"]), str(event["outcome"]))
            known = key in self._requests or len(self._requests) < MAX_NAMES
            self._requests[key if known else (OTHER, key[1])] += 1

    def exposition(self) -> list[str]:
        """Format them (Prometheus text format 0.0.4)."""
        counts = sorted(self._requests.items())
        return [
            "# HELP tandem_egress_secret_requests_total Requests with a secret's placeholder, by name and outcome.",
            "# TYPE tandem_egress_secret_requests_total counter",
            *(f'tandem_egress_secret_requests_total{{name="{name}",outcome="{outcome}"}} {count}' for (name, outcome), count in counts),
        ]
