"""TCP ports of this machine: their listeners, and the host names of their previews."""
