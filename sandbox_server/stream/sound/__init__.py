"""Sound: the desktop's, encoded once for all who listen, and the microphone of the person who drives."""
