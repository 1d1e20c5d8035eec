/* The encoder of exact rects (layout in docs/stream-protocol.md, "Exact rects"), and the pixel formats of the other codecs. */
#include "pixels.h"

#include <string.h>

#define MAX_COLOURS 256
#define SLOTS 1024
#define HEAD 9

typedef struct {
  uint32_t colours[MAX_COLOURS];
  uint32_t slots[SLOTS]; /* colour + 1, or 0 */
  uint16_t index[SLOTS];
  int count;
} Palette;

static uint32_t slot_of(const Palette *palette, uint32_t colour) {
  uint32_t at = (colour * 2654435761u) >> 22;
  while (palette->slots[at] && palette->slots[at] != colour + 1) at = (at + 1) % SLOTS;
  return at;
}

/* Whether the rect has at most MAX_COLOURS. If so, they are in the palette, in the order of their first pixel. */
static int collect(const uint32_t *screen, int stride, const Rect *rect, Palette *palette) {
  memset(palette->slots, 0, sizeof palette->slots);
  palette->count = 0;
  for (int y = 0; y < rect->height; y++) {
    const uint32_t *row = screen + (size_t)(rect->y + y) * stride + rect->x;
    uint32_t before = ~0u;
    for (int x = 0; x < rect->width; x++) {
      uint32_t colour = row[x] & COLOUR;
      if (colour == before) continue;
      before = colour;
      uint32_t at = slot_of(palette, colour);
      if (palette->slots[at]) continue;
      if (palette->count == MAX_COLOURS) return 0;
      palette->slots[at] = colour + 1;
      palette->index[at] = palette->count;
      palette->colours[palette->count++] = colour;
    }
  }
  return 1;
}

static int bits_of(int colours) { return colours <= 2 ? 1 : colours <= 4 ? 2 : colours <= 16 ? 4 : 8; }

static uint8_t *put16(uint8_t *out, int value) {
  out[0] = value & 255;
  out[1] = value >> 8;
  return out + 2;
}

static uint8_t *put_rgb(uint8_t *out, uint32_t colour) {
  out[0] = colour >> 16;
  out[1] = colour >> 8;
  out[2] = colour;
  return out + 3;
}

static uint8_t *put_head(uint8_t *out, const Rect *rect, enum form form) {
  out = put16(put16(put16(put16(out, rect->x), rect->y), rect->width), rect->height);
  *out = form;
  return out + 1;
}

static uint8_t *put_indexed(uint8_t *out, const uint32_t *screen, int stride, const Rect *rect, const Palette *palette) {
  int bits = bits_of(palette->count);
  *out++ = palette->count - 1;
  for (int i = 0; i < palette->count; i++) out = put_rgb(out, palette->colours[i]);
  for (int y = 0; y < rect->height; y++) {
    const uint32_t *row = screen + (size_t)(rect->y + y) * stride + rect->x;
    uint32_t before = ~0u, index = 0, byte = 0, filled = 0;
    for (int x = 0; x < rect->width; x++) {
      uint32_t colour = row[x] & COLOUR;
      if (colour != before) index = palette->index[slot_of(palette, before = colour)];
      byte = byte << bits | index;
      if ((filled += bits) == 8) *out++ = byte, byte = filled = 0;
    }
    if (filled) *out++ = byte << (8 - filled);
  }
  return out;
}

static int median(int a, int b, int c) {
  int low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

/* One plane of a rect, as differences from a prediction: the median of left, above, and their gradient (LOCO-I). */
static uint8_t *put_plane(uint8_t *out, const uint8_t *plane, int width, int height) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      const uint8_t *at = plane + (size_t)y * width + x;
      int left = x ? at[-1] : y ? at[-width] : 0, above = y ? at[-width] : left, corner = x && y ? at[-width - 1] : above;
      *out++ = *at - median(left, above, left + above - corner);
    }
  return out;
}

/* The planes green, red minus green, and blue minus green. `scratch` has room for one plane. */
static uint8_t *put_planes(uint8_t *out, const uint32_t *screen, int stride, const Rect *rect, uint8_t *scratch) {
  static const int shifts[3] = {8, 16, 0};
  for (int plane = 0; plane < 3; plane++) {
    uint8_t *to = scratch;
    for (int y = 0; y < rect->height; y++) {
      const uint32_t *row = screen + (size_t)(rect->y + y) * stride + rect->x;
      for (int x = 0; x < rect->width; x++) *to++ = (row[x] >> shifts[plane]) - (plane ? row[x] >> 8 : 0);
    }
    out = put_plane(out, scratch, rect->width, rect->height);
  }
  return out;
}

