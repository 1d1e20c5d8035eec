"""The private names of aiortc and aioice that the transport rests on: they exist in the installed versions, with their signatures."""

import ast
import inspect
import textwrap
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import aiortc.rtcsctptransport
import pytest
from aioice import Connection
from aiortc.rtcdtlstransport import RTCDtlsTransport, RtpSender
from aiortc.rtcicetransport import RTCIceGatherer, RTCIceTransport
from aiortc.rtcsctptransport import DataChunk, RTCSctpTransport

from sandbox_server.stream import transport
from sandbox_server.stream.transport.channel import certificate
from tests.tables import table_test

pytestmark = pytest.mark.anyio

FOLDER = Path(transport.__file__).parent


class Private(NamedTuple):
    """A private name of a library's class, with the signature of a method or the type of an attribute, and the module that rests on it."""

    of: type
    name: str
    shape: str
    module: str

    @property
    def library(self) -> str:
        """The distribution that has the class, with its version."""
        name = self.of.__module__.partition(".")[0]
        return f"{name} {version(name)}"

    def __str__(self) -> str:
        return f"{self.of.__name__}.{self.name}"


NAMES = (
    *(
        Private(RTCSctpTransport, name, shape, "sctp.py")
        for name, shape in (
            ("_advertised_rwnd", "int"),
            ("_cwnd", "int"),
            ("_flight_size", "int"),
            ("_inbound_streams", "dict[int, InboundStream]"),
            ("_inbound_streams_max", "int"),
            ("_last_received_tsn", "Optional[int]"),
            ("_last_sacked_tsn", "int"),
            ("_local_tsn", "int"),
            ("_outbound_queue", "Deque[DataChunk]"),
            ("_outbound_streams_count", "int"),
            ("_remote_partial_reliability", "bool"),
            ("_rto", "float"),
            ("_rttvar", "Optional[float]"),
            ("_sack_duplicates", "list[int]"),
            ("_sack_misordered", "set[int]"),
            ("_sack_needed", "bool"),
            ("_sent_queue", "Deque[DataChunk]"),
            ("_srtt", "Optional[float]"),
            ("_flight_size_decrease", "def (self, chunk)"),
            ("_handle_data", "async def (self, data)"),
            ("_maybe_abandon", "def (self, chunk)"),
            ("_receive", "async def (self, stream_id, pp_id, data)"),
            ("_receive_data_chunk", "async def (self, chunk)"),
            ("_receive_sack_chunk", "async def (self, chunk)"),
            ("_send", "async def (self, stream_id, pp_id, user_data, expiry=None, max_retransmits=None, ordered=True)"),
            ("_send_chunk", "async def (self, chunk)"),
            ("_send_sack", "async def (self)"),
            ("_set_state", "def (self, state)"),
            ("_t3_expired", "def (self)"),
            ("_transmit", "async def (self)"),
            ("_update_advanced_peer_ack_point", "def (self)"),
            ("_update_rto", "def (self, R)"),
        )
    ),
    *(
        Private(DataChunk, name, shape, "sctp.py")
        for name, shape in (
            ("_abandoned", "bool"),
            ("_acked", "bool"),
            ("_misses", "int"),
            ("_retransmit", "bool"),
            ("_sent_count", "int"),
            ("_sent_time", "Optional[float]"),
        )
    ),
    Private(RTCIceGatherer, "_connection", "Connection", "channel.py"),
    Private(RTCDtlsTransport, "_set_role", "def (self, role)", "channel.py"),
    Private(RTCDtlsTransport, "_handle_rtcp_data", "async def (self, data)", "rtp_track.py"),
    Private(RTCDtlsTransport, "_handle_rtp_data", "async def (self, data, arrival_time_ms)", "rtp_track.py"),
    Private(RTCDtlsTransport, "_register_rtp_sender", "def (self, sender, parameters)", "rtp_track.py"),
    Private(RTCDtlsTransport, "_send_rtp", "async def (self, data)", "rtp_track.py"),
    Private(RtpSender, "_handle_rtcp_packet", "async def (self, packet)", "rtp_track.py"),
    Private(RtpSender, "_ssrc", "int", "rtp_track.py"),
    Private(Connection, "_protocols", "list[StunProtocol]", "udp_mux.py"),
    Private(Connection, "_queue", "asyncio.Queue[tuple[bytes, int] | None]", "udp_mux.py"),
)
"""Every private name of the two libraries that a module of the transport reads, writes, calls or overrides."""
SUBCLASSES = {
    "SctpAssociation": RTCSctpTransport,
    "MediaDtlsTransport": RTCDtlsTransport,
    "RtpTrack": RtpSender,
    "IceServer": Connection,
    "IceClient": Connection,
}
"""Our classes that a library takes for its own, or that inherit of one."""


