/* Motion search in any direction: a map that is panned, a window that is dragged. It runs where vertical motion explains little.
 *
 * Short runs of pixels of the screen, one for each tile, are searched in the whole shadow buffer by a rolling hash (a cyclic polynomial, Cohen
 * 1997). Each that is found votes for a shift. Then the columns of the screen are compared with the shifted shadow buffer. */
#include "pixels.h"

#include <stdlib.h>
#include <string.h>

/* Pixels of a sample. The hash is rotated as many times, once around, so a pixel leaves it as it entered. */
#define WINDOW 32
/* Least number of pixels of a sample that differ from the one before: with fewer it is found in many places. */
#define MIN_EDGES 6
/* Least number of samples, and least percentage of them that agree: less is chance. */
#define MIN_SAMPLES 6
#define MIN_SHARE 25
#define MAX_SAMPLES 512
/* Bound on the candidates that are compared, and so on the time. */
#define MAX_HITS 8192
#define SLOTS 2048
#define VOTES 4096
#define BITS (1 << 16)
/* Width of the strips that are compared, and least height of a run of rows that is worth a move. */
#define STRIP 16
#define MIN_RUN 16

typedef struct {
  uint32_t hash;
  int16_t x, y; /* x is -1 where there is no sample */
} Sample;

typedef struct {
  int dx, dy, count;
} Vote;

typedef struct {
  Sample samples[SLOTS];
  Vote votes[VOTES];
  uint8_t filter[BITS / 8];
  uint32_t mixed[8192];
  int count;
} Search;

static uint32_t mix(uint32_t pixel) {
  pixel *= 0x9E3779B1u;
  return pixel ^ pixel >> 15;
}

static uint32_t turned(uint32_t hash) { return hash << 1 | hash >> 31; }

static uint32_t bit_of(uint32_t hash) { return hash * 0x85EBCA6Bu >> 16; }

static int has_edges(const uint32_t *row) {
  int edges = 0;
  for (int i = 1; i < WINDOW; i++) edges += ((row[i] ^ row[i - 1]) & COLOUR) != 0;
  return edges >= MIN_EDGES;
}

static int same(const uint32_t *screen, const uint32_t *shadow, int count) {
  uint32_t found = 0;
  for (int i = 0; i < count; i++) found |= (screen[i] & COLOUR) ^ (shadow[i] & ~LOSSY);
  return !found;
}

static void add_sample(const Pictures *p, Search *search, int x, int y) {
  const uint32_t *row = p->screen + (size_t)y * p->stride + x;
  uint32_t hash = 0;
  for (int i = 0; i < WINDOW; i++) hash = turned(hash) ^ mix(row[i] & COLOUR);
  uint32_t at = hash % SLOTS;
  while (search->samples[at].x >= 0) {
    if (search->samples[at].hash == hash) return;
    at = (at + 1) % SLOTS;
  }
  search->samples[at] = (Sample){hash, x, y};
  search->filter[bit_of(hash) >> 3] |= 1 << (bit_of(hash) & 7);
  search->count++;
}

/* One sample a tile that changed, from every `step`th tile. */
static void add_samples(const Pictures *p, Search *search, Box area) {
  int tiles = ((area.right - area.left) / TILE) * ((area.bottom - area.top) / TILE), step = tiles / MAX_SAMPLES + 1, tile = 0;
  for (int top = area.top; top + TILE <= area.bottom; top += TILE)
    for (int left = area.left; left + TILE <= area.right; left += TILE) {
      if (tile++ % step) continue;
      for (int y = top; y < top + TILE; y += 3) {
        size_t at = (size_t)y * p->stride + left;
        if (same(p->screen + at, p->shadow + at, WINDOW) || !has_edges(p->screen + at)) continue;
        add_sample(p, search, left, y);
        break;
      }
    }
}

static void vote(Search *search, int dx, int dy) {
  uint32_t at = ((uint32_t)dx * 0x9E3779B1u ^ (uint32_t)dy * 0x85EBCA6Bu) >> 16;
  for (int tries = 0; tries < 8; tries++, at++) {
    Vote *vote = &search->votes[at % VOTES];
    if (vote->count && (vote->dx != dx || vote->dy != dy)) continue;
    *vote = (Vote){dx, dy, vote->count + 1};
    return;
  }
}

