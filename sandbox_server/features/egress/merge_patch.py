"""Changes of a policy document: JSON Merge Patch (RFC 7396), and lists of rules to remove, to put in front and to append."""

from typing import Any

from sandbox_server.core.dispatch import InvalidFields

LISTS = ("remove", "add", "append")
"""Fields of a patch that no document has, because a merge patch replaces lists as a whole."""
MAX_DEPTH = 16

type PolicyDocument = dict[str, Any]


def patched(document: PolicyDocument, patch: dict[str, Any]) -> PolicyDocument:
    """Return the document with a patch applied: merged, then without some rules, then with others. Raises InvalidFields."""
    merged: PolicyDocument = merge(document, {name: patch[name] for name in patch if name not in LISTS})
    removed, added, appended = (_list(patch, name) for name in LISTS)
    rules = merged.get("rules", [])
    if not (removed or added or appended) or not isinstance(rules, list):
        return merged
    return {**merged, "rules": [*added, *_without(rules, removed), *appended]}


def merge(target: Any, patch: Any, depth: int = MAX_DEPTH) -> Any:
    """Merge as RFC 7396 says: objects by field, null removes, everything else replaces."""
    if not isinstance(patch, dict) or depth <= 0:
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = merge(merged.get(name), value, depth - 1)
    return merged


def _list(patch: dict[str, Any], name: str) -> list[Any]:
    found = patch.get(name)
    if found is not None and not isinstance(found, list):
        raise wrong([(f"/{name}", "must be a list")])
    return found or []


def _without(rules: list[Any], names: list[Any]) -> list[Any]:
    known = [rule_name(number, rule) for number, rule in enumerate(rules)]
    unknown = [(f"/remove/{place}", "is the name of no rule") for place, name in enumerate(names) if name not in known]
    if unknown:
        raise wrong(unknown)
    return [rule for rule, name in zip(rules, known, strict=True) if name not in names]


def rule_name(number: int, rule: Any) -> str:
    """Return the name by which events know a rule."""
    return str(rule.get("name", f"rule {number}")) if isinstance(rule, dict) else f"rule {number}"


def wrong(errors: list[tuple[str, str]]) -> InvalidFields:
    """Return the failure for fields of a document that are wrong, each with its JSON pointer."""
    problems = [{"loc": _location(pointer), "pointer": pointer, "msg": message, "type": "egress_policy"} for pointer, message in errors]
    return InvalidFields(problems)


def _location(pointer: str) -> tuple[str | int, ...]:
    parts = (part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:])
    return tuple(int(part) if part.isdecimal() and len(part) < 9 else part for part in parts)
