"""The resolver of the namespace: it answers from the table of names and asks nobody.

A name has an address whether the policy allows it or not, so that the refusal comes where it can say why. Nothing a
program asks for leaves the machine.
"""

from dataclasses import dataclass

from sandbox_server.drivers.egress.dns_messages import IN, DnsQuery, NoDnsQuery, RecordType, ResponseCode, parse_query, respond
from sandbox_server.drivers.egress.host_names import normal_form
from sandbox_server.drivers.egress.name_table import NamesExhausted, NameTable

SECONDS = 60
"""How long a program may remember an answer."""
_LOCAL = {RecordType.A: bytes([127, 0, 0, 1]), RecordType.AAAA: bytes(15) + b"\1"}


@dataclass(frozen=True, slots=True)
class DnsResponse:
    """A response, and what was not answered: the name and the type of record, for an event."""

    packet: bytes
    refused: tuple[str, int] | None = None


class DnsResponder:
    """Answers queries from a table."""

    def __init__(self, names: NameTable) -> None:
        self._names = names

    def answer(self, packet: bytes) -> DnsResponse | None:
        """Return the response to a packet; None if it gets none."""
        try:
            query = parse_query(packet)
        except NoDnsQuery:
            return None
        if query.malformed:
            return DnsResponse(respond(query, ResponseCode.FORMERR))
        if not query.standard or query.of != IN or query.kind not in set(RecordType):
            return DnsResponse(respond(query, ResponseCode.NOTIMP), (query.name or "", query.kind))
        if query.kind == RecordType.PTR:  # an address does not tell by whom its name was asked for
            return DnsResponse(respond(query, ResponseCode.NXDOMAIN))
        return DnsResponse(self._forward(query))

    def _forward(self, query: DnsQuery) -> bytes:
        try:
            name = normal_form(query.name or "")
        except ValueError:
            return respond(query, ResponseCode.NXDOMAIN)
        if name == "invalid" or name.endswith(".invalid"):  # RFC 6761, section 6.4
            return respond(query, ResponseCode.NXDOMAIN)
        if name == "localhost" or name.endswith(".localhost"):
            return respond(query, ResponseCode.NOERROR, _LOCAL.get(RecordType(query.kind)), SECONDS)
        if query.kind != RecordType.A:
            return respond(query, ResponseCode.NOERROR)
        try:
            return respond(query, ResponseCode.NOERROR, self._names.address_of(name).packed, SECONDS)
        except NamesExhausted:
            return respond(query, ResponseCode.SERVFAIL)
