"""Node.js: programs that run once, and sessions that keep their state."""
