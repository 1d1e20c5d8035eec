"""The configuration of an upstream server: the form of `mcp-servers.json` that many MCP clients share."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, HttpUrl, ValidationError, model_validator

from sandbox_server import patterns
from sandbox_server.core.errors import InvalidArgument
from sandbox_server.core.results import Scope
from sandbox_server.mcp.tools.catalog import SERVERS

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
MAX_WORDS = 1000
"""Entries of each list and mapping of one server."""
MAX_TEXT = 128 << 10
"""Characters of one argument or value: the kernel's limit (MAX_ARG_STRLEN, execve(2))."""


def _passable(text: str) -> str:
    if "\0" in text:
        raise ValueError("a program argument cannot contain a NUL character")
    return text


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("it contains a control character or a line break")
    return text


def _variable(name: str) -> str:
    if not name or "=" in name:
        raise ValueError("this is not a valid name of an environment variable")
    return _passable(name)


type Text = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(_passable)]
type Word = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_one_line)]
type Variable = Annotated[str, Field(max_length=1024), AfterValidator(_variable)]


def _usable(pattern: str) -> str:
    patterns.glob(pattern)
    return pattern


class ServerConfig(BaseModel):
    """One server: a program that speaks MCP over stdio, or the URL of one that speaks Streamable HTTP.

    Fields of other clients are ignored.
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
    """Leave the server out of `/mcp`, unless `?servers=` names it."""
    prefix: Annotated[str, Field(max_length=64), AfterValidator(_one_line)] | None = None
    """The prefix of its tools' names. Default: the server's name and an underscore."""
    tags: tuple[Word, ...] = Field(default=(), max_length=MAX_WORDS)
    """Tags for `?tags=`, beside its name."""
    scope: Scope = "code"
    """The scope that a caller needs to use its tools."""
    tools: tuple[Annotated[Word, AfterValidator(_usable)], ...] | None = Field(default=None, max_length=MAX_WORDS)
    """Name patterns of the tools to expose, without the prefix. Default: all."""
    timeout: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Seconds that one call may take. Default: no limit."""

    @model_validator(mode="after")
    def _has_one_transport(self) -> "ServerConfig":
        if not self.disabled and (self.command is None) == (self.url is None):
            raise ValueError("give either command or url")
        return self

    @property
    def kind(self) -> Literal["stdio", "http"]:
        """Its transport."""
        return "stdio" if self.url is None else "http"


def read_server(name: str, given: Mapping[str, Any]) -> ServerConfig:
    """Validate one server. Raises InvalidArgument, which names the server and no value, because a value may be a key."""
    if not _NAME.fullmatch(name):
        raise InvalidArgument(f"{name!r} cannot name an MCP server: use letters, digits, '-' and '_', at most 64 of them")
    if name in SERVERS:
        raise InvalidArgument(f"the MCP server {name!r} is the sandbox's own")
    try:
        return ServerConfig.model_validate(given)
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, problem['loc'])) or 'it'}: {problem['msg']}" for problem in error.errors(include_url=False))
        raise InvalidArgument(f"the MCP server {name!r} is wrong: {'; '.join(problems)}") from None
