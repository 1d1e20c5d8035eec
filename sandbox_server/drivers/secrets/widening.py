"""Whether a definition gives a value to somebody to whom the one before does not give it."""

from sandbox_server.drivers.egress.bound_secrets import PlaceKind, SecretBinding, SecretPlace
from sandbox_server.drivers.egress.policy import any_path_matches
from sandbox_server.drivers.egress.url_normalization import normal_glob
from sandbox_server.drivers.secrets.definition import SecretDefinition

_SPECIAL = frozenset("*?[")
_ALL_BELOW = "/**"


def widened(before: SecretDefinition, after: SecretDefinition) -> str:
    """Return the field by which `after` gives the value to somebody new; nothing if no field does.

    A page that had the placeholder, and would have the value, is somebody new. So is whatever cannot be shown to be within what was.
    """
    if after.kind is not before.kind:
        return "kind"
    if any(each not in before.fill or (before.is_put_into_forms(each) and not after.is_put_into_forms(each)) for each in after.fill):
        return "fill"
    return next((f"bindings/{index}" for index, each in enumerate(after.bindings) if not _is_within(each, before.bindings)), "")


def _is_within(binding: SecretBinding, known: tuple[SecretBinding, ...]) -> bool:
    """Whether each host of a binding has each of its places with the same requests by bindings that are known."""
    covering = [each for each in known if _covers_requests(each, binding)]
    for host, port in binding.hosts:
        places = [
            place for each in covering if any(port == own and _covers_host(name, host) for name, own in each.hosts) for place in each.places
        ]
        if not all(any(_covers_place(one, place) for one in places) for place in binding.places):
            return False
    return True


def _covers_requests(known: SecretBinding, binding: SecretBinding) -> bool:
    methods = not known.methods or (bool(binding.methods) and set(binding.methods) <= set(known.methods))
    paths = not known.paths or (bool(binding.paths) and all(_covers_path(known.paths, path) for path in binding.paths))
    return methods and paths and (known.browser or not binding.browser)


def _covers_host(known: str, host: str) -> bool:
    """Whether every name that `host` stands for is one of `known`; either may begin with `*.`."""
    return known == host or (known.startswith("*.") and host.removeprefix("*").endswith(known[1:]))


def _covers_place(known: SecretPlace, place: SecretPlace) -> bool:
    """Whether a place is one of `known`. Only JSON pointers are told apart by case."""
    if known.kind is not place.kind:
        return False
    return known.name in ("", place.name) or (place.kind is not PlaceKind.JSON and known.name.lower() == place.name.lower())


def _covers_path(known: tuple[str, ...], path: str) -> bool:
    """Whether every path of a glob is one of `known`, as far as its text shows."""
    known, path = tuple(map(normal_glob, known)), normal_glob(path)
    if _SPECIAL.isdisjoint(path):
        return any_path_matches(known, path)
    return path in known or any(
        each.endswith(_ALL_BELOW) and path.startswith(each.removesuffix("**")) and _SPECIAL.isdisjoint(each.removesuffix("**"))
        for each in known
    )
