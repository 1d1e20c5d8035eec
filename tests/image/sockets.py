"""WebSockets with time for their handshake: a busy machine, on which a browser may just start, takes more than the client's ten seconds."""

from functools import partial

from websockets.sync import client

connect = partial(client.connect, open_timeout=60)
