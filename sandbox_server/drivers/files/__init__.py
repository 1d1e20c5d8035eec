"""The agent's files, through workers that have the agent's rights."""
