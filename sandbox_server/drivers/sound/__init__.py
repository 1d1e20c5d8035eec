"""Sound of the desktop: playback and microphone by PulseAudio."""
