"""Pixel kernels in C, loaded by ctypes: Python handles rects and never reads a pixel.

`diff.c` classifies what changed, `moves.c` and `shifts.c` find motion, `tile_cache.c` finds tiles that the viewer has cached, `activity.c`
maps where the screen keeps changing, `overlay.c` finds still areas over a video, `pack.c` and `unpack.c` are the codec of exact rects.
"""
