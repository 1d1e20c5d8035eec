"""Films: pictures and sound, encoded into files that can be watched whatever happens to us."""
