"""Planning: what one viewer is sent next, by what it lacks, what it shows as video and where it looks."""
