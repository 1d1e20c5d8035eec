"""The sound of one viewer: the desktop's, while it listens and may see the screen, and its voice for the desktop's microphone."""

from sandbox_server.core.tasks import Tasks
from sandbox_server.drivers.sound.pulseaudio import PulseAudio
from sandbox_server.stream import wire
from sandbox_server.stream.sound.broadcast import SoundBroadcast, SoundSubscription
from sandbox_server.stream.sound.microphone import MicrophoneInput
from sandbox_server.stream.viewer.access import ViewerAccess
from sandbox_server.stream.viewer.socket import ViewerSocket


class ViewerSound:
    """Subscribes to the desktop's sound and speaks, as the access has it. `microphone` is None where the desktop has none."""

    def __init__(
        self, socket: ViewerSocket, access: ViewerAccess, broadcast: SoundBroadcast, microphone: PulseAudio | None, tasks: Tasks
    ) -> None:
        self._socket = socket
        self._access = access
        self._subscription = SoundSubscription(broadcast, self._forward, tasks)
        self._microphone = MicrophoneInput(microphone, lambda: access.may_speak, tasks)

    def take(self, message: wire.Listens | wire.Missed | wire.Spoken) -> None:
        """Take what the viewer says of sound."""
        match message:
            case wire.Listens():
                self._subscription.set(listens=message.listens)
            case wire.Missed():
                self._socket.report_sound_loss(message.share)
            case wire.Spoken():
                self._microphone.say(message.number, message.packet)

    def keep_to_lease(self) -> None:
        """Stop hearing the viewer at once if it may not speak any more."""
        self._microphone.keep_to_lease()

    async def _forward(self, message: bytes) -> None:
        if self._access.sees:
            await self._socket.send(message)
