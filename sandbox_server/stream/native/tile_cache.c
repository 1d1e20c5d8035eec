/* The tile cache: tiles that the viewer stores, so that what returns (a menu that closes, another tab, the slide before) is not sent again.
 *
 * The server alone decides which tile is in which slot. It has a copy of each, and compares every pixel of what it takes for the same. */
#include "pixels.h"

#include <string.h>

#define CACHED_TILES 4096
#define BUCKETS 4096
#define PIXELS (TILE * TILE)
/* Least size of the box around a tile's change, in pixels: a letter that is typed is cheaper to send than to cache. */
#define MIN_CHANGED (PIXELS / 2)

typedef struct {
  uint64_t hash;
  uint32_t frame; /* in which it was last drawn or stored */
  uint16_t next;  /* in its bucket, plus one; 0 is none */
  uint16_t used;
} Entry;

typedef struct {
  Entry entries[CACHED_TILES];
  uint16_t buckets[BUCKETS]; /* the first entry, plus one */
  uint32_t frame;
  uint32_t clock_hand;
  uint32_t pixels[CACHED_TILES][PIXELS];
} TileCache;

typedef struct {
  uint16_t slot, x, y;
} CachedTile;

size_t tile_cache_size(void) { return sizeof(TileCache); }

static uint64_t hash_tile(const uint32_t *at, int stride) {
  uint64_t a = 0x9E3779B97F4A7C15u, b = 0xC2B2AE3D27D4EB4Fu;
  for (int y = 0; y < TILE; y++, at += stride)
    for (int x = 0; x < TILE; x += 2) {
      a = (a ^ (at[x] & COLOUR)) * 0x9FB21C651E98DF25u;
      b = (b ^ (at[x + 1] & COLOUR)) * 0xD6E8FEB86659FD93u;
      a ^= a >> 32;
      b ^= b >> 29;
    }
  return a ^ (b << 1) ^ b >> 7;
}

static int is_same(const uint32_t *kept, const uint32_t *at, int stride) {
  uint32_t found = 0;
  for (int y = 0; y < TILE; y++, at += stride, kept += TILE)
    for (int x = 0; x < TILE; x++) found |= kept[x] ^ (at[x] & COLOUR);
  return !found;
}

static int is_one_colour(const uint32_t *at, int stride) {
  uint32_t colour = at[0], found = 0;
  for (int y = 0; y < TILE; y++, at += stride)
    for (int x = 0; x < TILE; x++) found |= at[x] ^ colour;
  return !(found & COLOUR);
}

static int is_exact(const uint32_t *at, int stride) {
  uint32_t found = 0;
  for (int y = 0; y < TILE; y++, at += stride)
    for (int x = 0; x < TILE; x++) found |= at[x];
  return !(found & ~COLOUR);
}

/* The slot of such a tile, or -1. */
static int find_tile(const TileCache *cache, uint64_t hash, const uint32_t *at, int stride) {
  for (int slot = cache->buckets[hash % BUCKETS]; slot; slot = cache->entries[slot - 1].next)
    if (cache->entries[slot - 1].hash == hash && is_same(cache->pixels[slot - 1], at, stride)) return slot - 1;
  return -1;
}

static void leave_bucket(TileCache *cache, int slot) {
  uint16_t *link = &cache->buckets[cache->entries[slot].hash % BUCKETS];
  while (*link && *link != slot + 1) link = &cache->entries[*link - 1].next;
  if (*link) *link = cache->entries[slot].next;
}

/* A slot to overwrite, by the clock algorithm: not one of this frame, and not one that was used since the hand passed. -1 if there is none. */
static int free_slot(TileCache *cache) {
  for (int tries = 0; tries < 2 * CACHED_TILES; tries++) {
    int slot = cache->clock_hand++ % CACHED_TILES;
    Entry *entry = &cache->entries[slot];
    if (entry->frame == cache->frame) continue;
    if (entry->used) entry->used = 0;
    else return slot;
  }
  return -1;
}

static int keep_tile(TileCache *cache, uint64_t hash, const uint32_t *at, int stride) {
  int slot = free_slot(cache);
  if (slot < 0) return -1;
  if (cache->entries[slot].frame) leave_bucket(cache, slot);
  cache->entries[slot] = (Entry){hash, cache->frame, cache->buckets[hash % BUCKETS], 0};
  cache->buckets[hash % BUCKETS] = slot + 1;
  for (int y = 0; y < TILE; y++)
    for (int x = 0; x < TILE; x++) cache->pixels[slot][y * TILE + x] = at[(size_t)y * stride + x] & COLOUR;
  return slot;
}

