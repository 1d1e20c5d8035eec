"""The folders, each with the store that it is synchronised with."""

from sandbox_server.composition.first import First
from sandbox_server.composition.part import ProductPart
from sandbox_server.drivers.folders.agent_tree import AgentTree
from sandbox_server.drivers.folders.directory_store import DirectoryStore
from sandbox_server.drivers.folders.places import FolderLimits, FolderPlaces
from sandbox_server.drivers.folders.s3_store import S3Access, S3Store
from sandbox_server.drivers.folders.synchronisation import FolderStore, Synchronisation
from sandbox_server.drivers.folders.tar_store import TarStore
from sandbox_server.features.folders.ending import FoldersEnding
from sandbox_server.features.folders.folder_sync import FolderSync
from sandbox_server.features.folders.operations import Folders
from sandbox_server.settings import FolderSettings, FoldersSettings

REGION = "us-east-1"


def build_folders(first: First) -> ProductPart:
    """Make the folders. They are synchronised after each checkpoint."""
    settings, paths = first.machine.settings.folders, first.machine.settings.paths
    limits = FolderLimits(settings.max_files, settings.max_bytes)
    folders: dict[str, FolderSync] = {}
    for folder in settings.declared:
        places = FolderPlaces(paths.folders, folder.name, folder.store, limits)
        tree = AgentTree(first.machine.files, folder.path, limits)
        work = Synchronisation(store_of(folder, settings, paths.folders, limits), tree, places)
        folders[folder.name] = FolderSync(folder, work, timeout=settings.timeout)
        first.work.followers.append(folders[folder.name].begin)
    if not folders:
        return ProductPart((Folders({}),))
    ending = FoldersEnding(paths.socket("folders"), tuple(folders.values()), timeout=settings.end_timeout)
    return ProductPart((Folders(folders),), (*folders.values(), ending))


def store_of(folder: FolderSettings, settings: FoldersSettings, root: str, limits: FolderLimits) -> FolderStore:
    """Return the store that a folder names."""
    if folder.store == "directory":
        return DirectoryStore(f"{root}/store/{folder.name}")
    if not folder.store.startswith("s3://"):
        token = settings.http_token.reveal() if settings.http_token else ""
        return TarStore(folder.store, token, f"{root}/archives/{folder.name}", limits)
    bucket, _, prefix = folder.store.removeprefix("s3://").partition("/")
    region = settings.s3_region or REGION
    return S3Store(
        S3Access(
            settings.s3_endpoint or f"https://s3.{region}.amazonaws.com",
            region,
            settings.s3_key.reveal() if settings.s3_key else "",
            settings.s3_secret.reveal() if settings.s3_secret else "",
            settings.s3_session.reveal() if settings.s3_session else "",
        ),
        bucket,
        prefix,
    )
