"""Editors in the browser: JupyterLab and code-server. They start on demand and stop when idle."""

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
    """Its path for programs that send a key. A signed-in browser is redirected to `preview`."""
    preview: str
    """Its URL for browsers. It has an origin of its own, because the agent controls the page."""
    installed: bool
    """Whether it is installed in the image."""
    running: bool
    hint: str | None = None
    """How to install it, if it is missing."""


class EditorList(Model):
    editors: list[EditorState]
    """The editors that are not disabled."""


class EditorPages:
    """The editors."""

    tag = "editors"

    def __init__(self, editors: Editors) -> None:
        self._editors = editors

    @operation("GET /v1/editors", scope="view")
    async def list_editors(self) -> EditorList:
        """List the editors, and whether the image has them."""
        return EditorList(editors=[await self._described(editor) for editor in self._editors])

    @operation("POST /v1/editors/{name}/start", scope="shell", acts="shell")
    async def start_editor(self, request: EditorRef) -> EditorState:
        """Start an editor and wait until it answers. Opening its path does so too."""
        return await self._described(await self._editors.start(request.name))

    @operation("POST /v1/editors/{name}/wake", scope="shell", acts="shell")
    async def wake_editor(self, request: EditorRef) -> None:
        """Start an editor and answer 503 with `Retry-After`. A program's request for its path does so."""
        seconds = self._editors.wake(request.name)
        raise Unavailable(f"{self._editors.get(request.name).title} is starting", retry_after=seconds)

    @operation("POST /v1/editors/{name}/stop", scope="shell", destructive=True, acts="shell")
    async def stop_editor(self, request: EditorRef) -> EditorState:
        """Stop an editor, with the terminals and kernels that were started in it."""
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
