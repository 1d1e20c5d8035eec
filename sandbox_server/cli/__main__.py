"""`sandbox`, the command."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from sandbox_server.cli import listing, output, request
from sandbox_server.cli.client import GATEWAY, Api, failure
from sandbox_server.cli.document import DocumentedOperation, read_operations
from sandbox_server.cli.options import gateway_url, parse, top_parser
from sandbox_server.cli.short_forms import FORMS, ShortForms
from sandbox_server.cli.stop import OK, USAGE, Stop

TOKEN_FILE = "/run/sandbox-agent/token"
DOCUMENT = Path(__file__).parent.parent / "openapi.json"
"""The document of built-in operations. Others, such as a custom tool's, are looked up in the running API."""
SHORT = {
    ("sandbox", "info"): ("sandbox", "get_context"),
    ("browser", "info"): ("browser", "get_info"),
    ("browser", "navigate"): ("browser-page", "navigate"),
    ("gui", "screenshot"): ("browser", "screenshot"),
    ("mcp", "list"): ("mcp", "list_mcp_servers"),
    ("mcp", "tools"): ("mcp", "list_mcp_tools"),
    ("mcp", "call"): ("mcp", "execute_mcp_tool"),
    ("skills", "list"): ("skills", "list_metadata"),
    ("ports", "list"): ("ports", "list_ports"),
}
"""Names of operations that people know from elsewhere, and shorter ones."""


def main(arguments: Sequence[str]) -> None:
    """Run one command line. Raises Stop on failure."""
    options = top_parser().parse_args(arguments)
    socket_path = GATEWAY if options.api_url == gateway_url() else None
    api = Api(options.api_url, options.token or _token(), options.wait, socket_path)
    document = json.loads(DOCUMENT.read_text("utf-8"))
    operations = read_operations(document)
    human = sys.stdout.isatty() and not options.json
    if options.tag is None:
        output.line(listing.overview(document))
    elif options.tag in FORMS and (options.tag, options.operation) != ("doctor", "doctor"):
        words = [] if options.operation is None else [options.operation, *options.fields]
        ShortForms(api, operations, human).run(options.tag, words)
    elif options.operation is None:
        output.line(listing.of_tag(_tagged(operations, options.tag) or _tagged(_running(api), options.tag), options.tag))
    else:
        tag, wanted = SHORT.get((options.tag, options.operation), (options.tag, options.operation.replace("-", "_")))
        found = _named(operations, tag, wanted) or _named(_running(api), tag, wanted)
        _call(api, found, options.fields, human=human)


def _call(api: Api, operation: DocumentedOperation | None, fields: Sequence[str], *, human: bool) -> None:
    if operation is None:
        raise Stop(USAGE, "there is no such operation; `sandbox` lists the tags, `sandbox TAG` its operations")
    given = parse(operation, fields)
    destination, follow, raw = (given.pop(name, None) for name in ("output_", "follow_", "body_"))
    body, headers = request.body_of(operation, given, raw)
    headers["Accept"] = "text/event-stream" if follow or operation.media_types == ["text/event-stream"] else "*/*"
    output.write(api.send(operation.verb, request.target(operation, given), body, headers), destination, human=human)


def _token() -> str | None:
    for name in ("SANDBOX_TOKEN", "SANDBOX_API_KEY"):
        if os.environ.get(name):
            return os.environ[name]
    try:
        return Path(TOKEN_FILE).read_text("utf-8").strip()
    except OSError:
        return None


def _running(api: Api) -> list[DocumentedOperation]:
    response = api.send("GET", "/v1/openapi.json")
    if response.status >= 400:
        raise failure(response)
    return read_operations(json.load(response))


def _named(operations: list[DocumentedOperation], tag: str, name: str) -> DocumentedOperation | None:
    return next((operation for operation in _tagged(operations, tag) if operation.name == name), None)


def _tagged(operations: list[DocumentedOperation], tag: str) -> list[DocumentedOperation]:
    return [operation for operation in operations if operation.tag == tag]


def run() -> NoReturn:
    """Run this process's command line and exit."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="surrogateescape")  # type: ignore[union-attr] # names of files may be any bytes
    try:
        main(sys.argv[1:])
    except Stop as stop:
        if stop.sentence:
            sys.stderr.write(f"sandbox: {stop.sentence}\n")
        raise SystemExit(stop.code) from None
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(OK) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    raise SystemExit(OK)


if __name__ == "__main__":
    run()
