"""Enables components: links the configuration files of each one where the supervisor and the gateway read them."""

import os
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from sandbox_server.drivers import nginx
from sandbox_server.drivers.stats import system
from sandbox_server.settings import Paths, Settings

_IN_BOX = frozenset({"preview", "code-server", "jupyter"})
"""Routes to programs of the agent's."""


def link(settings: Settings, *, with_box: bool = False, with_egress: bool = False) -> None:
    """Link the configuration of every enabled component, added services included.

    The gateway reads the routes of added services itself.
    """
    paths = settings.paths
    left_out = (
        settings.components.left_out | _not_asked_for(settings) | (set() if with_box else {"box"}) | (set() if with_egress else {"egress"})
    )
    left_out |= _of_other_networks(settings, apart=with_box and settings.egress.enabled)
    fill(Path(paths.boot, "supervisord"), [f"{paths.code}/supervisord/components", *_added_services(paths)], left_out)
    gateway = Path(paths.run, "nginx")
    fill(gateway / "components", [f"{paths.code}/nginx/components"], left_out)
    (gateway / "listen.conf").write_text(nginx.listen(settings.gateway, has_ipv6=nginx.has_ipv6()), encoding="ascii")
    (gateway / "body.conf").write_text(nginx.body(settings.gateway), encoding="ascii")
    editors = {"jupyter": settings.code.jupyterlab_port, "code-server": settings.code.code_server_port}
    (gateway / "origins.conf").write_text(nginx.origins(settings.auth.origins), encoding="ascii")
    (gateway / "upstreams.conf").write_text(nginx.upstreams(editors), encoding="ascii")
    fill(gateway / "box", [f"{paths.code}/nginx/components"], _not_in_box(paths, left_out))
    (gateway / "published.conf").write_text(nginx.published(settings.box_ports.published, has_ipv6=nginx.has_ipv6()), encoding="ascii")


def _not_in_box(paths: Paths, left_out: Collection[str]) -> set[str]:
    """The routes that do not lead to programs in the box's network."""
    return {file.stem for file in _files(f"{paths.code}/nginx/components")} - _IN_BOX | set(left_out)


def _of_other_networks(settings: Settings, *, apart: bool) -> set[str]:
    """The components for the network that the agent's programs are not in: the box's own, if they are `apart`, or the container's."""
    if not apart:
        return {"box-gateway", "box-proxy"}
    return {"proxy", "box-proxy"} if "proxy" in settings.components.left_out else {"proxy"}


def _added_services(paths: Paths) -> Sequence[str]:
    return [f"{directory}/supervisord" for directory in paths.added]


def _not_asked_for(settings: Settings) -> set[str]:
    unwanted = set() if settings.hooks.post_ready else {"post-ready"}
    unwanted |= {"cdp"} if "browser" in settings.components.left_out else set()
    return unwanted | (set() if system.has_name() else {"desktop-bus"})


def fill(target: Path, sources: Sequence[str], left_out: Collection[str]) -> None:
    """Make `target` hold exactly the links to the sources' `*.conf` files, without those of the names left out."""
    target.mkdir(parents=True, exist_ok=True)
    for stale in target.iterdir():
        stale.unlink()
    for number, source in enumerate(sources):
        for file in _files(source):
            if not _belongs_to(file.stem.removeprefix("supervisord."), left_out):
                (target / f"{number}-{file.name}").symlink_to(file)


def _belongs_to(name: str, components: Collection[str]) -> bool:
    """Whether a file belongs to one of the components: it has its name, or its name and a suffix, as in `desktop-bus`."""
    return any(name == component or name.startswith(f"{component}-") for component in components)


def _files(source: str) -> Iterator[Path]:
    if os.path.isdir(source):
        yield from sorted(Path(source).glob("*.conf"))
