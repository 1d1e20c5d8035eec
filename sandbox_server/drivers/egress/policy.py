"""The egress policy: ordered rules of which the first match decides, as a frozen value.

A connection to a name is decided by rules for names. The address that the name resolves to is decided afterwards, by
`address_refusal`. A connection to an address is decided by CIDR rules alone.
"""

import enum
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from sandbox_server.drivers.egress.host_names import parse_host
from sandbox_server.drivers.egress.http_head import METHOD_OVERRIDES, PATH_OVERRIDES
from sandbox_server.drivers.egress.protected_addresses import Address, Network, protection
from sandbox_server.drivers.egress.rule_index import RuleIndex
from sandbox_server.drivers.egress.upstream import Upstream
from sandbox_server.drivers.egress.url_normalization import TwoReadings, normal_glob, normal_path

DEFAULT_RULE = "default"
"""How events call the policy's default."""
PROTECTED_RULE = "protected"
"""How events call the denial of protected addresses."""
UNREACHABLE_RULE = "unreachable"
"""How they call what could not be connected to, or has no address."""
INTERNAL_RULE = "FETCH_ALLOW"
"""How they call the denial of an address that is not public where `Destination.internal` does not name it: by the setting that does."""
_SHOWN = 200
"""Characters of a request's parts in messages and lists."""
_USUAL = {80: "http", 443: "tls"}
"""What an allowed connection carries on a port, unless its rule names protocols."""
_METHOD_PARAMETER = "_method"
"""A parameter of the query by which frameworks take another method than the request's."""


def shortened(text: str) -> str:
    """Return a text as messages and lists have it: one that is cut ends in a mark."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}\N{HORIZONTAL ELLIPSIS}"


def any_path_matches(globs: Iterable[str], path: str) -> bool:
    """Whether a path in normal form matches one of the globs. Raises ValueError for what is no glob, or one of no path."""
    from sandbox_server import patterns  # RE2 takes 3 MB, which policies without paths do not need

    return any(patterns.glob(normal_glob(glob), paths=True).fullmatch(path) for glob in globs)


class EgressAction(enum.StrEnum):
    """What a rule does with a connection."""

    ALLOW = "allow"
    DENY = "deny"
    ASK = "ask"


class EgressMode(enum.StrEnum):
    """`learn` allows what `enforce` denies, except protected addresses, and says so in the decision."""

    ENFORCE = "enforce"
    LEARN = "learn"


class AppProtocol(enum.StrEnum):
    """What the first bytes of a connection are. `tcp` is everything that is neither HTTP nor TLS."""

    HTTP = "http"
    TLS = "tls"
    TCP = "tcp"


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What rules compare of an HTTP request, where requests are read: in clear text, or in TLS that is opened on purpose."""

    method: str
    path: str
    """With its query, as the server gets it."""
    has_body: bool = False
    overrides: tuple[str, ...] = ()
    """The names of its fields by which some servers take another method or path."""
    websocket: bool = False
    """Whether it opens a WebSocket, in which anything may follow."""
    host: str = ""
    """The host that it asks for."""

    def __str__(self) -> str:
        return f"{shortened(self.method)} {shortened(self.path)}"

    @property
    def method_problem(self) -> str:
        """Why servers may take another method for this request; empty if they do not."""
        if self.method != self.method.upper():
            return f"its method is {shortened(self.method)}, which some servers take for {shortened(self.method.upper())}"
        parameters = self.path.partition("?")[2].split("&")
        if any(unquote(each.partition("=")[0]).lower() == _METHOD_PARAMETER for each in parameters):
            return f"its parameter {_METHOD_PARAMETER} may name another method"
        return self._override(METHOD_OVERRIDES)

    @property
    def path_problem(self) -> str:
        """Why servers may read another path; empty if they do not."""
        try:
            normal_path(self.path.partition("?")[0])
        except TwoReadings as error:
            return str(error)
        return self._override(PATH_OVERRIDES)

    def path_matches(self, globs: Iterable[str]) -> bool:
        """Whether its path without the query matches a glob. Raises TwoReadings."""
        return any_path_matches(globs, normal_path(self.path.partition("?")[0]))

    def _override(self, among: frozenset[str]) -> str:
        found = next((name for name in self.overrides if name in among), "")
        return f"its field {found} may name another one" if found else ""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where a connection goes: to a name in normal form, or to an address if the client gave no name."""

    port: int
    name: str = ""
    address: Address | None = None
    protocol: AppProtocol = AppProtocol.TCP
    internal: tuple[Network, ...] | None = None
    """The networks that are not public and that it may be in; None: those that the policy allows."""
    uid: int | None = None
    """The user whose program connects; None: not known, or the server itself."""

    @classmethod
    def of(cls, host: str, port: int, protocol: AppProtocol = AppProtocol.TCP) -> "Destination":
        """Return the destination that a client names by a host's text; raises ValueError."""
        found = parse_host(host)
        return cls(port, found, protocol=protocol) if isinstance(found, str) else cls(port, address=found, protocol=protocol)

    def __str__(self) -> str:
        return f"{self.name or (f'[{self.address}]' if self.address and self.address.version == 6 else self.address)}:{self.port}"


