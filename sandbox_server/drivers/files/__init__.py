"""The agent's files, accessed through workers that have the agent's rights."""
