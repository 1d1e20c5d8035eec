"""The order of the container's start."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NoReturn

from sandbox_server import settings as declared
from sandbox_server.boot import (
    accounts,
    components,
    desktop,
    egress,
    egress_without_box,
    hooks,
    identity_key,
    isolation,
    places,
    proxy,
    restore,
    secrets,
    trusted_files,
)
from sandbox_server.boot.early_start import EarlyStart
from sandbox_server.boot.egress_without_box import EgressPorts
from sandbox_server.drivers.box import isolation as told
from sandbox_server.drivers.credentials.keyring import Keyring
from sandbox_server.drivers.fence import landlock
from sandbox_server.drivers.spawn.child_setup import Account, closed_environment
from sandbox_server.drivers.storage import atomic_write
from sandbox_server.settings import BadSettings, Settings

EXIT_BAD_SETTINGS = 2
EXIT_NOT_ISOLATED = 4
EXIT_NO_HOME = 6
EXIT_NOT_RESTORED = 7
SECRET = 0o400
"""Mode of a file that only its owner can read."""
ROOT = (0, 0)


def boot(environ: Mapping[str, str], api: EarlyStart) -> NoReturn:
    """Start everything and run until the container is told to stop.

    The API is imported meanwhile, without any settings.
    """
    try:
        environ = secrets.with_declarations(environ)
        settings = declared.load(environ)
        secrets.check(settings)
        trusted_files.check(settings)
        for problem in filter(None, (settings.folders.problem, settings.handoff.problem)):
            raise declared.BadSettings(problem)
        if os.geteuid() != 0:
            landlock.forbid_new_rights()  # the image's sudo rule would still apply to its user
            environ |= accounts.without_root(settings.agent)
            settings = declared.load(environ)
        agent_environ = prepare(settings, environ)
    except BadSettings as error:
        _stop(EXIT_BAD_SETTINGS, f"the settings are wrong:\n{error}")
    except isolation.NotIsolatedError as error:
        _stop(EXIT_NOT_ISOLATED, str(error))
    except places.HomeNotWritableError as error:
        _stop(EXIT_NO_HOME, str(error))
    except restore.NotRestoredError as error:
        _stop(EXIT_NOT_RESTORED, f"SANDBOX_RESTORE: {error}")
    _supervise(settings, agent_environ, api)


def prepare(settings: Settings, environ: Mapping[str, str]) -> dict[str, str]:
    """Prepare everything that services need. Return the environment that they and the agent start from."""
    if os.geteuid() == 0:
        accounts.prepare(settings.agent)
    else:
        _say("not started as root: the server, the gateway and the agent are one user, so nothing keeps the agent from their secrets")
    chosen = isolation.choose(settings)
    ports = _egress_ports(settings, chosen)
    chosen = replace(chosen, egress=ports.enforcement)
    places.prepare(settings, boxed=chosen.level == "box")
    if lost := isolation.announce(settings, chosen):
        _say(lost)
    proxied = settings.egress.proxy_environment if chosen.egress == "proxy" else {}
    placeholders = settings.secrets.placeholders(_prepare_keys(settings))
    guest_environ = desktop.guest_environ(settings, boxed=chosen.level == "box")
    agent_environ = guest_environ | proxied | declared.agent_environ(environ, settings, placeholders)
    _write_environs(settings, environ, agent_environ)
    places.prepare_workspace(settings)
    identity_key.prepare(settings)
    kept = chosen.level == "box" and chosen.storage != "memory"
    desktop.prepare(settings, volume=settings.box.directory if kept else None)
    proxy.prepare(settings)
    if chosen.egress != "off":
        egress.prepare(settings)
        ports.keep(settings)
    if chosen.level == "box" and settings.egress.enabled:
        proxy.prepare_upstream(settings)
    secrets.prepare(settings)
    restore.restore(settings, chosen)
    Path(settings.paths.announcement).touch()
    components.link(settings, with_box=chosen.level == "box", with_egress=chosen.egress != "off")
    if chosen.level == "box" or chosen.root_withheld:
        accounts.withdraw_root()
    return agent_environ


def _egress_ports(settings: Settings, chosen: told.Isolation) -> EgressPorts:
    if chosen.level != "box":
        return egress_without_box.make(settings)
    return EgressPorts("namespace" if settings.egress.enabled else "off")


def _write_environs(settings: Settings, environ: Mapping[str, str], agent_environ: Mapping[str, str]) -> None:
    control = (settings.users.control_uid, settings.users.control_uid)
    atomic_write.replace(settings.paths.environ, json.dumps(dict(environ)), mode=SECRET, owner=control)
    atomic_write.replace(settings.paths.public_environ, json.dumps(declared.without_secrets(environ)), mode=SECRET, owner=ROOT)
    atomic_write.replace(settings.paths.agent_environ, json.dumps(dict(agent_environ)), mode=SECRET, owner=ROOT)


def _prepare_keys(settings: Settings) -> str:
    """Make the sandbox's own secrets; returns the key of the placeholders."""
    auth = settings.auth
    configured = auth.api_key or auth.jwt_public_key or auth.jwks_url or auth.jwks_file
    control = (settings.users.control_uid, settings.users.control_uid)
    keyring = Keyring(settings.paths.run, settings.paths.agent_run)
    keyring.prepare(control, (settings.agent.uid, settings.agent.gid), with_api_key=auth.mode == "on" and not configured)
    if auth.mode == "on":
        keyring.keep_agent_key(control, auth.agent_key.reveal() if auth.agent_key else None)
    return keyring.placeholder_key()


def _supervise(settings: Settings, agent_environ: Mapping[str, str], api: EarlyStart) -> NoReturn:
    if told.read(settings.paths.isolation).root_withheld:  # sudo's own rules may be on a read-only filesystem
        landlock.forbid_new_rights()
    before = hooks.start(settings)
    from sandbox_server.boot.supervision import supervise  # a slow import, which wrong settings make unnecessary

    agent = Account.named(settings.agent.user) if os.geteuid() == 0 else Account.current()
    go = partial(api.go, closed_environment(agent_environ, Account.named(settings.users.control)))
    configuration = f"{settings.paths.code}/supervisord/supervisord.conf"
    sys.exit(supervise(configuration, agent, agent_environ, early=api, before=before, go=go))


def _say(message: str) -> None:
    sys.stderr.write(f"boot: {message}\n")


def _stop(status: int, message: str) -> NoReturn:
    _say(message)
    sys.exit(status)
