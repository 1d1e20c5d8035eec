"""The options that say what a sandbox is made of: of `up`, and of templates."""

import argparse
from typing import Any

from tandem_fleet.errors import InvalidError

_FIELDS = ("image", "cpus", "level", "runtime")
_IDLE = ("pause_after", "stop_after", "delete_after")


def add(parser: argparse.ArgumentParser) -> None:
    """Their arguments."""
    parser.add_argument("--image", help="the image (TANDEM_IMAGE, or tandem)")
    parser.add_argument("--memory", type=int, metavar="MIB", help="limit of memory (4096)")
    parser.add_argument("--cpus", type=float, help="limit of processors (none)")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of the sandbox; may be repeated")
    parser.add_argument("--label", action="append", default=[], metavar="NAME=VALUE", help="a label of yours; may be repeated")
    parser.add_argument(
        "--level", choices=("box", "plain", "restricted"), help="with the flags that give the agent a box, without, or as one user (box)"
    )
    parser.add_argument("--runtime", help="the engine's runtime, as runsc")
    add_idle(parser)


def add_idle(parser: argparse.ArgumentParser) -> None:
    """What becomes of a sandbox that nobody uses."""
    parser.add_argument("--pause-after", type=float, metavar="MINUTES", help="pause it after this time without any use (never)")
    parser.add_argument("--stop-after", type=float, metavar="MINUTES", help="stop it after this time paused (never)")
    parser.add_argument("--delete-after", type=float, metavar="MINUTES", help="remove it after this time stopped (never)")


def read(options: argparse.Namespace) -> dict[str, Any]:
    """What was said, as the service takes it."""
    fields: dict[str, Any] = {name: getattr(options, name) for name in _FIELDS if getattr(options, name) is not None}
    if options.memory is not None:
        fields["memory_mb"] = options.memory
    for name, words in (("environment", options.env), ("labels", options.label)):
        if words:
            fields[name] = pairs(words)
    if idle := read_idle(options):
        fields["idle"] = idle
    return fields


def read_idle(options: argparse.Namespace) -> dict[str, float]:
    """The same of what becomes of it."""
    return {f"{name}_minutes": getattr(options, name) for name in _IDLE if getattr(options, name) is not None}


def pairs(words: list[str]) -> dict[str, str]:
    """Words of the form NAME=VALUE. Raises `InvalidError`."""
    for word in words:
        if "=" not in word:
            raise InvalidError(f"{word!r} is not NAME=VALUE")
    return dict(word.split("=", 1) for word in words)
