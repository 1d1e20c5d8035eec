"""How people learn of what the agent asks them: a section of `settings`. Stdlib only, for the sake of boot."""

from dataclasses import dataclass

from sandbox_server.variables import HTTP_URL, OPTIONAL_PATH, SECRET, Secret, variable


@dataclass(frozen=True, slots=True)
class Handoff:
    """What the agent asks of people"""

    file: str | None = variable(
        "HANDOFF_FILE",
        OPTIONAL_PATH,
        None,
        "Where requests to people are kept, an SQLite file in a directory that user 990 may write: on a volume they outlive the container.",
    )
    webhook: str | None = variable("HANDOFF_WEBHOOK_URL", HTTP_URL, None, "Where every request to a person is posted, as JSON.")
    secret: Secret | None = variable(
        "HANDOFF_WEBHOOK_SECRET", SECRET, None, "Signs it: `X-Tandem-Signature` is HMAC-SHA256 over time, a dot and the body."
    )
    link: str | None = variable(
        "HANDOFF_LINK_URL",
        HTTP_URL,
        None,
        "Where people reach this sandbox: the webhook then has a link that signs in once, to see and control.",
    )
