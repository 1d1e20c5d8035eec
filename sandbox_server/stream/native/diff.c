/* Frame differencing and classification: what a viewer does not have, as few rects, each solid, text or picture. */
#include "pixels.h"

#include <stdlib.h>
#include <string.h>

/* Thresholds that tell pictures from text and drawings, for a tile. Letters, lines and areas repeat the pixel beside them: a quarter of the
 * pixels at least (measured on pages and terminals: 0.5 to 0.99). Photographs and videos do not (0.01 to 0.15). Few colours are cheap to send
 * exactly, whatever they show. */
#define REPEATS_OF_TEXT 4
#define COLOURS_OF_TEXT 64
/* Below so many pixels exact is as cheap as lossy. */
#define MIN_PICTURE 64
/* Largest rect, so that nothing waits for long behind one. */
#define MAX_PIXELS (256 * 256)

static uint32_t differs(const uint32_t *screen, const uint32_t *shadow, int count, uint32_t mask) {
  uint32_t found = 0;
  for (int i = 0; i < count; i++) found |= (screen[i] & COLOUR) ^ (shadow[i] & mask);
  return found;
}

static int first(const uint32_t *screen, const uint32_t *shadow, int count, uint32_t mask) {
  int i = 0;
  while (i < count && !((screen[i] & COLOUR) ^ (shadow[i] & mask))) i++;
  return i;
}

static int last(const uint32_t *screen, const uint32_t *shadow, int count, uint32_t mask) {
  int i = count;
  while (i > 0 && !((screen[i - 1] & COLOUR) ^ (shadow[i - 1] & mask))) i--;
  return i;
}

/* The bounding box of what differs in `area`. Returns whether anything does. */
static int changed(const Pictures *p, Box area, uint32_t mask, Box *out) {
  *out = (Box){area.right, -1, area.left, -1};
  for (int y = area.top; y < area.bottom; y++) {
    const uint32_t *screen = p->screen + (size_t)y * p->stride + area.left, *shadow = p->shadow + (size_t)y * p->stride + area.left;
    int count = area.right - area.left;
    if (!differs(screen, shadow, count, mask)) continue;
    int left = area.left + first(screen, shadow, count, mask), right = area.left + last(screen, shadow, count, mask);
    if (out->top < 0) out->top = y;
    out->bottom = y + 1;
    if (left < out->left) out->left = left;
    if (right > out->right) out->right = right;
  }
  return out->top >= 0;
}

static int is_solid(const Pictures *p, Box area) {
  uint32_t colour = p->screen[(size_t)area.top * p->stride + area.left], found = 0;
  for (int y = area.top; y < area.bottom; y++) {
    const uint32_t *row = p->screen + (size_t)y * p->stride;
    for (int x = area.left; x < area.right; x++) found |= row[x] ^ colour;
  }
  return !(found & COLOUR);
}

/* How many of 256 buckets the colours fall into. */
static int colours(const Pictures *p, Box area) {
  uint8_t seen[256] = {0};
  int count = 0;
  for (int y = area.top; y < area.bottom; y++) {
    const uint32_t *row = p->screen + (size_t)y * p->stride;
    for (int x = area.left; x < area.right; x++) {
      uint8_t *cell = &seen[((row[x] & COLOUR) * 2654435761u) >> 24];
      count += !*cell;
      *cell = 1;
    }
  }
  return count;
}

/* Whether an area is like a photograph rather than like text or a drawing. */
int is_picture(const Pictures *p, Box area) {
  int pixels = (area.right - area.left) * (area.bottom - area.top), repeats = 0;
  if (pixels < MIN_PICTURE) return 0;
  for (int y = area.top; y < area.bottom; y++) {
    const uint32_t *row = p->screen + (size_t)y * p->stride;
    for (int x = area.left + 1; x < area.right; x++) repeats += !((row[x] ^ row[x - 1]) & COLOUR);
  }
  return repeats * REPEATS_OF_TEXT < pixels && colours(p, area) > COLOURS_OF_TEXT;
}

static Rect classified(const Pictures *p, Box tile, Box box) {
  Rect rect = {box.left, box.top, box.right - box.left, box.bottom - box.top, 0, TEXT};
  if (is_solid(p, tile)) {
    rect = (Rect){tile.left, tile.top, tile.right - tile.left, tile.bottom - tile.top, 0, SOLID};
    rect.colour = p->screen[(size_t)tile.top * p->stride + tile.left] & COLOUR;
  } else if (is_picture(p, tile)) {
    rect.kind = PICTURE;
  }
  return rect;
}

