/* The decoder of exact rects. Its input comes from a network, so every length is checked. */
#include "pixels.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const uint8_t *at, *end;
} Bytes;

static const uint8_t *next(Bytes *bytes, size_t count) {
  if ((size_t)(bytes->end - bytes->at) < count) return NULL;
  bytes->at += count;
  return bytes->at - count;
}

static uint32_t rgb(const uint8_t *at) { return (uint32_t)at[0] << 16 | at[1] << 8 | at[2]; }

static int fill(Bytes *bytes, const Rect *rect, uint32_t *picture, int stride) {
  const uint8_t *at = next(bytes, 3);
  if (!at) return 0;
  uint32_t colour = rgb(at);
  for (int y = 0; y < rect->height; y++)
    for (int x = 0; x < rect->width; x++) picture[(size_t)(rect->y + y) * stride + rect->x + x] = colour;
  return 1;
}

static int indexed(Bytes *bytes, const Rect *rect, uint32_t *picture, int stride) {
  const uint8_t *count = next(bytes, 1), *colours = count ? next(bytes, (*count + 1) * 3u) : NULL;
  if (!colours) return 0;
  int most = *count, bits = most < 2 ? 1 : most < 4 ? 2 : most < 16 ? 4 : 8, each = 8 / bits, row = (rect->width + each - 1) / each;
  for (int y = 0; y < rect->height; y++) {
    const uint8_t *from = next(bytes, row);
    if (!from) return 0;
    uint32_t *to = picture + (size_t)(rect->y + y) * stride + rect->x;
    for (int x = 0; x < rect->width; x++) {
      int index = from[x / each] >> (8 - bits - x % each * bits) & ((1 << bits) - 1);
      if (index > most) return 0;
      to[x] = rgb(colours + index * 3);
    }
  }
  return 1;
}

static int median(int a, int b, int c) {
  int low = a < b ? a : b, high = a < b ? b : a;
  return c < low ? low : c > high ? high : c;
}

static void plane(const uint8_t *from, uint8_t *to, int width, int height) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++, to++) {
      int left = x ? to[-1] : y ? to[-width] : 0, above = y ? to[-width] : left, corner = x && y ? to[-width - 1] : above;
      *to = *from++ + median(left, above, left + above - corner);
    }
}

static int planes(Bytes *bytes, const Rect *rect, uint32_t *picture, int stride) {
  size_t pixels = (size_t)rect->width * rect->height;
  const uint8_t *from = next(bytes, 3 * pixels);
  uint8_t *parts = from ? malloc(3 * pixels) : NULL, *at = parts;
  if (!parts) return 0;
  for (int i = 0; i < 3; i++) plane(from + i * pixels, parts + i * pixels, rect->width, rect->height);
  for (int y = 0; y < rect->height; y++) {
    uint32_t *to = picture + (size_t)(rect->y + y) * stride + rect->x;
    for (int x = 0; x < rect->width; x++, at++) {
      uint8_t green = at[0], red = at[pixels] + green, blue = at[2 * pixels] + green;
      to[x] = (uint32_t)red << 16 | green << 8 | blue;
    }
  }
  free(parts);
  return 1;
}

/* Decode rects into a picture of `width` x `height`, without gaps between rows. Returns 0 at a malformed rect, or one outside of the picture. */
int unpack(const uint8_t *bytes, size_t length, uint32_t *picture, int width, int height) {
  Bytes left = {bytes, bytes + length};
  while (left.at < left.end) {
    const uint8_t *head = next(&left, 9);
    if (!head) return 0;
    Rect rect = {head[0] | head[1] << 8, head[2] | head[3] << 8, head[4] | head[5] << 8, head[6] | head[7] << 8, 0, 0};
    if (!rect.width || !rect.height || rect.x + rect.width > width || rect.y + rect.height > height) return 0;
    int read = head[8] == ONE_COLOUR ? fill(&left, &rect, picture, width)
               : head[8] == PALETTE  ? indexed(&left, &rect, picture, width)
               : head[8] == PLANES   ? planes(&left, &rect, picture, width)
                                     : 0;
    if (!read) return 0;
  }
  return 1;
}

/* Copy pixels without gaps between rows to a rect of the picture. */
void paste(const uint32_t *pixels, const Rect *rect, uint32_t *picture, int stride) {
  for (int y = 0; y < rect->height; y++)
    memcpy(picture + (size_t)(rect->y + y) * stride + rect->x, pixels + (size_t)y * rect->width, (size_t)rect->width * 4);
}
