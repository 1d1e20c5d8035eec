"""Proactive retransmission: which messages are sent twice."""

from sandbox_server.stream.transport.proactive_resend import LOSSY_PACKETS, LOSSY_SECONDS, LOST, RESENT_BYTES, ProactiveResend


def lossy(now: float) -> ProactiveResend:
    resends = ProactiveResend()
    for _ in range(LOST):
        resends.lost(now)
    return resends


def test_nothing_is_repeated_where_nothing_or_little_is_lost() -> None:
    resends = ProactiveResend()
    assert not resends.take(100, 1.0)
    for number in range(10):
        resends.lost(number * LOSSY_SECONDS)
        assert not resends.take(100, number * LOSSY_SECONDS)
    for number in range(10 * LOSSY_PACKETS):
        resends.sent()
        if number % LOSSY_PACKETS == 0:
            resends.lost(1000.0)
    assert not resends.take(100, 1000.0)


def test_small_messages_are_repeated_while_packets_are_lost() -> None:
    resends = lossy(1.0)
    assert resends.take(100, 1.0)
    assert not resends.take(RESENT_BYTES + 1, 1.0)
    for _ in range(LOSSY_PACKETS - 1):
        resends.sent()
    assert resends.take(100, LOSSY_SECONDS)
    assert not resends.take(100, 1.1 + LOSSY_SECONDS)
    resends.sent()
    assert not resends.take(100, LOSSY_SECONDS)


def test_a_share_of_the_rate_is_spent() -> None:
    resends = lossy(0.0)
    resends.rate = 4 * 64 * 1024
    taken = sum(resends.take(4096, number / 100) for number in range(500))
    assert 64 * 1024 * 4.9 / 4096 <= taken <= 64 * 1024 * 5 / 4096 + RESENT_BYTES / 4096 + 1
