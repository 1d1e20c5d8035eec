"""Whether one JSON Schema can stand where another stood: what a client may send we take, what we answer a client understands."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

type Schema = Mapping[str, Any]

LIMITS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "minItems", "maxItems")


@dataclass(frozen=True)
class Side:
    """A document's schemas, and the means to look through its references."""

    components: Mapping[str, Schema]

    def variants(self, schema: Schema) -> list[Schema]:
        """What a value may be: each alternative without references; an empty schema means anything."""
        if "$ref" in schema:
            return self.variants(self.components[schema["$ref"].rsplit("/", 1)[1]])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return [variant for inner in schema[key] for variant in self.variants(inner)]
        if isinstance(schema.get("type"), list):
            return [{**schema, "type": kind} for kind in schema["type"]]
        return [schema]

    def object_of(self, schema: Schema) -> Schema:
        """The one object that the schema describes."""
        [found] = [variant for variant in self.variants(schema) if variant.get("type") == "object"]
        return found


@dataclass(frozen=True)
class Comparison:
    """Our schemas against the published ones, from the side of a `request` or of an `answer`."""

    ours: Side
    theirs: Side
    answer: bool

    def problems(self, ours: Schema, theirs: Schema, at: str, *, nullable: bool = False) -> Iterator[str]:
        """Every difference that a client could meet. With `nullable`, null need not be in our schema: the dispatcher takes it."""
        mine, published = self.ours.variants(ours), self.theirs.variants(theirs)
        giving, taking = (mine, published) if self.answer else (published, mine)
        for variant in giving:
            if nullable and variant.get("type") == "null":
                continue
            tried = [list(self._pair(variant, other, at)) for other in taking if _same_kind(variant, other)]
            if not tried:
                yield f"{at}: {_shown(variant)} is not among {', '.join(map(_shown, taking))}"
            elif all(tried):
                yield from min(tried, key=len)

    def _pair(self, giving: Schema, taking: Schema, at: str) -> Iterator[str]:
        ours, theirs = (giving, taking) if self.answer else (taking, giving)
        if "enum" in taking and not set(giving.get("enum", ())) <= set(taking["enum"]):
            yield f"{at}: {giving.get('enum', 'any value')} is not within {taking['enum']}"
        if "enum" in taking and "enum" not in giving:
            yield f"{at}: any value is not within {taking['enum']}"
        if not self.answer:
            yield from _limits(ours, theirs, at)
        if "properties" in theirs:
            yield from self._objects(ours, theirs, at)
        if "items" in theirs:
            yield from self.problems(ours.get("items", {}), theirs["items"], f"{at}[]")
        inner = theirs.get("additionalProperties")
        if isinstance(inner, Mapping) and isinstance(ours.get("additionalProperties"), Mapping):
            yield from self.problems(ours["additionalProperties"], inner, f"{at}{{}}")

    def _objects(self, ours: Schema, theirs: Schema, at: str) -> Iterator[str]:
        mine = ours.get("properties", {})
        for name, published in theirs["properties"].items():
            if name not in mine:
                yield f"{at}.{name}: missing"
                continue
            has_default = not self.answer and name not in ours.get("required", ())
            yield from self.problems(mine[name], published, f"{at}.{name}", nullable=has_default)
            if not self.answer:
                yield from _defaults(mine[name], published, f"{at}.{name}")
        if not self.answer:
            yield from _required(set(ours.get("required", ())), set(theirs.get("required", ())), at)


def _same_kind(giving: Schema, taking: Schema) -> bool:
    kinds = (_kind(giving), _kind(taking))
    return kinds[0] == kinds[1] or kinds[1] is None or kinds == ("integer", "number")


def _kind(schema: Schema) -> str | None:
    if "const" in schema or "enum" in schema:
        return {str: "string", int: "integer", bool: "boolean"}[type(schema.get("const", next(iter(schema.get("enum", [""])))))]
    return schema.get("type")


def _limits(ours: Schema, theirs: Schema, at: str) -> Iterator[str]:
    for name in LIMITS:
        if name in theirs and ours.get(name) != theirs[name]:
            yield f"{at}: {name} is {ours.get(name)}, not {theirs[name]}"


def _defaults(ours: Schema, theirs: Schema, at: str) -> Iterator[str]:
    if ours.get("default") != theirs.get("default"):
        yield f"{at}: defaults to {ours.get('default')!r}, not {theirs.get('default')!r}"


def _required(ours: set[str], theirs: set[str], at: str) -> Iterator[str]:
    yield from (f"{at}.{name}: need not be given, and must" for name in sorted(ours - theirs))
    yield from (f"{at}.{name}: must be given, and need not" for name in sorted(theirs - ours))


def _shown(schema: Schema) -> str:
    return str(schema.get("type", schema.get("const", "anything")))
