"""Inter-process communication between processes of this container: Unix sockets, JSON lines, descriptor passing, HTTP over a socket."""
