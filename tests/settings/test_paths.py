"""Each place is where its reader can reach it and others cannot."""

from sandbox_server.settings.paths import Paths


def test_sockets_and_the_keys_of_the_services_are_in_the_directory_of_the_control_user() -> None:
    paths = Paths(run="/r")
    assert [paths.socket("api"), paths.environ, paths.announcement] == ["/r/api.sock", "/r/environ.json", "/r/announcement"]


def test_what_the_spawner_starts_from_is_in_the_directory_of_root() -> None:
    assert Paths(boot="/b").agent_environ == "/b/agent-environ.json"


def test_what_the_agent_may_touch_is_in_its_own_directory() -> None:
    assert Paths(agent_run="/a").shells == "/a/shells"
    assert Paths(agent_run="/a").guest_socket(":99") == "/a/x11/X99"
