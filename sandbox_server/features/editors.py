"""Editors in the browser: JupyterLab and code-server, which start when somebody opens them and end when nobody uses them."""

from sandbox_server.core import Model, Unavailable, operation
from sandbox_server.drivers.editors import EditorProgram, Editors


class EditorRef(Model):
    """An editor by its name."""

    name: str
    """`jupyter` or `code-server`."""


class EditorState(Model):
    """One editor."""

    name: str
    title: str
    path: str
    """Where programs that send a key find it on this sandbox's address. A browser that is signed in is led on to `preview`."""
    preview: str
    """Where it is for a browser: a page of the agent's, so on an origin of its own."""
    installed: bool
    """Whether the image has it."""
    running: bool
    hint: str | None = None
    """What to do to have it, where the image does not."""


class EditorList(Model):
    editors: list[EditorState]
    """Those that are not disabled."""


class EditorPages:
    """What a person edits with."""

    tag = "editors"

    def __init__(self, editors: Editors) -> None:
        self._editors = editors

    @operation("GET /v1/editors", scope="view")
    async def list_editors(self) -> EditorList:
        """List the editors, and whether the image has them."""
        return EditorList(editors=[await self._described(editor) for editor in self._editors])

    @operation("POST /v1/editors/{name}/start", scope="shell", acts="shell")
    async def start_editor(self, request: EditorRef) -> EditorState:
        """Start an editor and wait until it answers; opening its path does so too."""
        return await self._described(await self._editors.start(request.name))

    @operation("POST /v1/editors/{name}/wake", scope="shell", acts="shell")
    async def wake_editor(self, request: EditorRef) -> None:
        """Have an editor start, and say when to come again: 503 with `Retry-After`. A program's request for its path does so."""
        seconds = self._editors.wake(request.name)
        raise Unavailable(f"{self._editors.get(request.name).title} is starting", retry_after=seconds)

    @operation("POST /v1/editors/{name}/stop", scope="shell", destructive=True, acts="shell")
    async def stop_editor(self, request: EditorRef) -> EditorState:
        """End an editor, with the terminals and kernels that were started in it."""
        editor = self._editors.get(request.name)
        await self._editors.stop(request.name)
        return await self._described(editor)

    async def _described(self, editor: EditorProgram) -> EditorState:
        installed = await self._editors.installed(editor)
        return EditorState(
            name=editor.name,
            title=editor.title,
            path=editor.path,
            preview=editor.preview,
            installed=installed,
            running=self._editors.runs(editor),
            hint=None if installed else f"build an image that has it: {editor.build_argument} scripts/build",
        )
