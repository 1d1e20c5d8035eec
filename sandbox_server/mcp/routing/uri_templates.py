"""Matches resource URIs against URI templates (RFC 6570), in linear time."""


def matches(template: str, uri: str) -> bool:
    """Whether a URI may expand a template, with at least one character for each variable; its server decides whether it does."""
    first, *literals = _literals(template)
    if not literals or not uri.startswith(first):
        return not literals and uri == first
    position = len(first)
    for literal in literals[:-1]:
        found = uri.find(literal, position + 1)
        if found < 0:
            return False
        position = found + len(literal)
    return uri.endswith(literals[-1]) and len(uri) - len(literals[-1]) > position


def _literals(template: str) -> list[str]:
    """The literal text before, between and after the variables."""
    made, position = [""], 0
    while (opened := template.find("{", position)) >= 0 and (closed := template.find("}", opened)) >= 0:
        made[-1] += template[position:opened]
        made.append("")
        position = closed + 1
    made[-1] += template[position:]
    return made
