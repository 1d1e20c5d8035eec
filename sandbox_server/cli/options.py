"""The options of a command line, made from the document."""

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox_server.cli.document import DocumentedOperation
from sandbox_server.cli.request import opened


def gateway_url() -> str:
    """Return the URL of this machine's API."""
    return f"http://127.0.0.1:{os.environ.get('PUBLIC_PORT') or '8080'}"


def top_parser() -> argparse.ArgumentParser:
    """Return the parser of the options before the operation's name."""
    parser = argparse.ArgumentParser("sandbox", description="Call the operations of this sandbox.", allow_abbrev=False)
    url = os.environ.get("SANDBOX_API_URL") or gateway_url()
    parser.add_argument("--api-url", default=url, metavar="URL", help="where the API is (SANDBOX_API_URL); default: %(default)s")
    parser.add_argument("--token", help="key or token to sign in with (SANDBOX_TOKEN, SANDBOX_API_KEY); default: the agent's own")
    parser.add_argument("--wait", type=float, metavar="SECONDS", help="give up after this long without an answer; default: never")
    parser.add_argument("--json", action="store_true", help="write JSON to a terminal too")
    parser.add_argument("tag", nargs="?", help="what to act on; without it, the tags are listed")
    parser.add_argument("operation", nargs="?", help="what to do; without it, the tag's operations are listed")
    parser.add_argument("fields", nargs=argparse.REMAINDER, metavar="...", help="--help after an operation lists its fields")
    return parser


def parse(operation: DocumentedOperation, words: Sequence[str]) -> dict[str, Any]:
    """The fields that were given by name, and `output_`, `follow_` and perhaps `body_`, which say what becomes of body and answer."""
    hyphens = [_with_hyphens(word) if word.startswith("--") else word for word in words]
    return vars(operation_parser(operation).parse_args(hyphens))


def _with_hyphens(word: str) -> str:
    name, equals, value = word.partition("=")
    return name.replace("_", "-") + equals + value


def operation_parser(operation: DocumentedOperation) -> argparse.ArgumentParser:
    """The options of an operation: one for each of its fields, and those of the answer."""
    parser = argparse.ArgumentParser(
        f"sandbox {operation.tag} {operation.name}",
        description=f"{operation.entry['summary']}\n\n{operation.entry.get('description', '')}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        conflict_handler="resolve",
        allow_abbrev=False,
    )
    parser.add_argument("-o", "--output", dest="output_", metavar="FILE", help="write an answer that is a file here")
    parser.add_argument("-f", "--follow", dest="follow_", action="store_true", help="show what happens while it happens")
    if operation.body()[0] == "application/octet-stream":
        parser.add_argument("--body", dest="body_", metavar="FILE", required=True, help="file to send; - is standard input")
    for _, name, schema, required in operation.fields():
        _add_field(parser, name, schema, required=required)
    return parser


def _add_field(parser: argparse.ArgumentParser, name: str, schema: Mapping[str, Any], *, required: bool) -> None:
    option = f"--{name.replace('_', '-')}"
    default = f"default: {json.dumps(schema['default'])}" if schema.get("default") is not None else ""
    words = " ".join(word for word in (schema.get("description", ""), default) if word).replace("%", "%%")
    more: dict[str, Any] = {"dest": name, "help": words, "default": argparse.SUPPRESS, "required": required}
    if schema.get("type") == "boolean":
        parser.add_argument(option, action=argparse.BooleanOptionalAction, **more)
    elif schema.get("type") == "array" and schema.get("items", {}).get("type") in ("string", "integer", "number"):
        parser.add_argument(option, action="append", type=_reader(schema["items"]), metavar="VALUE", **more)
    else:
        parser.add_argument(option, type=_reader(schema), choices=schema.get("enum"), metavar=_metavar(schema), **more)


def _metavar(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    return "FILE" if schema.get("format") == "binary" else str(schema.get("type", "json")).upper()


def _reader(schema: Mapping[str, Any]) -> Any:
    """Return a function that parses an argument of the command line."""
    if schema.get("format") == "binary":
        return Path
    kinds: dict[Any, Any] = {"integer": int, "number": float, "string": _text}
    return kinds.get(schema.get("type"), json.loads)


def _text(value: str) -> str:
    """The word itself; `-` is standard input, `@name` a file, `@@` begins a word that begins with @."""
    if value == "-" or (value.startswith("@") and not value.startswith("@@")):
        with opened(value.removeprefix("@")) as stream:
            return stream.read().decode("utf-8", "surrogateescape")
    return value[1:] if value.startswith("@@") else value
