"""The variables that say how code is run; `settings` has all the others."""

from dataclasses import dataclass

from sandbox_server.settings.kinds import BOOLEAN, KERNEL_NAME, NODE_NAME, PORT, SIZE, integer, seconds, variable


@dataclass(frozen=True, slots=True)
class Code:
    """Code"""

    python: str = variable(
        "PYTHON_VERSION", KERNEL_NAME, "python3", "Python that runs code for callers who name none, as in `3.12`.", inherited=True
    )
    max_kernels: int = variable(
        "MAX_JUPYTER_SESSIONS",
        integer(1, 1000),
        10,
        "Python sessions that may live at once; one more takes the place of an idle one that nobody has named, or is answered 429.",
    )
    kernel_idle: float = variable(
        "JUPYTER_SESSION_TIMEOUT_SECONDS", seconds(1, 31536000), 1800.0, "How long a Python session may be idle before it is closed."
    )
    warm: bool = variable("WARM_KERNEL", BOOLEAN, True, "Whether a Python kernel is kept ready, so that no caller waits for its start.")
    node: str = variable("NODE_CODE_EXEC_VERSION", NODE_NAME, "node22", "Node.js that runs code for callers who name none.", inherited=True)
    max_nodes: int = variable(
        "MAX_NODEJS_SESSIONS", integer(1, 1000), 10, "Node.js sessions that may live at once; one more is answered 429."
    )
    output_bytes: int = variable(
        "CODE_OUTPUT_BYTES",
        integer(1 << 16, 1 << 25),
        8 << 20,
        "Output kept of one execution of code, of each stream outside of Python; how much was over is said.",
    )
    memory_bytes: int = variable(
        "CODE_MEMORY_BYTES", SIZE, 0, "Memory that one execution of code may have, in bytes. 0: three quarters of what the container has."
    )
    max_processes: int = variable(
        "CODE_MAX_PROCESSES",
        integer(0, 1 << 20),
        0,
        "Processes and threads of the agent beyond which code starts no more. 0: half of BOX_MAX_PROCESSES in a box, elsewhere no limit.",
    )
    open_files: int = variable("CODE_MAX_OPEN_FILES", integer(64, 1 << 20), 4096, "Files that a process of code may have open.")
    file_bytes: int = variable("CODE_MAX_FILE_BYTES", SIZE, 0, "Size of a file that code may write, in bytes. 0: no limit.")
    editor_idle: float = variable(
        "EDITOR_IDLE_SECONDS", seconds(1, 31536000), 1800.0, "After how long without use code-server ends, and within a minute JupyterLab."
    )
    jupyterlab_port: int = variable("JUPYTER_LAB_PORT", PORT, 8888, "Loopback port on which the gateway finds JupyterLab.")
    code_server_port: int = variable("CODE_SERVER_PORT", PORT, 8200, "Loopback port on which the gateway finds code-server.")
    cpu_seconds: int = variable(
        "CODE_CPU_SECONDS",
        integer(0, 1 << 30),
        0,
        "Processor time after which a process of code is ended, a session's in all. 0: no limit.",
    )
