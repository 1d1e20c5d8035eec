"""Skills: folders with a SKILL.md that instructs an agent."""