static void join(Rect *into, const Rect *rect) {
  int left = into->x < rect->x ? into->x : rect->x, top = into->y < rect->y ? into->y : rect->y;
  int right = into->x + into->width, bottom = into->y + into->height;
  if (rect->x + rect->width > right) right = rect->x + rect->width;
  if (rect->y + rect->height > bottom) bottom = rect->y + rect->height;
  *into = (Rect){left, top, right - left, bottom - top, into->colour, into->kind};
}

static int same(const Rect *a, const Rect *b) { return a->kind == b->kind && a->colour == b->colour; }

/* A rect that is not finished, and the columns of tiles that it covers. */
typedef struct {
  Rect rect;
  int first, last, row;
} Run;

static int fits(const Run *a, const Run *b) {
  Rect both = a->rect;
  join(&both, &b->rect);
  return same(&a->rect, &b->rect) && (a->rect.kind == SOLID || both.width * both.height <= MAX_PIXELS);
}

/* Join the runs of one row of tiles with those above that cover the same columns. The others are finished. */
typedef struct {
  Run *above;
  int count;
} Row;

static int settle(Row *above, Run *runs, int count, Rect *out, int made, int most) {
  for (int i = 0; i < above->count; i++) {
    Run *run = &above->above[i];
    int joined = 0;
    for (int j = 0; j < count && !joined; j++)
      if (runs[j].first == run->first && runs[j].last == run->last && fits(run, &runs[j])) {
        join(&runs[j].rect, &run->rect);
        joined = 1;
      }
    if (!joined && made < most) out[made++] = run->rect;
  }
  memcpy(above->above, runs, (size_t)count * sizeof *runs);
  above->count = count;
  return made;
}

static int row_of_runs(const Pictures *p, Box area, int top, uint32_t mask, const uint8_t *skip, int columns, Run *runs) {
  int count = 0;
  for (int left = area.left / TILE * TILE; left < area.right; left += TILE) {
    Box tile = {left, top, left + TILE < p->width ? left + TILE : p->width, top + TILE < p->height ? top + TILE : p->height}, box;
    Box part = {tile.left > area.left ? tile.left : area.left, tile.top > area.top ? tile.top : area.top,
                tile.right < area.right ? tile.right : area.right, tile.bottom < area.bottom ? tile.bottom : area.bottom};
    int column = left / TILE;
    if ((skip && skip[top / TILE * columns + column]) || !changed(p, part, mask, &box)) continue;
    Run run = {classified(p, tile, box), column, column, top};
    Run *before = count ? &runs[count - 1] : NULL;
    if (before && before->last == column - 1 && fits(before, &run)) {
      join(&before->rect, &run.rect);
      before->last = column;
    } else {
      runs[count++] = run;
    }
  }
  return count;
}

static int by_kind_and_place(const void *a, const void *b) {
  const Rect *one = a, *other = b;
  int kinds = (one->kind == PICTURE) - (other->kind == PICTURE), rows = one->y - other->y;
  return kinds ? kinds : rows ? rows : one->x - other->x;
}

/* Find what differs within the area: at most `most` rects into `out`, pictures last. Returns how many, and in `exact` how many are no pictures.
 * Tiles that are marked in `skip` are left out. With `mask` ~LOSSY a pixel that the viewer has a lossy version of does not differ, with ~0 it
 * does. */
int find_changes(const Pictures *p, int x, int y, int width, int height, uint32_t mask, const uint8_t *skip, Rect *out, int most, int *exact) {
  Box area = {x, y, x + width < p->width ? x + width : p->width, y + height < p->height ? y + height : p->height};
  Run held[512], runs[512];
  Row above = {held, 0};
  int made = 0, columns = (p->width + TILE - 1) / TILE;
  for (int top = area.top / TILE * TILE; top < area.bottom; top += TILE)
    made = settle(&above, runs, row_of_runs(p, area, top, mask, skip, columns, runs), out, made, most);
  made = settle(&above, runs, 0, out, made, most);
  qsort(out, made, sizeof *out, by_kind_and_place);
  for (*exact = 0; *exact < made && out[*exact].kind != PICTURE; ++*exact)
    ;
  return made;
}

/* Note that the viewer was sent rects: copy them to the shadow buffer, flagged as `truth` says. */
void mark_sent(const Pictures *p, const Rect *rects, int count, uint32_t truth) {
  for (int i = 0; i < count; i++)
    for (int y = rects[i].y; y < rects[i].y + rects[i].height; y++) {
      size_t at = (size_t)y * p->stride + rects[i].x;
      for (int x = 0; x < rects[i].width; x++) p->shadow[at + x] = (p->screen[at + x] & COLOUR) | truth;
    }
}

/* Note that the viewer may have anything there. */
void invalidate(const Pictures *p, int x, int y, int width, int height) {
  for (int row = y; row < y + height; row++)
    for (int column = x; column < x + width; column++) p->shadow[(size_t)row * p->stride + column] = UNKNOWN;
}