@dataclass(frozen=True, slots=True)
class RuleScope:
    """What a rule does, and with which connections to its hosts and networks. Empty fields match everything."""

    action: EgressAction
    ports: tuple[tuple[int, int], ...] = ()
    """First and last port of each range."""
    protocols: tuple[AppProtocol, ...] = ()
    methods: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    """Globs of paths, as in `patterns.glob`, which are compared in normal form. The query is not compared."""
    targets: tuple[str, ...] = ()
    """Whole paths with their queries, byte for byte, of requests without a body. Rules of approvals alone have them."""
    users: tuple[int, ...] = ()
    """Users whose programs' connections are meant. Rules of approvals alone have them."""
    task: str = ""
    """The rule holds only while this task runs."""
    until: float | None = None
    """Seconds since the epoch after which the rule does not hold."""
    upstream: str = ""
    """Name of the upstream proxy for allowed connections."""

    @property
    def inspects(self) -> bool:
        """Whether requests are compared, for which these have to be read."""
        return bool(self.methods or self.paths or self.targets)

    def holds(self, tasks: frozenset[str], now: float) -> bool:
        """Whether a rule with this scope is in force."""
        return (not self.task or self.task in tasks) and (self.until is None or now < self.until)

    def covers(self, destination: Destination) -> bool:
        """Whether port, protocol and user match."""
        port = destination.port
        if self.users and destination.uid not in self.users:
            return False
        if self.ports and not any(first <= port <= last for first, last in self.ports):
            return False
        usual = _USUAL.get(port, destination.protocol) if self.action is not EgressAction.DENY else destination.protocol
        return destination.protocol in self.protocols if self.protocols else destination.protocol == usual

    def may_cover(self, request: HttpRequest) -> bool:
        """Whether a request is meant, as far as it can be told: `problem` says why it cannot."""
        if self.targets and (request.has_body or request.websocket or request.overrides or request.path not in self.targets):
            return False
        if self.methods and not request.method_problem and request.method not in self.methods:
            return False
        return not self.paths or bool(request.path_problem) or request.path_matches(self.paths)

    def problem(self, request: HttpRequest) -> str:
        """Why it cannot be told whether a request is meant, or what a person would allow: it has two readings. Empty if it can."""
        asks = self.action is EgressAction.ASK
        return ((self.methods or asks) and request.method_problem) or ((self.paths or asks) and request.path_problem) or ""


