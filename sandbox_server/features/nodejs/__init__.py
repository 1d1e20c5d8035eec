"""Node.js: programs that run once, and sessions that remember."""
