"""Metrics of the egress process in Prometheus' text format."""

from collections import Counter
from collections.abc import Callable

from sandbox_server.features.egress.connections import Connection, ConnectionTable

MAX_RULES = 100
"""Rules with counters of their own; others are counted together."""
OTHER = "other"


class EgressMetrics:
    """Counts connections by rule and action, and bytes."""

    def __init__(self, table: ConnectionTable, away: Callable[[], str]) -> None:
        self._table = table
        self._away = away
        self._connections: Counter[tuple[str, str]] = Counter()
        self._bytes: Counter[str] = Counter()

    def see(self, connection: Connection) -> None:
        """Count a connection that opens or is refused."""
        key = (connection.rule, connection.action)
        known = key in self._connections or len(self._connections) < MAX_RULES
        self._connections[key if known else (OTHER, connection.action)] += 1

    def over(self, connection: Connection) -> None:
        """Count the bytes of a connection that has ended."""
        self._bytes["sent"] += connection.bytes_sent
        self._bytes["received"] += connection.bytes_received

    def exposition(self) -> list[str]:
        """Format them (Prometheus text format 0.0.4)."""
        return [
            "# HELP tandem_egress_up Whether the egress process answers.",
            "# TYPE tandem_egress_up gauge",
            f"tandem_egress_up {0 if self._away() else 1}",
            "# HELP tandem_egress_open_connections Connections that leave the box now.",
            "# TYPE tandem_egress_open_connections gauge",
            f"tandem_egress_open_connections {self._table.public}",
            "# HELP tandem_egress_connections_total Connections by rule and action.",
            "# TYPE tandem_egress_connections_total counter",
            *(
                f'tandem_egress_connections_total{{rule="{_label(rule)}",action="{action}"}} {count}'
                for (rule, action), count in sorted(self._connections.items())
            ),
            "# HELP tandem_egress_bytes_total Bytes of connections that have ended.",
            "# TYPE tandem_egress_bytes_total counter",
            *(f'tandem_egress_bytes_total{{direction="{way}"}} {self._bytes[way]}' for way in ("sent", "received")),
        ]


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