@dataclass(frozen=True, slots=True)
class EgressRule:
    """A rule: a scope, which rules may share, and one of `hosts` and `networks` at least."""

    name: str
    scope: RuleScope
    hosts: tuple[str, ...] = ()
    """Names, `*.` and a name for all names below it, or `*` for all names."""
    networks: tuple[Network, ...] = ()

    @property
    def opens_tls(self) -> bool:
        """Whether TLS has to be opened for what the rule compares."""
        scope = self.scope
        return scope.inspects and bool(self.hosts) and (not scope.protocols or AppProtocol.TLS in scope.protocols)


@dataclass(frozen=True, slots=True)
class EgressDecision:
    """What happens to a connection, and the rule that says so."""

    action: EgressAction
    rule: str
    learned: bool = False
    """Whether only the mode `learn` allows it."""
    inspect: bool = False
    """Whether a rule that matches compares requests, and the connection is denied because they are not read."""
    by_request: bool = False
    """Whether the rule compared a request, so that the decision is for that request alone."""
    upstream: str = ""
    problem: str = ""
    """Why a request is denied that the rule may be about, or not: it has two readings."""

    @property
    def allowed(self) -> bool:
        """Whether the connection is made without asking anybody."""
        return self.action is EgressAction.ALLOW


@dataclass(frozen=True)
class OrderedRules:
    """Rules of which the first match decides, with their index."""

    rules: tuple[EgressRule, ...] = ()
    _index: RuleIndex = field(init=False, repr=False, compare=False)
    _ends: tuple[float, ...] = field(init=False, repr=False, compare=False)
    """When rules stop to hold, in ascending order."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", RuleIndex([(rule.hosts, rule.networks) for rule in self.rules]))
        object.__setattr__(self, "_ends", tuple(sorted({rule.scope.until for rule in self.rules if rule.scope.until is not None})))

    def first(self, destination: Destination, tasks: frozenset[str], now: float, request: HttpRequest | None = None) -> EgressRule | None:
        """Return the first rule that matches: by name, or by address if the destination has no name."""
        address = destination.address if not destination.name else None
        buckets = self._index.for_address(address) if address else self._index.for_name(destination.name)
        found = (self._first_of(bucket, destination, tasks, now, request) for bucket in buckets)
        order = min((each for each in found if each is not None), default=None)
        return None if order is None else self.rules[order]

    def may_ask_by_request(self, destination: Destination) -> bool:
        """Whether a rule may ask about single requests to a destination."""
        address = destination.address if not destination.name else None
        buckets = self._index.for_address(address) if address else self._index.for_name(destination.name)
        scopes = (self.rules[order].scope for bucket in buckets for order in bucket)
        return any(scope.action is EgressAction.ASK and scope.inspects and scope.covers(destination) for scope in scopes)

    def next_end(self, now: float) -> float | None:
        """When the next rule stops to hold; None if none does."""
        at = bisect_right(self._ends, now)
        return self._ends[at] if at < len(self._ends) else None

    @property
    def most_for_one_key(self) -> int:
        """The greatest number of rules that name the same host or network."""
        return self._index.fullest

    def _first_of(
        self, bucket: Iterable[int], destination: Destination, tasks: frozenset[str], now: float, request: HttpRequest | None
    ) -> int | None:
        return next((order for order in bucket if _matches(self.rules[order].scope, destination, tasks, now, request)), None)


def _matches(scope: RuleScope, destination: Destination, tasks: frozenset[str], now: float, request: HttpRequest | None) -> bool:
    if not (scope.holds(tasks, now) and scope.covers(destination)):
        return False
    return not (scope.inspects and request) or scope.may_cover(request)


@dataclass(frozen=True)
class EgressPolicy:
    """A policy. Replacing it means making another one."""

    default: EgressAction = EgressAction.DENY
    mode: EgressMode = EgressMode.ENFORCE
    own: OrderedRules = OrderedRules()
    """The rules of the document."""
    upstreams: Mapping[str, Upstream] = field(default_factory=dict, repr=False)
    """Upstream proxies by name."""
    ech: EgressAction = EgressAction.DENY
    """Whether a ClientHello may have an Encrypted Client Hello, which hides the name from this policy."""
    temporary: OrderedRules = OrderedRules()
    """Rules in front of them. They change more often, and indexing them does not index the others again."""

    @property
    def rules(self) -> tuple[EgressRule, ...]:
        """The rules of the document."""
        return self.own.rules

    def decide(
        self, destination: Destination, *, tasks: frozenset[str] = frozenset(), now: float = 0.0, request: HttpRequest | None = None
    ) -> EgressDecision:
        """Decide on a connection, or on a request of an opened one."""
        address = destination.address if not destination.name else None
        rule = self._first(destination, tasks, now, request)
        if address and (refused := self._protected(address, rule)):
            return refused
        return self._learned(self._by_rule(rule, request))

    def address_refusal(
        self, address: Address, destination: Destination, *, tasks: frozenset[str] = frozenset(), now: float = 0.0
    ) -> EgressDecision | None:
        """Decide on an address that an allowed name resolved to; None if the connection may be made.

        A CIDR rule that denies counts, and so does the first one that names a protected address.
        """
        to_address = Destination(destination.port, address=address, protocol=destination.protocol, uid=destination.uid)
        rule = self._first(to_address, tasks, now)
        if refused := self._protected(address, rule):
            return refused
        if rule and rule.scope.action is EgressAction.DENY and self.mode is EgressMode.ENFORCE:
            return EgressDecision(EgressAction.DENY, rule.name)
        within = destination.internal
        if within is not None and protection(address) and not any(address in network for network in within):
            return EgressDecision(EgressAction.DENY, INTERNAL_RULE)
        return None

    def may_ask_by_request(self, destination: Destination) -> bool:
        """Whether a rule may ask about single requests to a destination, now or while a task runs."""
        return self.own.may_ask_by_request(destination)

    @property
    def opens_tls(self) -> bool:
        """Whether TLS has to be opened for one of the rules."""
        return any(rule.opens_tls for rules in (self.temporary, self.own) for rule in rules.rules)

    def next_change(self, now: float) -> float | None:
        """When the next rule stops to hold; None if none does."""
        ends = (rules.next_end(now) for rules in (self.temporary, self.own))
        return min((end for end in ends if end is not None), default=None)

    def _first(self, destination: Destination, tasks: frozenset[str], now: float, request: HttpRequest | None = None) -> EgressRule | None:
        found = self.temporary.first(destination, tasks, now, request) if self.temporary.rules else None
        return found or self.own.first(destination, tasks, now, request)

    def _by_rule(self, rule: EgressRule | None, request: HttpRequest | None) -> EgressDecision:
        if rule is None:
            return EgressDecision(self.default, DEFAULT_RULE)
        if rule.scope.inspects and request is None:
            return EgressDecision(EgressAction.DENY, rule.name, inspect=True)
        if request and rule.scope.inspects and (problem := rule.scope.problem(request)):
            return EgressDecision(EgressAction.DENY, rule.name, by_request=True, problem=problem)
        return EgressDecision(rule.scope.action, rule.name, by_request=rule.scope.inspects, upstream=rule.scope.upstream)

    def _learned(self, decision: EgressDecision) -> EgressDecision:
        if decision.allowed or self.mode is EgressMode.ENFORCE:
            return decision
        return EgressDecision(EgressAction.ALLOW, decision.rule, learned=True)

    def _protected(self, address: Address, rule: EgressRule | None) -> EgressDecision | None:
        """Deny a protected address unless the rule that decides names it and does not deny it."""
        block = protection(address)
        if block is None:
            return None
        named = rule and any(
            address in network and block.named_by(network) for network in rule.networks if network.version == address.version
        )
        return None if named and rule and rule.scope.action is not EgressAction.DENY else EgressDecision(EgressAction.DENY, PROTECTED_RULE)
