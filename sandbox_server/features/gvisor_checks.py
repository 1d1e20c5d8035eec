"""What the doctor says where the kernel is gVisor's: each thing that differs there, in one line."""

from collections.abc import Mapping, Sequence

from sandbox_server.core.diagnosis import Finding, Probe
from sandbox_server.settings import Settings

DIFFERENCES: Mapping[str, str] = {
    "box": "the isolation level is users: in gVisor there is no box, no root of the agent's own and no undo",
    "seccomp": "no filter is needed: gVisor answers system calls itself",
    "isolation": "in part: gVisor has no Landlock, so that paths, hosts and sockets of one command cannot be restricted",
    "isolated_signals": "gVisor has no Landlock",
    "sudo": "programs that are set-user-id have no effect under runsc",
    "egress_policy": "a program that does not ask the proxy goes round the network policy: what is outside enforces it (docs/egress.md)",
    "memory_limit": "gVisor does not show the engine's limit, which counts on the host",
    "process_limit": "gVisor does not show the engine's limit, which counts on the host",
}
"""Checks that nothing makes hold there, with the reason."""


def probes(settings: Settings) -> Sequence[Probe]:
    """What is asked there alone."""

    async def stream() -> Finding:
        if not settings.stream.udp_port:
            return Finding(True, "the stream goes over its WebSocket: STREAM_UDP_PORT is unset")
        return Finding(False, "the stream goes over its WebSocket: WebRTC was not seen to connect in gVisor")

    return (
        Probe("host_kernel", _host_kernel, ""),
        Probe("open_descriptors", _open_descriptors, "give the agent nothing that a page must keep from it; no flag helps"),
        Probe("stream_udp", stream, "unset STREAM_UDP_PORT"),
    )


async def _host_kernel() -> Finding:
    return Finding(True, "gVisor keeps the host's kernel from all programs in here")


async def _open_descriptors() -> Finding:
    return Finding(False, "gVisor lets the agent open the shared memory of Chromium, in which pages and their pictures are")
