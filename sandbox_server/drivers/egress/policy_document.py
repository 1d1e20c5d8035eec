"""The egress policy as JSON: what a person writes, read with an error for each field that is wrong.

{"default": "deny", "rules": [{"action": "allow", "hosts": ["*.example.com"], "ports": [443]}, {"action": "allow", "sets": ["pypi"]}]}
"""

import ipaddress
import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, cast

from sandbox_server.drivers.egress.host_names import normal_form
from sandbox_server.drivers.egress.json_objects import pointer_token
from sandbox_server.drivers.egress.named_sets import HOST_SETS
from sandbox_server.drivers.egress.policy import (
    DEFAULT_RULE,
    PROTECTED_RULE,
    AppProtocol,
    EgressAction,
    EgressMode,
    EgressPolicy,
    EgressRule,
    OrderedRules,
    RuleScope,
    any_path_matches,
)
from sandbox_server.drivers.egress.policy_text import JsonArray, decode_policy
from sandbox_server.drivers.egress.protected_addresses import Network
from sandbox_server.drivers.egress.rule_index import BELOW, EVERY_NAME
from sandbox_server.drivers.egress.upstream import Upstream, parse_upstream

MAX_BYTES = 8 << 20
"""Limit of a document."""
MAX_RULES = 20_000
MAX_ENTRIES = 1024
"""Limit of entries of one list of a rule."""
MAX_TOTAL = 200_000
"""Limit of hosts and networks of all rules together."""
MAX_SAME = 512
"""Limit of rules for the same host or network, because a lookup looks at each of them."""
MAX_TEXT = 256
MAX_ERRORS = 20
_TOP = {"default", "mode", "rules", "upstreams", "ech"}
_RULE = {"name", "action", "hosts", "cidrs", "sets", "ports", "protocols", "methods", "paths", "task", "until", "upstream"}
_GRANT = _RULE | {"targets", "users"}
"""Fields of a rule that an approval made."""
MAX_TARGET = 32 << 10


class EgressPolicyError(ValueError):
    """A document that is no policy. `errors` has a JSON pointer and a sentence for each field that is wrong, up to 20."""

    def __init__(self, errors: list[tuple[str, str]]) -> None:
        self.errors = errors[:MAX_ERRORS]
        super().__init__("; ".join(f"{pointer or '/'}: {message}" for pointer, message in self.errors))


def parse_policy(text: str | bytes) -> EgressPolicy:
    """Read a policy from JSON; raises EgressPolicyError."""
    if len(text) > MAX_BYTES:
        raise EgressPolicyError([("", f"a policy has at most {MAX_BYTES} bytes")])
    try:
        document = decode_policy(text if isinstance(text, str) else text.decode(json.detect_encoding(text)))
    except (ValueError, RecursionError) as error:
        raise EgressPolicyError([("", f"not JSON: {error}")]) from None
    return read_policy(document)


def read_policy(document: object) -> EgressPolicy:
    """Read a policy from decoded JSON; raises EgressPolicyError."""
    reader = _PolicyReader()
    policy = reader.policy(document)
    if reader.errors or policy is None:
        raise EgressPolicyError(reader.errors)
    return policy


def read_grants(rules: object) -> OrderedRules:
    """Read the rules that approvals made, which may name whole targets and users; raises EgressPolicyError."""
    reader = _PolicyReader(_GRANT)
    policy = reader.policy({"rules": rules})
    if reader.errors or policy is None:
        raise EgressPolicyError(reader.errors)
    return policy.own


