"""What callers send, and what they are answered."""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tandem_fleet.backends.backend import Finding
from tandem_fleet.sandboxes import Name, Sandbox, Spec, State

LARGEST = 2**63 - 1
"""Numbers that a store keeps."""
MAX_BODY = 16 << 20
"""Bytes of a request: 256 variables of 32 KiB are half of it."""
NAME = r"[A-Za-z][A-Za-z0-9_]{0,63}"
"""Names of secrets and of their variables, as a sandbox takes them."""
SecretName = Annotated[str, Field(pattern=f"^{NAME}$")]
Texts = Annotated[list[Annotated[str, Field(min_length=1, max_length=1024)]], Field(max_length=64)]


class SecretBinding(BaseModel):
    """Which requests a secret is put into."""

    model_config = ConfigDict(extra="forbid")

    hosts: Texts = Field(min_length=1)
    methods: Texts = []
    paths: Texts = []
    places: Texts = []


class SandboxSecret(BaseModel):
    """A secret as the sandbox's API takes it (docs/secrets.md). What is wrong in form is refused when it is asked for, not at the start."""

    model_config = ConfigDict(extra="forbid")

    value: str | None = Field(default=None, min_length=1, max_length=16_384)
    source: dict[str, Any] | None = Field(default=None, min_length=1, max_length=1)
    bindings: list[SecretBinding] = Field(default=[], max_length=16)
    variable: str = Field(default="", pattern=f"^({NAME})?$")
    placeholder: str = Field(default="", pattern=r"^([A-Za-z0-9_-]{12,256})?$")
    fill: Texts = []
    kind: Literal["text", "totp"] = "text"

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        from_elsewhere = self.source is not None and "api" not in self.source  # a sandbox lists a value of the API as that source
        if (self.value is None) != from_elsewhere:
            raise ValueError("a secret has either `value` or `source`")
        if not self.bindings and not self.fill:
            raise ValueError("a secret is bound to a host, or may be filled into a page")
        return self


Secrets = Annotated[dict[SecretName, SandboxSecret], Field(max_length=64, description="Secrets that are put into it before it is ready.")]


def put_in(secrets: Mapping[str, SandboxSecret] | None) -> dict[str, dict[str, Any]] | None:
    """Secrets as they are sent to the sandbox."""
    return None if secrets is None else {name: secret.model_dump(exclude_unset=True) for name, secret in secrets.items()}


class CreateRequest(Spec):
    """A sandbox to make. Without an image it gets the fleet's."""

    image: str | None = Field(default=None, min_length=1, max_length=512)  # type: ignore[assignment] # as it is sent
    name: Name | None = Field(default=None, description="What it is called; its id unless said otherwise.")
    egress: dict[str, Any] | None = Field(default=None, description="Its network policy (docs/egress.md).")
    secrets: Secrets | None = None

    def spec(self, image: str) -> Spec:
        """What it is made of."""
        fields = self.model_dump(exclude={"name", "image", "egress", "secrets"}, exclude_unset=True)
        if self.image or not self.template:  # otherwise it is the template's
            fields["image"] = self.image or image
        return Spec.model_validate(fields)


class SandboxPage(BaseModel):
    """A part of a list."""

    sandboxes: list[Sandbox]
    next_cursor: int | None = None


class TokenRequest(BaseModel):
    """What a token shall allow."""

    model_config = ConfigDict(extra="forbid")

    scopes: list[str] = Field(min_length=1, max_length=16, description="Some of view, control, shell, files, browser, code, admin.")
    subject: str = Field(
        default="fleet", min_length=1, max_length=128, pattern=r"^[\w.@:+-]+$", description="The caller's name in the sandbox's record."
    )
    seconds: int = Field(default=900, ge=1, le=86_400)


class Token(BaseModel):
    """A token, and where it is used."""

    token: str
    address: str = Field(description="Where the sandbox's gateway answers; empty while it does not run.")
    url: str = Field(description="Where it is reached through the gateway, which wakes it; empty where there is no gateway.")
    state: State
    seconds: int


class CheckedFinding(BaseModel):
    """One of the things that `doctor` looks at."""

    name: str
    holds: bool
    detail: str
    hint: str


class Findings(BaseModel):
    """All of them."""

    holds: bool
    findings: list[CheckedFinding]

    @classmethod
    def of(cls, found: Iterable[Finding]) -> Self:
        """As the fleet found them."""
        checked = [CheckedFinding(name=one.name, holds=one.holds, detail=one.detail, hint=one.hint) for one in found]
        return cls(holds=all(one.holds for one in checked), findings=checked)
