"""The agent's first tools: shells, commands and files, and their box."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from sandbox_server import __version__
from sandbox_server.composition.activity import Activity
from sandbox_server.composition.container_environ import container_environ
from sandbox_server.composition.control import ControlParts
from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.composition.recorder import FlightRecorder
from sandbox_server.core.operation import Feature
from sandbox_server.drivers.documents.text import Documents
from sandbox_server.drivers.files.files import Files
from sandbox_server.drivers.files.ripgrep import Ripgrep
from sandbox_server.drivers.shells.isolated_shells import IsolatedShells
from sandbox_server.drivers.shells.meanwhile import MeanwhileServers
from sandbox_server.drivers.shells.session_store import ShellStore
from sandbox_server.drivers.shells.shells import TmuxShells
from sandbox_server.drivers.shells.tmux import Tmux
from sandbox_server.drivers.spawn.process import Processes
from sandbox_server.drivers.storage.shutdown_hooks import ShutdownHookStore
from sandbox_server.drivers.watches.watches import Watches
from sandbox_server.features.bash.commands import Bash, BashExecRequest
from sandbox_server.features.box.archives import CheckpointArchives
from sandbox_server.features.box.automatic import AutomaticCheckpoints
from sandbox_server.features.box.capabilities import CapabilityReport
from sandbox_server.features.box.checkpoint_details import CheckpointDetails
from sandbox_server.features.box.checkpoint_state import CheckpointStates
from sandbox_server.features.box.checkpoints import Checkpoints
from sandbox_server.features.box.idleness import IdlenessReport
from sandbox_server.features.box.itself import BoxItself
from sandbox_server.features.box.renewal import Renewal
from sandbox_server.features.box.suspension import Suspension
from sandbox_server.features.control.lease_keeper import LeaseKeeper
from sandbox_server.features.file.archives import FileArchives
from sandbox_server.features.file.combined_operations import FileOperations
from sandbox_server.features.file.content import FileContent
from sandbox_server.features.file.editor import TextEditor
from sandbox_server.features.file.file_management import FileChanges
from sandbox_server.features.file.listing import FileListing
from sandbox_server.features.file.search import FileSearch
from sandbox_server.features.file.tus_uploads import FileUploads
from sandbox_server.features.file.upload_download import FileTransfer
from sandbox_server.features.file_watch import FileWatch
from sandbox_server.features.sandbox_info import Sandbox
from sandbox_server.features.shell.commands import ShellCommands
from sandbox_server.features.shell.kept_shells import KeptShells
from sandbox_server.features.shell.processes import ShellProcesses
from sandbox_server.features.shell.session_management import ShellSessionManagement
from sandbox_server.features.shell.sessions import ShellSessions
from sandbox_server.features.shell.terminals import ShellTerminals
from sandbox_server.features.shutdown_hooks import Hooks
from sandbox_server.settings import Settings, agent_environ


@dataclass(frozen=True, slots=True)
class Work:
    """Shells, commands, files and the box. Running ones are counted in `activity`."""

    activity: Activity
    bash: Bash
    suspension: Suspension
    checkpoints: AutomaticCheckpoints
    followers: list[Callable[[], None]]
    """What is called after each checkpoint."""
    states: CheckpointStates
    part: ProductPart


def build_work(machine: MachineParts, control: ControlParts, recorder: FlightRecorder, *, new: bool) -> Work:
    """Make them. `new`: this is the first server process since the container started."""
    keeper = control.keeper
    settings, processes, files, paths = machine.settings, machine.processes, machine.files, machine.settings.paths
    bash = Bash(
        processes,
        workspace=settings.agent.workspace,
        max_sessions=settings.bash.max_sessions,
        output_bytes=settings.bash.output_bytes,
        spool=paths.spool,
    )
    watches, tmux = Watches(processes), Tmux(processes, paths.shells, lambda: keeper.paused is not None)
    meanwhile = MeanwhileServers(processes, paths.shells, lambda: keeper.paused)
    sessions = ShellSessions(
        TmuxShells(processes, files, tmux, paths.shells, meanwhile),
        ShellStore(f"{paths.run}/shells.json"),
        limit=settings.shell.max_sessions,
        evict_after=settings.shell.evict_after,
    )
    activity = Activity()
    activity.follow_commands(lambda: bash.busy, lambda: sessions.busy)
    states = build_states(machine, keeper, recorder, sessions)
    box = build_box(machine, control, sessions, activity, states, new=new)
    features: tuple[Feature, ...] = (
        Sandbox(
            machine.toolbox,
            settings.agent,
            __version__,
            root=settings.agent.sudo and machine.isolation.allows_root,
            bindings=machine.bindings,
        ),
        Hooks(ShutdownHookStore(f"{paths.run}/hooks.json"), settings.hooks.shutdown),
        bash,
        *shell_features(machine, sessions, keeper),
        *file_features(files, processes, settings),
        FileWatch(files, watches),
        *box.part.features,
        CheckpointDetails(machine.box, states, partial(start_program, bash), settings.agent.uid),
    )
    part = ProductPart(features, (bash, files, watches, tmux, meanwhile, sessions, *box.part.opened))
    return Work(activity, bash, box.suspension, box.checkpoints, box.followers, states, part)


def build_states(machine: MachineParts, keeper: LeaseKeeper, recorder: FlightRecorder, sessions: ShellSessions) -> CheckpointStates:
    """Make what notes the state for checkpoints. The browser's tabs join when there is a browser."""

    def masked(text: str) -> str:
        return recorder.redaction.text(text, len(text) + 1)

    def initial() -> Mapping[str, str]:
        return {**agent_environ(container_environ(machine.settings), machine.settings), **machine.environment.variables}

    states = CheckpointStates(machine.box, masked)
    states.sources.shells = KeptShells(sessions, initial, masked).note
    states.sources.hidden = lambda: keeper.holding.private is not None
    return states


