"""What runs inside pages: one function a file."""

from functools import cache
from pathlib import Path


@cache
def script(name: str) -> str:
    """The source of a function."""
    return (Path(__file__).parent / f"{name}.js").read_text(encoding="utf-8")
