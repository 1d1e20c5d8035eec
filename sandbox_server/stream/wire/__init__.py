"""The messages of the stream, as docs/stream-protocol.md describes them: bytes in, values out, and the other way round.

Sans-io. Numbers are little-endian. One WebSocket message holds one message.
"""

from sandbox_server.stream.wire.operations import EXACT as EXACT
from sandbox_server.stream.wire.operations import FILM as FILM
from sandbox_server.stream.wire.operations import FILM_ENDS as FILM_ENDS
from sandbox_server.stream.wire.operations import JPEG as JPEG
from sandbox_server.stream.wire.operations import KEY_FRAME as KEY_FRAME
from sandbox_server.stream.wire.operations import MOVES as MOVES
from sandbox_server.stream.wire.operations import exact as exact
from sandbox_server.stream.wire.operations import film as film
from sandbox_server.stream.wire.operations import film_ends as film_ends
from sandbox_server.stream.wire.operations import jpeg as jpeg
from sandbox_server.stream.wire.operations import moves as moves
from sandbox_server.stream.wire.server import CLIPBOARD as CLIPBOARD
from sandbox_server.stream.wire.server import CURSOR as CURSOR
from sandbox_server.stream.wire.server import DESKTOP as DESKTOP
from sandbox_server.stream.wire.server import DRIVES as DRIVES
from sandbox_server.stream.wire.server import HELLO as HELLO
from sandbox_server.stream.wire.server import LAST as LAST
from sandbox_server.stream.wire.server import MAY_ACT as MAY_ACT
from sandbox_server.stream.wire.server import PART as PART
from sandbox_server.stream.wire.server import POINTER as POINTER
from sandbox_server.stream.wire.server import PONG as PONG
from sandbox_server.stream.wire.server import RIGHTS as RIGHTS
from sandbox_server.stream.wire.server import SIZE as SIZE
from sandbox_server.stream.wire.server import VERSION as VERSION
from sandbox_server.stream.wire.server import clipboard as clipboard
from sandbox_server.stream.wire.server import cursor as cursor
from sandbox_server.stream.wire.server import desktop as desktop
from sandbox_server.stream.wire.server import hello as hello
from sandbox_server.stream.wire.server import part as part
from sandbox_server.stream.wire.server import pointer as pointer
from sandbox_server.stream.wire.server import pong as pong
from sandbox_server.stream.wire.server import rights as rights
from sandbox_server.stream.wire.server import size as size
from sandbox_server.stream.wire.viewer import MAX_TEXT as MAX_TEXT
from sandbox_server.stream.wire.viewer import MAX_TYPED as MAX_TYPED
from sandbox_server.stream.wire.viewer import MAX_UP as MAX_UP
from sandbox_server.stream.wire.viewer import Ack as Ack
from sandbox_server.stream.wire.viewer import BadMessage as BadMessage
from sandbox_server.stream.wire.viewer import Copied as Copied
from sandbox_server.stream.wire.viewer import FromViewer as FromViewer
from sandbox_server.stream.wire.viewer import Hello as Hello
from sandbox_server.stream.wire.viewer import Key as Key
from sandbox_server.stream.wire.viewer import Ping as Ping
from sandbox_server.stream.wire.viewer import Point as Point
from sandbox_server.stream.wire.viewer import Text as Text
from sandbox_server.stream.wire.viewer import Visible as Visible
from sandbox_server.stream.wire.viewer import Wheel as Wheel
from sandbox_server.stream.wire.viewer import Whole as Whole
from sandbox_server.stream.wire.viewer import parse as parse
from sandbox_server.stream.wire.viewer import said as said
