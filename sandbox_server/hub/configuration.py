"""How a server behind the hub is described: the form of `mcp-servers.json`, which many clients of the protocol share."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, ValidationError, model_validator

from sandbox_server import patterns
from sandbox_server.core.errors import InvalidArgument
from sandbox_server.core.mcp.catalog import SERVERS
from sandbox_server.core.results import Scope

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MAX_WORDS = 1000
"""Entries of each list and mapping of one server."""
MAX_TEXT = 128 << 10
"""Characters of one argument or value: what the kernel takes (MAX_ARG_STRLEN, execve(2))."""


def _passable(text: str) -> str:
    if "\0" in text:
        raise ValueError("no program can be given a text with a NUL character in it")
    return text


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it has characters that no header, name or path of one line has")
    return text


def _variable(name: str) -> str:
    if not name or "=" in name:
        raise ValueError("this cannot name a variable of the environment")
    return _passable(name)


type Text = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_passable)]
type Word = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_one_line)]
type Variable = Annotated[str, Field(max_length=1024), AfterValidator(_variable)]


def _usable(pattern: str) -> str:
    patterns.glob(pattern)
    return pattern


class ServerConfig(BaseModel):
    """One server: a program of the agent's that speaks on its standard streams, or the URL of one that speaks Streamable HTTP.

    Fields that other clients know and this one does not are passed over.
    """

    model_config = ConfigDict(frozen=True)

    command: Word | None = None
    args: tuple[Text, ...] = Field(default=(), max_length=MAX_WORDS)
    env: dict[Variable, Text] = Field(default_factory=dict, max_length=MAX_WORDS)
    cwd: Word | None = None
    url: HttpUrl | None = None
    headers: dict[Word, Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_one_line)]] = Field(
        default_factory=dict, max_length=MAX_WORDS
    )
    type: Literal["stdio", "http", "streamable-http", "streamable_http", "streamableHttp"] | None = None
    disabled: bool = False
    hidden: bool = False
    """Left out of `/mcp`, unless `?servers=` names it."""
    prefix: Annotated[str, Field(max_length=64), AfterValidator(_one_line)] | None = None
    """What its tools' names begin with; the server's name and an underscore unless it says otherwise."""
    tags: tuple[Word, ...] = Field(default=(), max_length=MAX_WORDS)
    """What `?tags=` finds its tools by, beside its name."""
    scope: Scope = "code"
    """What a caller must be allowed, to use its tools."""
    tools: tuple[Annotated[Word, AfterValidator(_usable)], ...] | None = Field(default=None, max_length=MAX_WORDS)
    """Patterns of the names of the tools that are let through, without the prefix; all of them unless it says otherwise."""
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Seconds that one call may take; without a bound unless it says so."""

    @model_validator(mode="after")
    def _is_one_of_two(self) -> "ServerConfig":
        if not self.disabled and (self.command is None) == (self.url is None):
            raise ValueError("give either command or url")
        return self

    @property
    def kind(self) -> Literal["stdio", "http"]:
        """How it is spoken to."""
        return "stdio" if self.url is None else "http"


def read_server(name: str, given: Mapping[str, Any]) -> ServerConfig:
    """Check one server. Raises InvalidArgument that names it, and never a value, which may be a key."""
    if not _NAME.fullmatch(name):
        raise InvalidArgument(f"{name!r} cannot name an MCP server: use letters, digits, '-' and '_', at most 64 of them")
    if name in SERVERS:
        raise InvalidArgument(f"the MCP server {name!r} is the sandbox's own")
    try:
        return ServerConfig.model_validate(given)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, problem['loc'])) or 'it'}: {problem['msg']}" for problem in error.errors(include_url=False))
        raise InvalidArgument(f"the MCP server {name!r} is wrong: {'; '.join(problems)}") from None
