"""The flight recorder: who did what, and what it looked like."""