def instance_of(kind: type) -> Any:
    """An instance as the transport has it, which opens nothing."""
    gatherer = RTCIceGatherer(iceServers=[])
    dtls = RTCDtlsTransport(RTCIceTransport(gatherer), [certificate()])
    made = {RTCIceGatherer: gatherer, RTCDtlsTransport: dtls, Connection: gatherer._connection}
    return made.get(kind) or RTCSctpTransport(dtls)


def shape_of(kind: type, name: str) -> str | None:
    """The signature of a method, or the type of an attribute: its annotation, or the type of its first value. None if it does not exist."""
    method = inspect.getattr_static(kind, name, None)
    if inspect.isfunction(method):
        parameters = [str(one.replace(annotation=one.empty)) for one in inspect.signature(method).parameters.values()]
        return f"{'async def' if inspect.iscoroutinefunction(method) else 'def'} ({', '.join(parameters)})"
    annotated = {ast.unparse(target): ast.unparse(annotation) for target, annotation in annotations_in(kind)}
    if found := annotated.get(f"self.{name}") or annotated.get(name):
        return found
    return None if kind in (DataChunk, RtpSender) or not hasattr(made := instance_of(kind), name) else type(getattr(made, name)).__name__


def annotations_in(kind: type) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is annotated within a class, and how."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kind)))):
        if isinstance(node, ast.AnnAssign):
            yield node.target, node.annotation


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def names_of(kind: type) -> set[str]:
    """The private names that a class of a library has, its instances' included."""
    nodes = list(ast.walk(ast.parse(textwrap.dedent(inspect.getsource(kind)))))
    found = {node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "self"}
    found |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    found |= {node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    return {name for name in found if is_private(name)}


def used_by(module: Path) -> set[str]:
    """The private names of the libraries that a module uses: inherited or overridden ones, and those of other objects."""
    tree = ast.parse(module.read_text("utf-8"))
    kinds = {one.of for one in NAMES}
    others = set().union(*(names_of(kind) for kind in kinds))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and node.name in SUBCLASSES:
            inherited = names_of(SUBCLASSES[node.name])
            found |= {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute) and own(one)} & inherited
            found |= {one.name for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)} & inherited
        elif isinstance(node, ast.Attribute) and not own(node) and is_private(node.attr):
            found |= {node.attr} & others
    return found


def own(node: ast.Attribute) -> bool:
    return ast.unparse(node.value) in ("self", "super()")


async def test_a_private_name_is_as_a_module_of_ours_takes_it() -> None:
    wrong = [
        f"stream/transport/{private.module} rests on {private} being {private.shape!r}; in {private.library} it is {found!r}"
        for private in NAMES
        if (found := shape_of(private.of, private.name)) != private.shape
    ]
    assert not wrong, "\n".join(wrong)


@table_test({module.name: module for module in sorted(FOLDER.glob("*.py"))})
def test_every_private_name_that_a_module_uses_is_in_the_table(module: Path) -> None:
    assert used_by(module) == {one.name for one in NAMES if one.module == module.name}


def test_the_libraries_are_the_versions_that_are_pinned() -> None:
    pins = (FOLDER.parents[2] / "requirements" / "runtime.txt").read_text("utf-8")
    assert f"aiortc=={version('aiortc')} " in pins
    assert f"aioice=={version('aioice')} " in pins


def test_streams_keep_what_is_incomplete_where_the_association_counts_it() -> None:
    assert aiortc.rtcsctptransport.InboundStream().reassembly == []
