"""What of Supervisor's own code `boot/supervision.py` rests on is there in the installed version, as it was when that was written."""

import inspect
from importlib.metadata import version

import pytest
from supervisor import options, poller, process, states, supervisord
from supervisor.medusa import asyncore_25 as asyncore

from tests.tables import table_test

SIGNATURES = [
    (options.ServerOptions, "realize", "(self, *arg, **kw)"),
    (options.ServerOptions, "set_uid_or_exit", "(self)"),
    (options.ServerOptions, "drop_privileges", "(self, user)"),
    (options.ServerOptions, "make_logger", "(self)"),
    (options.ServerOptions, "openhttpservers", "(self, supervisord)"),
    (options.ServerOptions, "make_pipes", "(self, stderr=True)"),
    (options.ServerOptions, "process_groups_from_parser", "(self, parser)"),
    (options.ServerOptions, "waitpid", "(self)"),
    (options.ServerOptions, "fork", "(self)"),
    (options.ServerOptions, "close_httpservers", "(self)"),
    (options.ServerOptions, "close_logger", "(self)"),
    (options.ProcessConfig, "make_dispatchers", "(self, proc)"),
    (supervisord.Supervisor, "__init__", "(self, options)"),
    (supervisord.Supervisor, "main", "(self)"),
    (supervisord.Supervisor, "add_process_group", "(self, config)"),
    (poller.PollPoller, "__init__", "(self, options)"),
    (poller.PollPoller, "poll", "(self, timeout)"),
    (poller.PollPoller, "register_readable", "(self, fd)"),
    (poller.PollPoller, "unregister_readable", "(self, fd)"),
    (poller.PollPoller, "close", "(self)"),
]
"""Methods that are overridden or called."""
ATTRIBUTES = ["environ_expansions", "parse_infos", "poller", "mood"]
"""Attributes of the options that are there once they are made."""
USED = [
    (process.Subprocess.spawn, ("self.config.make_dispatchers(self)", "options.fork()")),
    (process.Subprocess.set_uid, ("self.config.options.drop_privileges(self.config.uid)",)),
    (options.ProcessConfig.make_dispatchers, ("self.options.make_pipes(",)),
    (supervisord.Supervisor.main, ("self.options.first",)),
    (supervisord.Supervisor.run, ("self.add_process_group(config)", "self.options.openhttpservers(self)")),
    (supervisord.Supervisor.reap, ("self.options.waitpid()",)),
    (supervisord.Supervisor.runforever, ("self.options.test", "self.options.poller.poll(", "asyncore.ExitNow")),
]
"""Where Supervisor calls what is overridden: an adopted program takes the place of a fork between two of these calls."""


@table_test(SIGNATURES)
def test_a_method_takes_what_it_took(owner: type, name: str, signature: str) -> None:
    assert str(inspect.signature(getattr(owner, name))) == signature, f"Supervisor {version('supervisor')}"


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_is_there_as_soon_as_the_options_are_made(name: str) -> None:
    assert hasattr(options.ServerOptions(), name)


@pytest.mark.parametrize(("method", "calls"), USED, ids=lambda value: getattr(value, "__qualname__", None))
def test_what_is_overridden_is_called_where_it_was(method: object, calls: tuple[str, ...]) -> None:
    source = inspect.getsource(method)  # type: ignore[arg-type]

    assert [call for call in calls if call not in source] == []


def test_the_moods_of_a_supervisor_are_in_order() -> None:
    found = states.SupervisorStates

    assert found.SHUTDOWN < found.RESTARTING < found.RUNNING
    assert issubclass(asyncore.ExitNow, Exception)
