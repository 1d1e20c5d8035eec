"""The first parts, as tests need them."""

from sandbox_server.composition.first import First, build_first
from sandbox_server.settings import load


def first(**environ: str) -> First:
    """The first parts with these variables."""
    return build_first(load(environ))
