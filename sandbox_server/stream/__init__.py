"""The streaming process: a live view of the desktop for any number of viewers, and their input.

Pixels, from the X server to one viewer::

    capture/x11 --frame, damage--> classify/shadow_buffer --changes--> plan/update_planner --plan--> codecs/frame_encoder
                                                                             ^                              | operations
                                   congestion/window <--acks-- wire <-- transport/viewer_transport <-- wire <--+

1. `capture` copies what was drawn on from the X server (XDamage, MIT-SHM), and follows the cursor and the pointer.
2. `classify` compares it with the viewer's shadow buffer, tells text from photographs, and finds video regions and their overlays.
3. `plan` chooses what the viewer is sent next: moved rects, cached tiles, exact rects, lossy pictures, videos.
4. `codecs` encode that: `exact` (lossless rects), `jpeg` (photographs), `h264` (video). `native` is the C that does it.
5. `wire` is the protocol: messages as values, and as bytes.
6. `transport` carries the messages over a WebSocket, and over a data channel beside it.
7. `congestion` bounds what is in flight by the acknowledgements, and sets the bitrate and the quality of videos.

The other way and beside it: `input` injects what a viewer does, echoes what others do, and syncs the clipboard; `sound` plays the desktop's
sound and hears the microphone. `viewer` puts one viewer together, `resume` keeps what a lost viewer had, `app` is the composition root, and
`client` is a viewer in Python. The protocol is described in docs/stream-protocol.md.
"""
