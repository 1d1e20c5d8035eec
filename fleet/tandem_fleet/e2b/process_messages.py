"""Messages of the service `process.Process` of envd."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from tandem_fleet.e2b.messages import Data, Message, Path, Uint32

SIGNALS = {"SIGNAL_SIGTERM": 15, "SIGNAL_SIGKILL": 9, "SIGNAL_UNSPECIFIED": 0}
Signal = Annotated[int, BeforeValidator(lambda value: SIGNALS.get(value, value) if isinstance(value, str) else value)]
MAX_CELLS = 1000


class Size(Message):
    """Of a terminal."""

    cols: int = Field(default=80, ge=1, le=MAX_CELLS)
    rows: int = Field(default=24, ge=1, le=MAX_CELLS)


class Pty(Message):
    """A terminal."""

    size: Size = Size()


class ProcessConfig(Message):
    """A program to run."""

    cmd: str = Field(default="", max_length=4096)
    args: tuple[str, ...] = ()
    envs: dict[str, str] = Field(default_factory=dict)
    cwd: Path | None = None


class StartRequest(Message):
    """A process to start."""

    process: ProcessConfig = ProcessConfig()
    pty: Pty | None = None
    tag: str | None = Field(default=None, max_length=256)
    stdin: bool = True


class Selector(Message):
    """Which process."""

    pid: Uint32 | None = None
    tag: str | None = None


class Input(Message):
    """Bytes for a process."""

    stdin: Data | None = None
    pty: Data | None = None


class ProcessRequest(Message):
    """What is asked of a process."""

    process: Selector = Selector()


class UpdateRequest(ProcessRequest):
    """A new size of its terminal."""

    pty: Pty | None = None


class SendInputRequest(ProcessRequest):
    """What it shall read."""

    input: Input = Input()


class SendSignalRequest(ProcessRequest):
    """A signal."""

    signal: Signal = 0


class StreamedInput(Message):
    """What it shall read, in a stream."""

    input: Input = Input()


class StreamInputRequest(Message):
    """One message of a stream of input: first which process it is for."""

    start: ProcessRequest | None = None
    data: StreamedInput | None = None
    keepalive: Any = None


class ProcessInfo(Message):
    """A process that runs."""

    config: ProcessConfig
    pid: int
    tag: str | None = None


class ListResponse(Message):
    """All of them."""

    processes: tuple[ProcessInfo, ...] = ()


class Started(Message):
    """It runs."""

    pid: int


class Output(Message):
    """What it wrote."""

    stdout: Data | None = None
    stderr: Data | None = None
    pty: Data | None = None


class Ended(Message):
    """How it ended."""

    exit_code: int = 0
    exited: bool = False
    status: str = ""
    error: str | None = None


class Event(Message):
    """One of these."""

    start: Started | None = None
    data: Output | None = None
    end: Ended | None = None
    keepalive: dict[str, str] | None = None


class EventResponse(Message):
    """One message of the stream of a process."""

    event: Event
