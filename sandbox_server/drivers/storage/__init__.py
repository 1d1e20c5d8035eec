"""Small files of the server's own, replaced atomically."""
