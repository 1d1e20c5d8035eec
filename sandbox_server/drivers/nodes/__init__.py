"""Node.js of the agent: scripts that run once, and sessions that keep their state."""
