"""What programs are told of the proxy; the namespace itself is in `test_fence`."""

from sandbox_server.drivers.fence.network import PORT, environment


def test_programs_are_told_of_the_proxy_in_both_cases_and_to_leave_loopback_alone() -> None:
    told = environment()
    assert told["https_proxy"] == told["HTTP_PROXY"] == f"http://127.0.0.1:{PORT}"
    assert "127.0.0.1" in told["no_proxy"].split(",")
