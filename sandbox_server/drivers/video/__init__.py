"""Recordings: frames and sound, encoded into video files that stay playable after a crash."""