/* Look a position of the shadow buffer up. Returns how many candidates may still be compared. */
static int look_up(const Pictures *p, Search *search, uint32_t hash, int x, int y, int hits) {
  for (uint32_t at = hash % SLOTS; search->samples[at].x >= 0; at = (at + 1) % SLOTS) {
    const Sample *sample = &search->samples[at];
    if (sample->hash != hash) continue;
    if (same(p->screen + (size_t)sample->y * p->stride + sample->x, p->shadow + (size_t)y * p->stride + x, WINDOW))
      vote(search, sample->x - x, sample->y - y);
    return hits - 1;
  }
  return hits;
}

static void find_samples(const Pictures *p, Search *search, Box area) {
  int width = area.right - area.left, hits = MAX_HITS;
  for (int y = area.top; y < area.bottom && hits > 0; y++) {
    const uint32_t *row = p->shadow + (size_t)y * p->stride + area.left;
    uint32_t hash = 0;
    for (int i = 0; i < width; i++) search->mixed[i] = mix(row[i] & ~LOSSY);
    for (int i = 0; i < WINDOW; i++) hash = turned(hash) ^ search->mixed[i];
    for (int i = WINDOW;; i++) {
      uint32_t bit = bit_of(hash);
      if (search->filter[bit >> 3] & 1 << (bit & 7)) hits = look_up(p, search, hash, area.left + i - WINDOW, y, hits);
      if (i == width) break;
      hash = turned(hash) ^ search->mixed[i] ^ search->mixed[i - WINDOW];
    }
  }
}

static Vote winner(const Search *search) {
  Vote best = {0, 0, 0};
  for (int i = 0; i < VOTES; i++)
    if (search->votes[i].count > best.count && (search->votes[i].dx || search->votes[i].dy)) best = search->votes[i];
  return best.count >= MIN_SAMPLES && best.count * 100 >= search->count * MIN_SHARE ? best : (Vote){0, 0, 0};
}

/* Whether a run continues the latest move beside it, so that both are one. */
static int joins(Move *last, int x, int y, int width, int height) {
  if (last->y != y || last->height != height || (last->x + last->width != x && x + width != last->x)) return 0;
  if (x < last->x) last->x = x, last->from_x -= width;
  last->width += width;
  return 1;
}

/* The runs of rows of a strip that are found at the shift, in the order in which none overwrites the source of another. */
static int strip_runs(const Pictures *p, Box area, int x, int width, Vote by, Move *out, int made, int most) {
  int length = 0, rows = area.bottom - area.top, differs = 0;
  for (int i = 0; i <= rows; i++) {
    int y = by.dy > 0 ? area.bottom - 1 - i : area.top + i, from = y - by.dy;
    const uint32_t *screen = p->screen + (size_t)y * p->stride + x;
    if (i < rows && from >= area.top && from < area.bottom && same(screen, p->shadow + (size_t)from * p->stride + x - by.dx, width)) {
      length++;
      differs |= !same(screen, p->shadow + (size_t)y * p->stride + x, width);
      continue;
    }
    int start = by.dy > 0 ? y + 1 : y - length;
    if (length >= MIN_RUN && differs && made < most && !(made && joins(&out[made - 1], x, start, width, length)))
      out[made++] = (Move){x - by.dx, start - by.dy, x, start, width, length};
    length = differs = 0;
  }
  return made;
}

/* Strips are taken in the order in which none overwrites the source of another. */
static int all_runs(const Pictures *p, Box area, Vote by, Move *out, int most) {
  int left = area.left + (by.dx > 0 ? by.dx : 0), right = area.right + (by.dx < 0 ? by.dx : 0), strips = (right - left) / STRIP, made = 0;
  for (int i = 0; i < strips; i++)
    made = strip_runs(p, area, by.dx > 0 ? right - (i + 1) * STRIP : left + i * STRIP, STRIP, by, out, made, most);
  return made;
}

/* Find what moved in any direction within the area: at most `most` moves into `out`, in the order to apply them. Returns how many. */
int find_shifts(const Pictures *p, int left, int top, int width, int height, Move *out, int most) {
  Box area = {left, top, left + width < p->width ? left + width : p->width, top + height < p->height ? top + height : p->height};
  Search *search = area.right - area.left < 2 * TILE || area.bottom - area.top < 2 * TILE ? NULL : calloc(1, sizeof *search);
  Vote by = {0, 0, 0};
  if (!search) return 0;
  for (int i = 0; i < SLOTS; i++) search->samples[i].x = -1;
  add_samples(p, search, area);
  if (search->count >= MIN_SAMPLES) {
    find_samples(p, search, area);
    by = winner(search);
  }
  free(search);
  return by.count ? all_runs(p, area, by, out, most) : 0;
}
