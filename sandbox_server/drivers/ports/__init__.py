"""TCP ports of this machine: who listens on which, and by which host names a browser reaches them."""
