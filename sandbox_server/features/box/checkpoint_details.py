"""One checkpoint with what it keeps beside files, and its programs, each to be started again."""

import shlex
from collections.abc import Awaitable, Callable

from pydantic import Field

from sandbox_server.core import Call, Conflict, Model, NotFound, operation
from sandbox_server.drivers.box.client import BoxClient
from sandbox_server.drivers.forks.fork_state import KeptProgram, KeptState
from sandbox_server.features.box.checkpoint_state import CheckpointStates, seen_by
from sandbox_server.features.box.checkpoints import Checkpoint, CheckpointRef

type Start = Callable[[str, str], Awaitable[tuple[str, str]]]
"""Starts a command line in a directory, and returns the session and the command."""


class CheckpointShell(Model):
    """A shell session of that moment."""

    id: str
    directory: str


class CheckpointTab(Model):
    """A tab of that moment, in the order of the strip."""

    url: str
    title: str
    front: bool
    """Whether it was in front."""
    x: float
    """How far its page was scrolled to the right, in CSS pixels."""
    y: float
    """How far down."""
    fields: int
    """Fields of forms that were filled in; passwords and other secrets are never kept."""


class CheckpointProgram(Model):
    """A program that ran in a session."""

    number: int
    """What it is started again by."""
    argv: list[str]
    """Its words; `***` stands for a secret."""
    directory: str
    """Where it ran; empty if that is not known."""
    uid: int
    """Its user."""
    session: str
    """The session that started it, `shell:ID` or `bash:ID`."""
    startable: bool
    """Whether it can be started again as it was."""


class CheckpointDetail(Model):
    """A checkpoint, and what it keeps beside files."""

    checkpoint: Checkpoint
    shells: list[CheckpointShell]
    """Sessions of programs; a person's own are not kept."""
    tabs: list[CheckpointTab]
    programs: list[CheckpointProgram]
    """What ran in sessions. Nothing of it is started by itself."""
    problems: list[str]
    """What is missing, and why."""


class CheckpointProgramRef(CheckpointRef):
    """Which program of which checkpoint."""

    number: int = Field(ge=0, le=1000)
    """Its number."""


class CheckpointProgramStarted(Model):
    """Where it runs."""

    session_id: str
    """Bash session: `POST /v1/bash/output` reads what it writes, `POST /v1/bash/kill` ends it."""
    command_id: str


class CheckpointDetails:
    """Tells of one checkpoint. `agent` is the uid of the agent's programs, as which alone they are started again."""

    tag = "checkpoints"

    def __init__(self, box: BoxClient, states: CheckpointStates, start: Start, agent: int) -> None:
        self._box = box
        self._states = states
        self._start = start
        self._agent = agent

    @operation("GET /v1/checkpoints/{checkpoint_id}", scope="shell")
    async def get_checkpoint(self, request: CheckpointRef, call: Call) -> CheckpointDetail:
        """Tell what a checkpoint keeps beside files: shells, tabs for who may use the browser, and which programs ran."""
        listed = await self._box.ask("list")
        found = next((one for one in listed["checkpoints"] if one["id"] == request.checkpoint_id), None)
        if found is None:
            raise NotFound(f"no checkpoint {request.checkpoint_id[:100]!r}")
        return self._told(Checkpoint.model_validate(found), seen_by(call.caller, await self._states.read(request.checkpoint_id)))

    @operation("POST /v1/checkpoints/{checkpoint_id}/programs/{number}/start", scope="shell", acts="shell")
    async def start_checkpoint_program(self, request: CheckpointProgramRef) -> CheckpointProgramStarted:
        """Start a program that ran when a checkpoint was made, with the same words in the same directory, as a bash command.

        It gets the environment that every new command gets. Raises 409 where a secret was among its words, or it was another user's.
        """
        programs = (await self._states.read(request.checkpoint_id)).programs
        if request.number >= len(programs):
            raise NotFound(f"the checkpoint has {len(programs)} programs, and none of number {request.number}")
        program = programs[request.number]
        if not self._is_startable(program):
            raise Conflict(
                "the program cannot be started again as it was: its words hold a secret, or it was another user's",
                hint="GET /v1/checkpoints/{checkpoint_id} tells its words.",
            )
        session, command = await self._start(shlex.join(program.argv), program.directory)
        return CheckpointProgramStarted(session_id=session, command_id=command)

    def _is_startable(self, program: KeptProgram) -> bool:
        return program.whole and program.uid == self._agent and bool(program.argv and program.directory)

    def _told(self, checkpoint: Checkpoint, state: KeptState) -> CheckpointDetail:
        return CheckpointDetail(
            checkpoint=checkpoint,
            shells=[CheckpointShell(id=each.id, directory=each.directory) for each in state.shells],
            tabs=[
                CheckpointTab(url=each.url, title=each.title, front=each.front, x=each.x, y=each.y, fields=len(each.fields))
                for each in state.tabs
            ],
            programs=[
                CheckpointProgram(
                    number=number,
                    argv=list(each.argv),
                    directory=each.directory,
                    uid=each.uid,
                    session=each.session,
                    startable=self._is_startable(each),
                )
                for number, each in enumerate(state.programs)
            ],
            problems=list(state.problems),
        )
