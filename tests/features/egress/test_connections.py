import pytest

from sandbox_server.features.egress import connections
from sandbox_server.features.egress.connections import Connection, ConnectionTable
from tests.features.egress.flows import closed, flow, opened, refused


class Clock:
    """A time that is set."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def table(clock: Clock) -> ConnectionTable:
    return ConnectionTable(991, clock)


def test_a_connection_is_open_and_then_one_that_ended(table: ConnectionTable, clock: Clock) -> None:
    seen: list[Connection] = []
    over: list[Connection] = []
    table.seen.append(seen.append)
    table.over.append(over.append)
    table.hear(opened(7))
    assert [each.host for each in table.open] == ["a.example"]
    clock.now += 5
    table.hear(closed(7, sent=10, received=20, reason="idle", request="GET /last"))
    assert table.open == []
    [shown] = [each.shown() for each in table.ended]
    assert (shown.at, shown.ended, shown.bytes_sent, shown.bytes_received) == (1000, 1005, 10, 20)
    assert (shown.address, shown.rule, shown.action, shown.reason, shown.request) == ("203.0.113.5", "docs", "allow", "idle", "GET /last")
    assert seen == over


def test_many_refusals_of_the_same_kind_are_few_entries(table: ConnectionTable, clock: Clock) -> None:
    seen: list[Connection] = []
    table.seen.append(seen.append)
    for _ in range(connections.MAX_APART + 3):
        table.hear(refused())
    table.hear(refused("other.example"))
    clock.now += connections.GATHER_SECONDS
    table.hear(refused())
    counts = [(each.host, each.count) for each in table.ended]
    assert counts == [("evil.example", 1), ("other.example", 1), ("evil.example", 4), *[("evil.example", 1)] * (connections.MAX_APART - 1)]
    assert len(seen) == len(set(seen)) == connections.MAX_APART + 5


def test_what_ended_is_kept_to_a_limit(table: ConnectionTable) -> None:
    for number in range(connections.MAX_ENDED + 10):
        table.hear(refused(f"h{number}.example"))
    assert len(table.ended) == connections.MAX_ENDED
    assert table.ended[0].host == f"h{connections.MAX_ENDED + 9}.example"


def test_what_is_open_is_kept_to_a_limit(table: ConnectionTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_OPEN", 2)
    for number in range(4):
        table.hear(opened(number))
    table.hear(closed(3))
    assert len(table.open) == 2


def test_what_the_desktop_connects_is_the_desktops(table: ConnectionTable) -> None:
    for uid in (991, 1000, None):
        table.hear(refused(uid=uid))
    assert [each.session for each in reversed(table.ended)] == ["desktop", None, None]


def test_after_a_time_without_events_the_list_is_that_of_the_process(table: ConnectionTable) -> None:
    for number in (1, 2, 3):
        table.hear(opened(number, f"h{number}.example"))
    table.begin_anew([flow(1, "h1.example"), flow(2, "other.example"), flow(9, "new.example", sent=4)])
    assert [(each.host, each.bytes_sent) for each in reversed(table.open)] == [("h1.example", 0), ("other.example", 0), ("new.example", 4)]
    assert {each.reason for each in table.ended} == {"the egress process ended"}


def test_a_connection_that_is_listed_and_then_told_of_is_one(table: ConnectionTable) -> None:
    told: list[str] = []
    table.seen.append(lambda connection: told.append(connection.host))
    table.begin_anew([flow(1, "h1.example")])
    table.hear(opened(1, "h1.example"))
    table.hear(closed(1))
    assert (told, len(table.ended), table.open) == (["h1.example"], 1, [])


def test_a_connection_whose_end_was_not_heard_of_says_so(table: ConnectionTable) -> None:
    table.hear(opened(1))
    table.begin_anew([], "its end was not heard of")
    table.hear(closed(1))
    assert [each.reason for each in table.ended] == ["its end was not heard of"]


def test_what_has_changed_since_is_told_the_latest_first(table: ConnectionTable) -> None:
    table.hear(opened(1, "h1.example"))
    table.hear(opened(2, "h2.example"))
    before = table.version
    assert table.changed_since(before) == []
    table.measure([flow(2, "h2.example", sent=5), flow(1, "h1.example"), flow(8)])
    assert [(each.host, each.bytes_sent) for each in table.changed_since(before)] == [("h2.example", 5)]
    table.hear(refused())
    assert [each.host for each in table.changed_since(before)] == ["evil.example", "h2.example"]


def test_events_about_something_else_are_none_of_connections(table: ConnectionTable) -> None:
    for event in ({"event": "dns", "name": "a"}, {"event": "ask"}, {}, closed(5)):
        table.hear(event)
    assert table.version == 0


@pytest.mark.parametrize(
    ("host", "port", "shown"), [("a.example", 80, "a.example:80"), ("2001:db8::1", 443, "[2001:db8::1]:443"), ("10.0.0.1", 0, "10.0.0.1")]
)
def test_a_place_is_written_as_people_write_it(table: ConnectionTable, host: str, port: int, shown: str) -> None:
    table.hear(refused(host, port=port))
    assert table.ended[0].place == shown
