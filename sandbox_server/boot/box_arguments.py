"""The command line of the box daemon, as the settings have it."""

from sandbox_server.settings import Settings


def box_arguments(settings: Settings) -> list[str]:
    """Return it, without the program."""
    paths, agent = settings.paths, settings.agent
    arguments = ["--socket", paths.socket("box"), "--store", settings.box.directory, "--record", paths.box_record]
    arguments += ["--agent-run", paths.agent_run, "--client", settings.users.control, "--quota", str(settings.box.checkpoint_quota)]
    arguments += ["--desktop-sockets", paths.desktop_sockets]
    arguments += ["--processes", str(settings.box.max_processes), "--max-memory", str(settings.box.max_memory)]
    arguments += ["--sudo-user", agent.user] if agent.sudo else []
    arguments += [] if settings.box.checkpoint_workspace else ["--shared", agent.workspace]
    if settings.egress.enabled:
        arguments += ["--egress", paths.egress_socket("box"), "--egress-user", settings.users.egress]
        forwarded = dict.fromkeys((settings.gateway.port, *settings.box_ports.forwarded))
        arguments += [word for port in forwarded for word in ("--egress-port", str(port))]
    return arguments
