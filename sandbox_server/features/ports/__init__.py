"""The ports of the agent's programs: which there are, where a browser sees them, and links to one of them for somebody else."""
