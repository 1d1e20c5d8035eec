"""What every adapter tells a model: the tool `ask_person`, and why a call failed."""

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from tandem.errors import HeldByPerson, TandemError

if TYPE_CHECKING:
    from tandem import AsyncSandbox, Sandbox
    from tandem.api.shared import Handoff

NAME = "ask_person"
DESCRIPTION = (
    "Ask the person who shares this computer, and wait for the answer. Ask before you do what cannot be undone (confirm), for a decision "
    "(choice), for a one-time code (otp), or to have a login, CAPTCHA or payment done on the screen. Never ask for a password as text."
)
MOST_SHOWN = 30_000
"""Characters of a text that a model reads."""
_OUTCOMES = {
    "done": "The person did it. Look at the screen before you go on.",
    "partly": "The person did a part of it. Look at the screen before you go on.",
    "cannot": "The person did not do it.",
    "instead": "The person wants something else.",
    "timeout": "Nobody answered in time. Do not take this for a yes.",
    "cancelled": "The question was withdrawn. Do not take this for a yes.",
}


class Question(BaseModel):
    """The arguments of `ask_person`."""

    kind: Literal["confirm", "choice", "login", "captcha", "otp", "payment", "free"] = Field(description="What is asked for.")
    question: str = Field(min_length=1, description="What the person reads: what is asked, and why.")
    choices: list[str] = Field(default=[], description="What the person chooses from, of the kind choice.")
    url: str | None = Field(default=None, description="The page that it is about.")

    def asked_of(self, sandbox: "Sandbox", timeout: float) -> str:
        """The answer of a person, as a model reads it. Nobody's answer within `timeout` seconds is one, too. Raises TandemError."""
        answer = sandbox.ask(self.question, kind=self.kind, choices=self.choices, url=self.url, timeout=timeout)
        return answer_text(answer)

    async def asked_of_async(self, sandbox: "AsyncSandbox", timeout: float) -> str:
        """The same, of an asynchronous sandbox. Raises TandemError."""
        answer = await sandbox.ask(self.question, kind=self.kind, choices=self.choices, url=self.url, timeout=timeout)
        return answer_text(answer)


def answer_text(answer: "Handoff") -> str:
    """What a person answered, as a model reads it."""
    outcome = str(answer.outcome)
    if answer.confirmed is not None:
        said = "The person said yes." if answer.confirmed else "The person said no. Do not do it."
    elif answer.choice:
        said = f"The person chose: {answer.choice}"
    elif outcome == "done" and answer.kind in ("otp", "free", "choice") and answer.note:
        return f"The person answered: {answer.note}"
    else:
        said = _OUTCOMES.get(outcome, f"The outcome is {outcome}.")
    return f"{said} They wrote: {answer.note}" if answer.note else said


def failure_text(error: TandemError) -> str:
    """Why a call failed, as a model reads it."""
    if not isinstance(error, HeldByPerson):
        return shortened(str(error))
    who = "A person types something private" if error.reason == "private" else "A person has control of the computer"
    if error.outcome == "unknown":
        return f"{who} now, and took over in the middle of this. It may have been done: look at the screen before you repeat it."
    return f"{who} now, so nothing was done. Do not try again at once: wait, or do what does not need the screen."


def shortened(text: str) -> str:
    """A text without its middle, where it is longer than a model should read."""
    if len(text) <= MOST_SHOWN:
        return text
    half = MOST_SHOWN // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters are left out]\n{text[-half:]}"


def schema() -> dict[str, Any]:
    """The arguments of `ask_person` as JSON Schema."""
    return Question.model_json_schema()
