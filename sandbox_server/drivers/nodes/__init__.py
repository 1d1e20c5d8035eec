"""Node.js of the agent: programs that run once, and sessions that remember."""
