"""The flight recorder: what happened, by whom, in a chain of hashes on disk; and what the screen showed."""