/* Encode rects into `out`, as many as are sure to fit `room` bytes, but at least one. Returns how many, and in `length` the bytes.
 * `room` is at least 1 KiB and 4 bytes for each pixel of the largest rect that is not SOLID: a plane of scratch fits behind what is written. */
int pack(const uint32_t *screen, int stride, const Rect *rects, int count, uint8_t *out, size_t room, size_t *length) {
  uint8_t *start = out, *end = out + room;
  Palette palette;
  int done = 0;
  for (; done < count; done++) {
    const Rect *rect = &rects[done];
    size_t pixels = (size_t)rect->width * rect->height;
    if ((size_t)(end - out) < HEAD + 1 + 3 * MAX_COLOURS + (rect->kind == SOLID ? 0 : 4 * pixels)) break;
    if (rect->kind == SOLID) {
      out = put_rgb(put_head(out, rect, ONE_COLOUR), rect->colour);
    } else if (!collect(screen, stride, rect, &palette)) {
      uint8_t *body = put_head(out, rect, PLANES);
      out = put_planes(body, screen, stride, rect, body + 3 * pixels);
    } else if (palette.count == 1) {
      out = put_rgb(put_head(out, rect, ONE_COLOUR), palette.colours[0]);
    } else {
      out = put_indexed(put_head(out, rect, PALETTE), screen, stride, rect, &palette);
    }
  }
  *length = (size_t)(out - start);
  return done;
}

/* Copy a rect, without gaps between rows. */
void crop(const uint32_t *screen, int stride, const Rect *rect, uint32_t *out) {
  for (int y = 0; y < rect->height; y++)
    memcpy(out + (size_t)y * rect->width, screen + (size_t)(rect->y + y) * stride + rect->x, (size_t)rect->width * 4);
}

/* Downscale a rect to half its size: each pixel is the mean of four. An odd last column or row is left out. */
void downscale(const uint32_t *screen, int stride, const Rect *rect, uint32_t *out) {
  int width = rect->width / 2, odd = 0x00FF00FF;
  for (int y = 0; y < rect->height / 2; y++)
    for (int x = 0; x < width; x++) {
      const uint32_t *at = screen + (size_t)(rect->y + 2 * y) * stride + rect->x + 2 * x;
      uint32_t a = at[0], b = at[1], c = at[stride], d = at[stride + 1];
      uint32_t rb = (a & odd) + (b & odd) + (c & odd) + (d & odd) + 0x00020002;
      uint32_t g = (a >> 8 & 255) + (b >> 8 & 255) + (c >> 8 & 255) + (d >> 8 & 255) + 2;
      out[(size_t)y * width + x] = (rb >> 2 & odd) | (g >> 2) << 8;
    }
}

static int luma(int r, int g, int b) { return (47 * r + 157 * g + 16 * b + 128) >> 8; }

/* Convert a rect of even size to YUV 4:2:0: BT.709, limited range, with 8 bits of fraction. */
void to_yuv(const uint32_t *screen, int stride, const Rect *rect, uint8_t *const planes[3], const int strides[3]) {
  for (int y = 0; y < rect->height; y += 2) {
    const uint32_t *rows[2] = {screen + (size_t)(rect->y + y) * stride + rect->x, screen + (size_t)(rect->y + y + 1) * stride + rect->x};
    for (int line = 0; line < 2; line++)
      for (int x = 0; x < rect->width; x++) {
        uint32_t pixel = rows[line][x];
        planes[0][(size_t)(y + line) * strides[0] + x] = 16 + luma(pixel >> 16 & 255, pixel >> 8 & 255, pixel & 255);
      }
    for (int x = 0; x < rect->width; x += 2) {
      uint32_t a = rows[0][x], b = rows[0][x + 1], c = rows[1][x], d = rows[1][x + 1];
      int even = 0x00FF00FF;
      uint32_t rb = (a & even) + (b & even) + (c & even) + (d & even);
      int red = rb >> 18 & 255, blue = rb >> 2 & 255, green = ((a >> 8 & 255) + (b >> 8 & 255) + (c >> 8 & 255) + (d >> 8 & 255)) >> 2;
      planes[1][(size_t)(y / 2) * strides[1] + x / 2] = (-26 * red - 86 * green + 112 * blue + 32896) >> 8;
      planes[2][(size_t)(y / 2) * strides[2] + x / 2] = (112 * red - 102 * green - 10 * blue + 32896) >> 8;
    }
  }
}
