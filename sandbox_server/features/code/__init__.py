"""Code in any language, by one operation."""
