"""Named sets of hosts for rules: what package managers and code hosts need, with their ports."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class HostSet:
    """Hosts that belong together. `ports` hold for a rule that names none itself."""

    hosts: tuple[str, ...]
    ports: tuple[int, ...] = (443,)


HOST_SETS = {
    "pypi": HostSet(("pypi.org", "files.pythonhosted.org")),
    "npm": HostSet(("registry.npmjs.org",)),
    "debian": HostSet(("deb.debian.org", "security.debian.org", "cdn-fastly.deb.debian.org"), (80, 443)),
    "github": HostSet(
        (
            "github.com",
            "api.github.com",
            "codeload.github.com",
            "uploads.github.com",
            "raw.githubusercontent.com",
            "objects.githubusercontent.com",
            "media.githubusercontent.com",
            "release-assets.githubusercontent.com",
        ),
        (22, 443),
    ),
}
