"""Write what the build adds to the package: `tandem/api` from the API's description, and `tandem/_sync` from `tandem/_async`.

Usage: python generate.py OPENAPI.json FOLDER. FOLDER gets `api` and `_sync`.

A tag of the description becomes a module with the models that it alone uses, and two classes of operations, one of them asynchronous.
Models of several tags are in `shared`. A value that is one of several words is of these or `str`: a newer server may know more.
"""

import json
import keyword
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

Schema = Mapping[str, Any]

VERBS = ("get", "put", "post", "patch", "delete", "head")
REFERENCE = "#/components/schemas/"
RAISED = "FileOperationError"
"""What an operation on a file answers where it failed: the client raises it."""
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
HEAD = '"""{about} Generated from the API\'s description."""\n\nfrom __future__ import annotations\n\n'
IMPORTS = """from collections.abc import AsyncIterator, Iterator
from typing import Any, Literal
from urllib.parse import quote

from pydantic import Field

from tandem._async.connection import AsyncConnection
from tandem._sync.connection import Connection
from tandem.model import Model
from tandem.wire import UNSET, Event, FileContent, Unset
"""
SYNCHRONOUS = (
    (r"\basync (def|with|for) ", r"\1 "),
    (r"\bawait ", ""),
    (r"\bAsync([A-Z]\w*)", r"\1"),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\baclose\b", "close"),
    (r"\baread\b", "read"),
    (r"\baiter_(\w+)", r"iter_\1"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\basyncio\.to_thread\((.+?), ", r"\1("),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"^import asyncio(\nimport time)?$", "import time"),
    (r"\btandem\._async\b", "tandem._sync"),
)
"""What is otherwise where nothing waits. The sources of `_async` use no other words of asyncio."""


def python_name(name: str) -> str:
    """The word of a description as Python writes it."""
    word = re.sub(r"\W", "_", name).lstrip("_")
    return f"{word}_" if keyword.iskeyword(word) or word in ("self", "model_config") or word.startswith("model_") else word


def class_name(tag: str) -> str:
    """The class of a tag's operations."""
    return "".join(word.capitalize() for word in re.split(r"\W", tag))


def references(schema: Any) -> Iterator[str]:
    """The schemas that one names, in all of its parts."""
    if isinstance(schema, dict):
        if str(schema.get("$ref", "")).startswith(REFERENCE):
            yield schema["$ref"].removeprefix(REFERENCE)
        for name, part in schema.items():
            if name != "discriminator":
                yield from references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from references(part)


def annotation(schema: Schema) -> str:
    """The type of a schema."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(REFERENCE)
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " | ".join(dict.fromkeys(annotation(one) for one in schema[word] if one.get("$ref") != REFERENCE + RAISED))
    if "const" in schema:
        return f"Literal[{schema['const']!r}]"
    if "enum" in schema:
        words = [one for one in schema["enum"] if one is not None]
        return " | ".join([f"Literal[{', '.join(map(repr, words))}]", "str"] + ["None"] * (len(words) < len(schema["enum"])))
    match schema.get("type"):
        case "array":
            return f"list[{annotation(schema.get('items', {}))}]"
        case "object":
            values = schema.get("additionalProperties")
            return f"dict[str, {annotation(values) if isinstance(values, dict) else 'Any'}]"
        case str() as plain:
            return "bytes" if schema.get("format") == "binary" else PLAIN[plain]
    return "Any"


def docstring(text: str, indent: str) -> str:
    """A text as a docstring."""
    lines = text.replace("\\", "\\\\").replace('"""', "'''").strip().splitlines()
    end = " " if lines[-1].endswith('"') else ""
    return f'{indent}"""' + "\n".join([lines[0], *(f"{indent}{line}".rstrip() for line in lines[1:])]) + f'{end}"""\n'


class Signature:
    """The parameters of a method, and which of them go into the query and the body."""

    def __init__(self) -> None:
        self.positional: list[str] = []
        self.required: list[str] = []
        self.optional: list[str] = []
        self.sent: dict[str, list[str]] = {}

    def add(self, name: str, schema: Schema, where: str) -> None:
        """Take a parameter of the description; `x-required` says whether it must be given."""
        word, kind = python_name(name), annotation(schema)
        if where == "path":
            self.positional.append(f"{word}: {kind}")
            return
        if schema["x-required"]:
            self.required.append(f"{word}: {kind}")
        else:
            self.optional.append(f"{word}: {kind} | Unset = UNSET")
        self.sent.setdefault(where, []).append(f"{name!r}: {word}")

    def __str__(self) -> str:
        named = [*self.required, *self.optional]
        return ", ".join(["self", *self.positional, *(["*"] if named else []), *named])


class Description:
    """The API's description, and which module has which model."""

    def __init__(self, document: Schema) -> None:
        self.schemas: dict[str, Any] = document["components"]["schemas"]
        self.operations: dict[str, list[tuple[str, str, Any]]] = defaultdict(list)
        for path, verbs in document["paths"].items():
            for verb, operation in verbs.items():
                if verb in VERBS:
                    self.operations[operation["tags"][0]].append((verb, path, operation))
        users: dict[str, set[str]] = defaultdict(set)
        for tag, operations in self.operations.items():
            for name in self._reached(references([operation for _, _, operation in operations])):
                users[name].add(tag)
        self.place = {name: next(iter(tags)) if len(tags) == 1 else "shared" for name, tags in users.items()}

    def _reached(self, names: Iterable[str]) -> set[str]:
        found, left = set[str](), list(names)
        while left:
            name = left.pop()
            if name not in found and name in self.schemas:
                found.add(name)
                left.extend(references(self.schemas[name]))
        return found

    def fields(self, schema: Schema) -> dict[str, Any]:
        """The fields of an object, with those that must be given first."""
        resolved = self.schemas[annotation(schema)] if "$ref" in schema else schema
        properties: dict[str, Any] = resolved.get("properties", {})
        required = resolved.get("required", [])
        return {
            name: {**properties[name], "x-required": name in required} for name in sorted(properties, key=lambda name: name not in required)
        }

    def module(self, tag: str) -> str:
        """The module of a tag, or `shared`."""
        own = [name for name in self.schemas if self.place.get(name) == tag]
        lines = [HEAD.format(about=f"The operations of `{tag}`." if tag != "shared" else "Models of several tags."), IMPORTS]
        used = set(references([self.schemas[name] for name in own] + [operation for _, _, operation in self.operations.get(tag, [])]))
        if others := sorted(name for name in used if self.place.get(name) == "shared") if tag != "shared" else []:
            lines.append("from tandem.api.shared import (\n" + "".join(f"    {name},\n" for name in others) + ")\n")
        models = [name for name in own if "properties" in self.schemas[name]]
        lines += ["\n" + self.model(name) for name in models]
        lines += [f"\n{name} = {annotation(self.schemas[name])}\n" for name in self.ordered(set(own) - set(models))]
        for prefix in ("", "Async") if tag in self.operations else ():
            lines.append(self.group(tag, prefix))
        return "".join(lines)

    def ordered(self, names: set[str]) -> list[str]:
        """Aliases, each after those that it names."""
        found: list[str] = []
        while left := [name for name in self.schemas if name in names and name not in found]:
            ready = [name for name in left if not set(references(self.schemas[name])) & set(left)]
            found += ready or left
        return found

    def model(self, name: str) -> str:
        """The class of an object."""
        lines = [f"\nclass {name}(Model):\n"]
        if about := self.schemas[name].get("description"):
            lines.append(docstring(about, "    "))
        for field, schema in self.fields(self.schemas[name]).items():
            kind, word = annotation(schema), python_name(field)
            default = None if isinstance(schema.get("default"), dict) else schema.get("default")
            given = [] if schema["x-required"] else [f"default={default!r}"]
            if given and default is None and "None" not in kind.split(" | "):
                kind += " | None"
            given += [f"alias={field!r}"] * (word != field)
            ending = f" = Field({', '.join(given)})" if given else ""
            lines.append(f"    {word}: {kind}{ending}\n")
            if schema.get("description"):
                lines.append(docstring(schema["description"], "    "))
        return "".join(lines) + ("    pass\n" if len(lines) == 1 else "")

    def group(self, tag: str, prefix: str) -> str:
        """The class of a tag's operations."""
        lines = [f"\n\nclass {prefix}{class_name(tag)}:\n", docstring(f"The operations of `{tag}`.", "    "), "\n"]
        lines.append(f"    def __init__(self, connection: {prefix}Connection) -> None:\n        self._connection = connection\n")
        return "".join(lines + [self.operation(*operation, prefix) for operation in self.operations[tag]])

    def operation(self, verb: str, path: str, operation: Any, prefix: str) -> str:
        """A method."""
        waits = "async " if prefix else ""
        signature = Signature()
        for one in operation.get("parameters", []):
            signature.add(one["name"], {**one["schema"], "x-required": one["required"]}, one["in"])
        more = self._body(operation.get("requestBody"), signature)
        kind, how = self._answer(operation)
        if how == "stream":
            waits, kind = "", f"{prefix and 'Async'}Iterator[Event]"
        place = "f" * ("{" in path) + repr(re.sub(r"{(\w+)}", lambda found: f"{{quote(str({python_name(found[1])}), safe='')}}", path))
        values = [f"{name}={{{', '.join(fields)}}}" for name, fields in signature.sent.items()]
        typed = [kind] if how in ("call", "whole") else []
        call = f"self._connection.{how}({', '.join([repr(verb.upper()), place, *typed, *values, *more])})"
        about = f"{operation['summary']}\n\n{operation.get('description', '')}".strip()
        done = f"answer: {kind} = {'await ' * bool(waits)}{call}\n        return answer"
        named = f"{waits}def {python_name(operation['x-name'])}"
        return f"\n    {named}({signature}) -> {kind}:\n{docstring(about, '        ')}        {done}\n"

    def _body(self, body: Any, signature: "Signature") -> list[str]:
        """The rest of what a call is given."""
        if body is None:
            return []
        kind, content = next(iter(body["content"].items()))
        if kind == "application/octet-stream":
            signature.required.append("content: bytes")
            return ["content=content"]
        if not self.fields(content["schema"]):
            signature.required.append("document: dict[str, Any]")
            return ["body=document"]
        for name, schema in self.fields(content["schema"]).items():
            kept = {"$ref": REFERENCE + "FileContent", "x-required": schema["x-required"]} if schema.get("format") == "binary" else schema
            signature.add(name, kept, "body")
        return ["form=True"] if kind == "multipart/form-data" else []

    def _answer(self, operation: Any) -> tuple[str, str]:
        """The type of an answer, and the method that gets it."""
        contents = operation["responses"]["200"].get("content", {})
        if "application/json" not in contents:
            if "text/event-stream" in contents:
                return "", "stream"
            return ("str", "text") if "text/plain" in contents else ("bytes", "read")
        schema = contents["application/json"]["schema"]
        if {"success", "data"} <= schema.get("properties", {}).keys():
            return annotation(schema["properties"]["data"]), "call"
        return annotation(schema), "whole"


def synchronous(source: str) -> str:
    """The source of a module of `_async` where nothing waits."""
    for pattern, replacement in SYNCHRONOUS:
        source = re.sub(pattern, replacement, source, flags=re.MULTILINE)
    return source


def generate(document: Schema, sources: Path) -> Iterator[tuple[str, str]]:
    """Files below the package, and what they hold."""
    description = Description(document)
    tags = sorted(description.operations)
    for tag in [*tags, "shared"]:
        yield f"api/{python_name(tag)}.py", description.module(tag)
    yield "api/__init__.py", index(tags)
    for source in sorted(sources.glob("*.py")):
        yield f"_sync/{source.name}", synchronous(source.read_text("utf-8"))


def index(tags: list[str]) -> str:
    """The two classes that have all groups; a group is imported when it is used first."""
    lines = [
        HEAD.format(about="All operations, by tag."),
        "from typing import TYPE_CHECKING\n\n",
        "from tandem._async.connection import AsyncConnection\nfrom tandem._sync.connection import Connection\n",
    ]
    lines.append("\nif TYPE_CHECKING:\n")
    lines += [f"    from tandem.api.{python_name(tag)} import Async{class_name(tag)}, {class_name(tag)}\n" for tag in tags]
    for prefix in ("", "Async"):
        lines.append(f'\n\nclass {prefix}Api:\n    """All operations, by tag."""\n')
        lines.append(f"\n    def __init__(self, connection: {prefix}Connection) -> None:\n        self._connection = connection\n")
        for tag in tags:
            name, word = f"{prefix}{class_name(tag)}", python_name(tag)
            lines.append(f"\n    @property\n    def {word}(self) -> {name}:\n{docstring(f'The operations of `{tag}`.', '        ')}")
            lines.append(f"        from tandem.api.{word} import {name}\n\n        return {name}(self._connection)\n")
    return "".join(lines)


def write(document: Path, folder: Path) -> None:
    """Write all files below a folder."""
    for name, text in generate(json.loads(document.read_bytes()), Path(__file__).parent / "tandem" / "_async"):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
