"""The browser's profiles."""

from dataclasses import dataclass

from sandbox_server.composition.machine import MachineParts
from sandbox_server.composition.part import ProductPart
from sandbox_server.drivers.devtools.devtools import Devtools
from sandbox_server.drivers.devtools.site_storage import SiteStorage
from sandbox_server.drivers.devtools.storage import Storage
from sandbox_server.drivers.profiles.store import ProfileStore
from sandbox_server.features.browser.storage_state import BrowserState
from sandbox_server.features.profiles.archives import ProfileArchives
from sandbox_server.features.profiles.logins import Logins
from sandbox_server.features.profiles.profiles import HeldProfiles, Profiles


@dataclass(frozen=True, slots=True)
class ProfileParts:
    """The profiles, which forks take one of; None without a browser."""

    held: HeldProfiles | None
    part: ProductPart


def build_profiles(machine: MachineParts, devtools: Devtools) -> ProfileParts:
    """Make their operations; there are none without a browser."""
    if not machine.has_browser:
        return ProfileParts(None, ProductPart())
    settings, paths = machine.settings, machine.settings.paths
    default = f"{paths.desktop}/chromium"
    store = ProfileStore(machine.processes, paths.profiles, default, settings.browser.executable, settings.browser.profiles_bytes)
    machine.owner.follow_profile(devtools.forget)
    held, storage = HeldProfiles(store, machine.owner), Storage(devtools)
    state = BrowserState(devtools, storage, machine.files)
    features = (Profiles(held, SiteStorage(devtools, storage)), ProfileArchives(held, paths.spool), Logins(held, state.add, paths.spool))
    return ProfileParts(held, ProductPart(features))
