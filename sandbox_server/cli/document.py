"""The operations in an OpenAPI document."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class DocumentedOperation:
    """One operation of the document."""

    tag: str
    name: str
    verb: str
    path: str
    entry: Mapping[str, Any]
    components: Mapping[str, Any]

    @property
    def media_types(self) -> Sequence[str]:
        """The media types of its answers."""
        return list(self.entry["responses"]["200"]["content"])

    def body(self) -> tuple[str, dict[str, Any]]:
        """Media type and schema of the body; an empty media type if it has none."""
        for media_type, content in self.entry.get("requestBody", {}).get("content", {}).items():
            return media_type, self._resolved(content["schema"])
        return "", {}

    def fields(self) -> Iterator[tuple[str, str, dict[str, Any], bool]]:
        """Yield place (path, query, body, or whole for the whole body), name, schema and whether it is required."""
        for found in self.entry.get("parameters", []):
            yield found["in"], found["name"], self._resolved(found["schema"]), found["required"]
        schema = self.body()[1]
        if whole := self.entry.get("x-body"):
            yield "whole", whole, schema, False
            return
        for name, inner in schema.get("properties", {}).items():
            yield "body", name, self._resolved(inner), name in schema.get("required", [])

    def _resolved(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        """Without a reference, and without null as an alternative."""
        if "$ref" in schema:
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            return {**self._resolved(self.components[schema["$ref"].rsplit("/", 1)[1]]), **rest}
        real = [inner for inner in schema.get("anyOf", []) if inner.get("type") != "null"]
        return {**self._resolved(real[0]), **schema} if len(real) == 1 else dict(schema)


def read_operations(document: Mapping[str, Any]) -> list[DocumentedOperation]:
    """Every operation of a document."""
    components = document["components"]["schemas"]
    return [
        DocumentedOperation(entry["tags"][0], entry["x-name"], verb.upper(), path, entry, components)
        for path, verbs in document["paths"].items()
        for verb, entry in verbs.items()
    ]
