"""Code execution in any language, by one operation."""