async def start_program(bash: Bash, command: str, directory: str) -> tuple[str, str]:
    """Start a command line in a session of its own, and return the session and the command."""
    reply = await bash.exec_command(BashExecRequest(command=command, exec_dir=directory, async_mode=True))
    return reply.data.session_id, reply.data.command_id


@dataclass(frozen=True, slots=True)
class BoxParts:
    """The box, its checkpoints, and its suspension."""

    suspension: Suspension
    checkpoints: AutomaticCheckpoints
    followers: list[Callable[[], None]]
    part: ProductPart


def build_box(
    machine: MachineParts, control: ControlParts, sessions: ShellSessions, activity: Activity, states: CheckpointStates, *, new: bool
) -> BoxParts:
    """Make them. The box is not suspended while anything is active or a person is there."""
    box, settings, keeper = machine.box, machine.settings.box, control.keeper
    renewal = Renewal(box, sessions, renewed=keeper.forget_paused)
    quota, give_way = settings.checkpoint_quota, control.calls.give_way
    checkpoints = Checkpoints(box, renewal, quota=quota, announce=keeper.announce, states=states, give_way=give_way)
    when = settings.checkpoint_before if machine.isolation.level == "box" else "never"
    automatic = AutomaticCheckpoints(checkpoints, when=when, busy=activity.busy, holding=lambda: keeper.holding)
    activity.follow_people(lambda: keeper.holding.state == "human", lambda: bool(keeper.viewers))
    suspension = Suspension(
        box,
        idle_seconds=settings.idle_suspend,
        busy=activity.active,
        messages=machine.owner.messages,
        holding=lambda: keeper.holding,
        running=new,
    )
    features: tuple[Feature, ...] = (
        checkpoints,
        CheckpointArchives(box, quota=settings.checkpoint_quota, spool=machine.settings.paths.spool),
        suspension,
        IdlenessReport(suspension, activity.reasons),
        BoxItself(box, renewal),
        CapabilityReport(box.isolation),
    )
    return BoxParts(suspension, automatic, renewal.followers, ProductPart(features, (renewal, suspension)))


def shell_features(machine: MachineParts, sessions: ShellSessions, keeper: LeaseKeeper) -> tuple[Feature, ...]:
    """Everything on shell sessions."""
    workspace, paths = machine.settings.agent.workspace, machine.settings.paths
    return (
        ShellCommands(sessions, IsolatedShells(machine.processes, paths.agent_run), workspace=workspace),
        ShellProcesses(sessions),
        ShellSessionManagement(sessions, workspace=workspace),
        ShellTerminals(sessions, keeper, workspace=workspace),
    )


def file_features(files: Files, processes: Processes, settings: Settings) -> tuple[Feature, ...]:
    """Return the features of the agent's files, except watches."""
    workspace, limit = settings.agent.workspace, settings.files.max_upload_bytes
    content, changes, listing = FileContent(files), FileChanges(files), FileListing(files)
    search = FileSearch(files, Ripgrep(processes))
    return (
        content,
        changes,
        listing,
        search,
        FileArchives(files),
        FileTransfer(files, workspace=workspace, max_bytes=limit),
        FileUploads(files, workspace=workspace, max_bytes=limit),
        TextEditor(files, Documents(processes)),
        FileOperations(content, search, listing, changes),
    )
