"""Classification: what differs from what a viewer has, and what is worth encoding as text, as a photograph or as video."""