class _PolicyReader:
    """Reads a document and collects what is wrong with it."""

    def __init__(self, known: set[str] = _RULE) -> None:
        self._known = known
        self.errors: list[tuple[str, str]] = []
        self._upstreams: dict[str, Upstream] = {}
        self._total = 0
        self._names = {DEFAULT_RULE, PROTECTED_RULE}
        self._scopes: dict[RuleScope, RuleScope] = {}
        """One of equal ones: most of thousands of rules differ in name and hosts alone."""

    def policy(self, document: object) -> EgressPolicy | None:
        fields = self._object("", document, _TOP)
        if fields is None:
            return None
        default = self._choice("/default", fields.get("default", "deny"), {EgressAction.ALLOW, EgressAction.DENY})
        mode = self._choice("/mode", fields.get("mode", "enforce"), set(EgressMode))
        ech = self._choice("/ech", fields.get("ech", "deny"), {EgressAction.ALLOW, EgressAction.DENY})
        self._read_upstreams(fields.get("upstreams", {}))
        rules = self._rules(fields.get("rules", []))
        if self.errors or not (default and mode and ech):
            return None
        policy = EgressPolicy(default, mode, OrderedRules(rules), self._upstreams, ech)
        if policy.own.most_for_one_key > MAX_SAME:
            self._fail("/rules", f"at most {MAX_SAME} rules may name the same host or network")
        return policy

    def _fail(self, pointer: str, message: str) -> None:
        self.errors.append((pointer, message))

    def _object(self, pointer: str, value: object, known: set[str]) -> Mapping[str, object] | None:
        if not isinstance(value, dict):
            self._fail(pointer, "must be an object")
            return None
        for name in sorted(map(str, value.keys() - known)):
            self._fail(f"{pointer}/{pointer_token(name[:MAX_TEXT])}", f"unknown field; known are {', '.join(sorted(known))}")
        return cast(Mapping[str, object], value)

    def _choice[T: (EgressAction, EgressMode, AppProtocol)](self, pointer: str, value: object, among: set[T]) -> T | None:
        found = next((one for one in among if one.value == value), None)
        if found is None:
            self._fail(pointer, f"must be one of {', '.join(sorted(one.value for one in among))}")
        return found

    def _text(self, pointer: str, value: object) -> str:
        if isinstance(value, str) and len(value) <= MAX_TEXT and value.isprintable():
            return value
        self._fail(pointer, f"must be a text of at most {MAX_TEXT} printable characters")
        return ""

    def _list(self, pointer: str, value: object, limit: int = MAX_ENTRIES) -> Iterable[object]:
        if not isinstance(value, list | JsonArray):
            self._fail(pointer, "must be a list")
        elif len(value) > limit:
            self._fail(pointer, f"at most {limit} entries are allowed, and this has {len(value)}")
        else:
            return value
        return ()

    def _each[T](self, pointer: str, value: object, read: Callable[[object], T]) -> tuple[T, ...]:
        """Read each entry of a list. `read` raises ValueError with what is wrong, or TypeError for another kind of value."""
        found = []
        for number, entry in enumerate(self._list(pointer, value)):
            try:
                found.append(read(entry))
            except ValueError as error:
                self._fail(f"{pointer}/{number}", str(error))
            except TypeError:
                self._fail(f"{pointer}/{number}", "is of the wrong type")
        return tuple(found)

    def _read_upstreams(self, value: object) -> None:
        if not isinstance(value, dict) or len(value) > MAX_ENTRIES:
            return self._fail("/upstreams", f"must be an object of at most {MAX_ENTRIES} names and URLs")
        for name, url in value.items():
            try:
                self._upstreams[name] = parse_upstream(url if isinstance(url, str) else "")
            except ValueError as error:
                self._fail(f"/upstreams/{pointer_token(name[:MAX_TEXT])}", str(error))
        return None

    def _rules(self, value: object) -> tuple[EgressRule, ...]:
        rules = []
        for number, entry in enumerate(self._list("/rules", value, MAX_RULES)):
            if (rule := self._rule(f"/rules/{number}", number, entry)) is not None:
                rules.append(rule)
            if len(self.errors) >= MAX_ERRORS or self._total > MAX_TOTAL:
                break
        if self._total > MAX_TOTAL:
            self._fail("/rules", f"all rules together have at most {MAX_TOTAL} hosts and networks")
        return tuple(rules)

    def _rule(self, at: str, number: int, value: object) -> EgressRule | None:
        fields = self._object(at, value, self._known)
        if fields is None:
            return None
        sets = self._each(f"{at}/sets", fields.get("sets", []), _set_name)
        hosts = self._each(f"{at}/hosts", fields.get("hosts", []), _host) + tuple(host for name in sets for host in HOST_SETS[name].hosts)
        networks = self._each(f"{at}/cidrs", fields.get("cidrs", []), _network)
        ports = self._each(f"{at}/ports", fields.get("ports", []), _ports)
        self._total += len(hosts) + len(networks)
        if not any(fields.get(name) for name in ("hosts", "cidrs", "sets")):
            self._fail(at, 'needs one of hosts, cidrs and sets; hosts ["*"] means every name')
        scope = RuleScope(
            action=self._choice(f"{at}/action", fields.get("action"), set(EgressAction)) or EgressAction.DENY,
            ports=ports or tuple(sorted({(port, port) for name in sets for port in HOST_SETS[name].ports})),
            **self._narrower(at, fields),
        )
        name = self._name(f"{at}/name", fields.get("name", f"rule {number}"))
        return EgressRule(name, self._scopes.setdefault(scope, scope), hosts, networks)

    def _name(self, pointer: str, value: object) -> str:
        """Read a rule's name, by which events and approvals tell it from others."""
        name = self._text(pointer, value)
        if name in self._names:
            self._fail(pointer, f"{name!r} is the name of another rule")
        self._names.add(name)
        return name

    def _narrower(self, at: str, fields: Mapping[str, object]) -> dict[str, Any]:
        return {
            "protocols": self._each(f"{at}/protocols", fields.get("protocols", []), _protocol),
            "methods": self._each(f"{at}/methods", fields.get("methods", []), _method),
            "paths": self._each(f"{at}/paths", fields.get("paths", []), _path),
            "targets": self._each(f"{at}/targets", fields.get("targets", []), _target),
            "users": self._each(f"{at}/users", fields.get("users", []), _user),
            "task": self._text(f"{at}/task", fields.get("task", "")),
            "until": self._time(f"{at}/until", fields.get("until")),
            "upstream": self._upstream(f"{at}/upstream", fields.get("upstream", "")),
        }

    def _time(self, pointer: str, value: object) -> float | None:
        """Read seconds since the epoch, or a time with its zone in the form of RFC 3339."""
        if value is None:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e12:
            return float(value)
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            self._fail(pointer, "must be seconds since the epoch, or a time such as 2026-01-31T12:00:00Z")
            return None
        return moment.timestamp()

    def _upstream(self, pointer: str, value: object) -> str:
        name = self._text(pointer, value)
        if name and name not in self._upstreams:
            self._fail(pointer, f"no upstream {name!r} in /upstreams")
        return name


