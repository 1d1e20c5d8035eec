"""Small files that the control side keeps for itself, replaced whole."""
