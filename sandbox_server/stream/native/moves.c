/* Motion search for vertical scrolling: rows of the screen are found in the shadow buffer by their hashes. */
#include "pixels.h"

#include <stdlib.h>
#include <string.h>

/* A page rarely scrolls as a whole: bars and borders stand still beside it. So the search is by strips of columns, and strips that move alike
 * are joined. */
#define STRIP 64
/* Fewer rows than this are sent as cheaply. */
#define MIN_ROWS 32
/* Percentage of the changed rows that a move has to explain: less is chance. */
#define MIN_SHARE 30
/* So many rows that agree are no chance, even if they are few of the changed ones: a page has scrolled by most of its height. */
#define MANY_ROWS 64
#define MANY_SHARE 6
/* Least height of a run of moved rows that is worth a move of its own. */
#define MIN_RUN 8
#define SLOTS 8192
#define MAX_STRIPS 128

typedef struct {
  uint64_t hash;
  int row; /* where it is, -1 if it is there more than once */
} Slot;

static uint64_t hash_row(const uint32_t *row, int count, uint32_t mask) {
  uint64_t a = 0x9E3779B97F4A7C15u, b = 0xC2B2AE3D27D4EB4Fu;
  for (int i = 0; i + 1 < count; i += 2) {
    a = (a ^ (row[i] & mask)) * 0x9FB21C651E98DF25u;
    b = (b ^ (row[i + 1] & mask)) * 0xD6E8FEB86659FD93u;
    a ^= a >> 32;
    b ^= b >> 29;
  }
  uint64_t hash = a ^ (b << 1) ^ b >> 7;
  return hash ? hash : 1;
}

static Slot *find(Slot *slots, uint64_t hash) {
  uint32_t at = hash % SLOTS;
  while (slots[at].hash && slots[at].hash != hash) at = (at + 1) % SLOTS;
  return &slots[at];
}

static int equal(const Pictures *p, int x, int width, int to, int from) {
  const uint32_t *screen = p->screen + (size_t)to * p->stride + x, *shadow = p->shadow + (size_t)from * p->stride + x;
  uint32_t found = 0;
  for (int i = 0; i < width; i++) found |= (screen[i] & COLOUR) ^ (shadow[i] & ~LOSSY);
  return !found;
}

static int is_worth(int changed, int found) {
  return changed >= MIN_ROWS && found * 100 >= changed * (found < MANY_ROWS ? MIN_SHARE : MANY_SHARE);
}

/* Whether enough of the strip's changed rows are found `by` rows away. */
static int goes_along(const Pictures *p, int x, int width, int top, int bottom, int by) {
  int changed = 0, found = 0;
  for (int y = top; y < bottom; y++) {
    if (equal(p, x, width, y, y)) continue;
    changed++;
    if (y - by >= top && y - by < bottom) found += equal(p, x, width, y, y - by);
  }
  return is_worth(changed, found);
}

static int has_changed(const Pictures *p, int x, int width, int top, int bottom) {
  for (int y = top; y < bottom; y++)
    if (!equal(p, x, width, y, y)) return 1;
  return 0;
}

/* By how many rows the strip moved: the offset that most of its changed rows agree on. 0 if they do not. */
static int vote(const Pictures *p, int x, int width, int top, int bottom, Slot *slots, uint16_t *votes) {
  int rows = bottom - top, changed = 0, best = 0;
  if (!has_changed(p, x, width, top, bottom)) return 0;
  memset(slots, 0, SLOTS * sizeof *slots);
  memset(votes, 0, (size_t)(2 * rows + 1) * sizeof *votes);
  for (int y = top; y < bottom; y++) {
    uint64_t hash = hash_row(p->shadow + (size_t)y * p->stride + x, width, ~LOSSY);
    Slot *slot = find(slots, hash);
    *slot = (Slot){hash, slot->hash ? -1 : y};
  }
  for (int y = top; y < bottom; y++) {
    if (equal(p, x, width, y, y)) continue;
    changed++;
    Slot *slot = find(slots, hash_row(p->screen + (size_t)y * p->stride + x, width, COLOUR));
    if (!slot->hash || slot->row < 0) continue;
    int move = y - slot->row + rows;
    if (++votes[move] > votes[best + rows]) best = move - rows;
  }
  return is_worth(changed, votes[best + rows]) ? best : 0;
}

/* The runs of rows of some columns that are found `by` rows away, in the order in which none overwrites the source of another. */
static int runs(const Pictures *p, int x, int width, int top, int bottom, int by, Move *out, int most) {
  int made = 0, length = 0, down = by > 0;
  for (int i = 0; i <= bottom - top; i++) {
    int y = down ? bottom - 1 - i : top + i, from = y - by;
    if (i < bottom - top && from >= top && from < bottom && equal(p, x, width, y, from)) {
      length++;
      continue;
    }
    int start = down ? y + 1 : y - length;
    if (length >= MIN_RUN && made < most) out[made++] = (Move){x, start - by, x, start, width, length};
    length = 0;
  }
  return made;
}

/* The move of each strip. One whose rows are too alike to vote follows the others, if that explains enough of it. */
static void elect(const Pictures *p, int left, int top, int right, int bottom, Slot *slots, uint16_t *votes, int *moves) {
  int leader = 0, most = 0;
  for (int x = left, i = 0; x < right; x += STRIP, i++) {
    int width = right - x < STRIP ? right - x : STRIP;
    moves[i] = vote(p, x, width, top, bottom, slots, votes);
    if (moves[i] && moves[i] == leader) most++;
    else if (moves[i] && --most < 0) leader = moves[i], most = 1;
  }
  for (int x = left, i = 0; leader && x < right; x += STRIP, i++) {
    int width = right - x < STRIP ? right - x : STRIP;
    if (!moves[i] && goes_along(p, x, width, top, bottom, leader)) moves[i] = leader;
  }
}

/* Find what moved up or down within the area: at most `most` moves into `out`, in the order to apply them. Returns how many. */
int find_moves(const Pictures *p, int left, int top, int width, int height, Move *out, int most) {
  if (width > p->width - left) width = p->width - left;
  if (height > p->height - top) height = p->height - top;
  int made = 0, bottom = top + height, right = left + width, moves[MAX_STRIPS + 1] = {0}, strips = (width + STRIP - 1) / STRIP;
  if (height < MIN_ROWS || width < STRIP || height > SLOTS / 2 || strips > MAX_STRIPS) return 0;
  Slot *slots = malloc(SLOTS * sizeof *slots);
  uint16_t *votes = malloc((size_t)(2 * height + 1) * sizeof *votes);
  if (slots && votes) elect(p, left, top, right, bottom, slots, votes, moves);
  for (int i = 0, start = 0; i <= strips; i++) {
    if (i < strips && moves[i] == moves[start]) continue;
    int x = left + start * STRIP, end = left + i * STRIP < right ? left + i * STRIP : right;
    if (moves[start]) made += runs(p, x, end - x, top, bottom, moves[start], out + made, most - made);
    start = i;
  }
  free(slots);
  free(votes);
  return made;
}

/* Apply moves to the shadow buffer, as the viewer does. */
void apply_moves(const Pictures *p, const Move *moves, int count) {
  for (int i = 0; i < count; i++) {
    const Move *m = &moves[i];
    for (int row = 0; row < m->height; row++) {
      int at = m->y > m->from_y ? m->height - 1 - row : row;
      memmove(p->shadow + (size_t)(m->y + at) * p->stride + m->x, p->shadow + (size_t)(m->from_y + at) * p->stride + m->from_x,
              (size_t)m->width * 4);
    }
  }
}