def _text_of(entry: object) -> str:
    if not isinstance(entry, str):
        raise TypeError
    return entry


def _set_name(entry: object) -> str:
    if _text_of(entry) not in HOST_SETS:
        raise ValueError(f"no such set; known are {', '.join(HOST_SETS)}")
    return _text_of(entry)


def _host(entry: object) -> str:
    text = _text_of(entry)
    if text == EVERY_NAME:
        return text
    try:
        return BELOW + normal_form(text.removeprefix(BELOW)) if text.startswith(BELOW) else normal_form(text)
    except ValueError as error:
        raise ValueError(f"{text[:MAX_TEXT]!r} is no host: {error}") from None


def _network(entry: object) -> Network:
    try:
        network = ipaddress.ip_network(_text_of(entry))
    except ValueError as error:
        raise ValueError(f"is no network: {error}") from None
    if isinstance(network, ipaddress.IPv6Network) and network.network_address.ipv4_mapped:
        raise ValueError("is an IPv4 network in IPv6 notation; write it as IPv4")
    return network


def _ports(entry: object) -> tuple[int, int]:
    if isinstance(entry, bool) or not isinstance(entry, int | str):
        raise TypeError
    first, _, last = str(entry).partition("-")
    if not (str(entry).isascii() and first.isdecimal() and (last or first).isdecimal() and len(str(entry)) <= len("65535-65535")):
        raise ValueError('must be a port or a range such as "8000-8999"')
    found = int(first), int(last or first)
    if not 1 <= found[0] <= found[1] <= 65535:
        raise ValueError("ports are 1 to 65535, the first of a range not above the last")
    return found


def _protocol(entry: object) -> AppProtocol:
    found = next((one for one in AppProtocol if one.value == _text_of(entry)), None)
    if found is None:
        raise ValueError(f"must be one of {', '.join(AppProtocol)}")
    return found


def _method(entry: object) -> str:
    text = _text_of(entry)
    if not (text.isascii() and text.isalpha() and len(text) <= 32):
        raise ValueError("must be the name of an HTTP method")
    return text.upper()


def _target(entry: object) -> str:
    text = _text_of(entry)
    if len(text) > MAX_TARGET:
        raise ValueError(f"must have at most {MAX_TARGET} characters")
    return text


def _user(entry: object) -> int:
    if not isinstance(entry, int) or isinstance(entry, bool):
        raise TypeError
    return entry


def _path(entry: object) -> str:
    text = _text_of(entry)
    if not text.startswith("/"):
        raise ValueError("must begin with a slash")
    any_path_matches([text], "/")
    return text
