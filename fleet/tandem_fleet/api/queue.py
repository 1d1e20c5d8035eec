"""One queue of what all sandboxes ask of people: claimed by one person, and answered."""

import hashlib
from typing import Annotated

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from tandem_fleet.api.authorization import Caller, Scope, needs
from tandem_fleet.errors import NotFoundError
from tandem_fleet.fleet import Fleet
from tandem_fleet.people.questions import Question

Person = Annotated[Caller, Depends(needs(Scope.PEOPLE))]
SKILL = "skill"
"""The label of a sandbox that says what one must know to help it."""


class Queue(BaseModel):
    """What is asked, the most urgent first, of these the oldest."""

    questions: list[Question]


class QueueAnswer(BaseModel):
    """An answer that needs no screen."""

    model_config = ConfigDict(extra="forbid")

    outcome: str = Field(max_length=40, description="One of the question's `answers`.")
    choice: str | None = Field(default=None, max_length=400)
    note: str = Field(default="", max_length=1000, description="What you want to tell the agent.")


def router(fleet: Fleet) -> APIRouter:
    """The routes."""
    routes = APIRouter()

    @routes.get("/v1/queue")
    async def get_queue(
        caller: Person,
        kind: Annotated[str | None, Query(max_length=40)] = None,
        skill: Annotated[str | None, Query(max_length=200, description="The sandbox's label `skill`.")] = None,
        label: Annotated[list[Annotated[str, Field(max_length=400, pattern="^[^=]+=")]] | None, Query(description="NAME=VALUE")] = None,
    ) -> Queue:
        """What is asked of people by all sandboxes that run."""
        wanted = dict(one.split("=", 1) for one in label or ()) | ({SKILL: skill} if skill is not None else {})
        found = await fleet.wall.queue(caller.tenant, holder_of(caller))
        return Queue(questions=[one for one in found if kind in (None, one.kind) and wanted.items() <= one.labels.items()])

    @routes.post("/v1/queue/{question}/claim")
    async def claim_question(caller: Person, question: str) -> Question:
        """Take it on, for a quarter of an hour, or hold it for longer. 409 says who has it."""
        return await fleet.wall.claim(caller.tenant, question, caller.name, holder_of(caller))

    @routes.post("/v1/queue/{question}/release", status_code=204)
    async def release_question(caller: Person, question: str) -> None:
        """Let others take it on. 404 where the caller has not claimed it."""
        if not await fleet.people.release(caller.tenant, question, holder_of(caller)):
            raise NotFoundError("you have not claimed this")

    @routes.post("/v1/queue/{question}/answer", status_code=204)
    async def answer_question(caller: Person, question: str, request: QueueAnswer) -> None:
        """Answer it in the caller's name. 409 says that another person has it, answered it, or that it is not asked any more."""
        await fleet.wall.answer(caller.tenant, question, caller.name, holder_of(caller), request.model_dump(exclude_none=True))

    return routes


def holder_of(caller: Caller) -> str:
    """What holds a claim: a browser's session, or the caller by name."""
    return caller.session or f"name:{hashlib.sha256(caller.name.encode()).hexdigest()[:59]}"