/* The size of the box around what differs within a tile, in pixels. */
static int around_changes(const uint32_t *screen, const uint32_t *shadow, int stride) {
  int left = TILE, right = -1, top = -1, bottom = -1;
  for (int y = 0; y < TILE; y++, screen += stride, shadow += stride)
    for (int x = 0; x < TILE; x++)
      if ((screen[x] & COLOUR) ^ shadow[x]) {
        if (top < 0) top = y;
        bottom = y;
        if (x < left) left = x;
        if (x > right) right = x;
      }
  return top < 0 ? 0 : (right - left + 1) * (bottom - top + 1);
}

/* Find the tiles within the area that the viewer has cached: into `draw`. What it shows where it is to be drawn over is to be cached: into
 * `save`. All of `save` is done before all of `draw`, and the shadow buffer is left as it will be then. Both have room for `most`. */
void find_cached_tiles(const Pictures *p, TileCache *cache, int x, int y, int width, int height, const uint8_t *skip,
                       CachedTile *save, CachedTile *draw, int most, int *counts) {
  int columns = (p->width + TILE - 1) / TILE;
  int right = x + width < p->width ? x + width : p->width, bottom = y + height < p->height ? y + height : p->height;
  counts[0] = counts[1] = 0;
  cache->frame++;
  for (int pass = 0; pass < 2; pass++)
    for (int top = (y + TILE - 1) / TILE * TILE; top + TILE <= bottom; top += TILE)
      for (int left = (x + TILE - 1) / TILE * TILE; left + TILE <= right; left += TILE) {
        const uint32_t *screen = p->screen + (size_t)top * p->stride + left;
        uint32_t *shadow = p->shadow + (size_t)top * p->stride + left;
        if (skip && skip[top / TILE * columns + left / TILE]) continue;
        if (counts[pass] >= most || around_changes(screen, shadow, p->stride) < MIN_CHANGED) continue;
        if (pass) {
          if (!is_exact(shadow, p->stride) || is_one_colour(shadow, p->stride)) continue;
          uint64_t hash = hash_tile(shadow, p->stride);
          if (find_tile(cache, hash, shadow, p->stride) >= 0) continue;
          int slot = keep_tile(cache, hash, shadow, p->stride);
          if (slot >= 0) save[counts[1]++] = (CachedTile){slot, left, top};
        } else if (!is_one_colour(screen, p->stride)) {
          int slot = find_tile(cache, hash_tile(screen, p->stride), screen, p->stride);
          if (slot < 0) continue;
          cache->entries[slot].frame = cache->frame;
          cache->entries[slot].used = 1;
          draw[counts[0]++] = (CachedTile){slot, left, top};
        }
      }
  for (int i = 0; i < counts[0]; i++)
    for (int row = 0; row < TILE; row++)
      memcpy(p->shadow + (size_t)(draw[i].y + row) * p->stride + draw[i].x, cache->pixels[draw[i].slot] + row * TILE, TILE * 4);
}

/* Store tiles in a viewer's cache. Returns 0 if one is not within the picture, or its slot does not exist. `known` marks filled slots. */
int store_tiles(const uint32_t *picture, int width, int height, const CachedTile *tiles, int count, uint32_t *kept, uint8_t *known) {
  for (int i = 0; i < count; i++) {
    if (tiles[i].slot >= CACHED_TILES || tiles[i].x + TILE > width || tiles[i].y + TILE > height) return 0;
    for (int row = 0; row < TILE; row++)
      memcpy(kept + (size_t)tiles[i].slot * PIXELS + row * TILE, picture + (size_t)(tiles[i].y + row) * width + tiles[i].x, TILE * 4);
    known[tiles[i].slot] = 1;
  }
  return 1;
}

/* Draw tiles from a viewer's cache. Returns 0 if one is not within the picture, or its slot is empty. */
int draw_tiles(uint32_t *picture, int width, int height, const CachedTile *tiles, int count, const uint32_t *kept, const uint8_t *known) {
  for (int i = 0; i < count; i++) {
    if (tiles[i].slot >= CACHED_TILES || !known[tiles[i].slot] || tiles[i].x + TILE > width || tiles[i].y + TILE > height) return 0;
    for (int row = 0; row < TILE; row++)
      memcpy(picture + (size_t)(tiles[i].y + row) * width + tiles[i].x, kept + (size_t)tiles[i].slot * PIXELS + row * TILE, TILE * 4);
  }
  return 1;
}
