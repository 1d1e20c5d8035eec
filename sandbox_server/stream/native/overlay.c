/* Overlay detection: what stands still within a video region, as a menu, a dialog or a caption does. Cells find it, pixels its edges. */
#include "pixels.h"

#include <string.h>

#define CELL 8
/* Pictures for which a cell has to stand still. A video of 24 pictures a second on a screen of 60 has three alike in a row, so it is more than
 * that. A cell like a photograph has to wait for longer: it takes some 2 bytes a pixel, and parts of videos stand still for a moment. */
#define STILL_TEXT 4
#define STILL_PICTURE 16
/* A cell that moves again this soon has to stand still for twice as long the next time, with a bound on the doublings. */
#define SOON 32
#define MOST_DOUBLINGS 4
/* An overlay that stood still for so long may change, as a menu does under the pointer, unless it looks like a photograph then. */
#define CALM 8
/* Least number of cells of an overlay. */
#define MIN_CELLS 4
#define MAX_PIXELS (256 * 256)

typedef struct {
  uint32_t moved;  /* the picture in which it changed last */
  uint32_t opened; /* the picture since which it is overlay */
  uint8_t overlay, doublings, changed, calm;
} Cell;

typedef struct {
  const Pictures *p;
  Box area;
  uint32_t *last;  /* of each pixel: its colour */
  uint32_t *since; /* of each pixel: the picture in which it changed; an earlier one for a line of a menu that changes now and then */
  Cell *cells;
  uint8_t *mask;
  uint32_t picture;
  int columns, rows;
} Region;

static int least(int a, int b) { return a < b ? a : b; }

static int width_of(const Region *f) { return f->area.right - f->area.left; }

/* The box of some cells, in pixels of the screen. */
static Box box_of(const Region *f, int column, int row, int columns, int rows) {
  int left = f->area.left + column * CELL, top = f->area.top + row * CELL;
  return (Box){left, top, least(left + columns * CELL, f->area.right), least(top + rows * CELL, f->area.bottom)};
}

static int pixels_of(Box box) { return (box.right - box.left) * (box.bottom - box.top); }

/* Note what of a cell has changed since the last update. Returns whether anything did. */
static int note(const Region *f, Cell *cell, Box box) {
  int stride = width_of(f), width = box.right - box.left;
  size_t at = (size_t)(box.top - f->area.top) * stride + box.left - f->area.left;
  const uint32_t *screen = f->p->screen + (size_t)box.top * f->p->stride + box.left;
  uint32_t found = 0;
  for (int y = 0; y < box.bottom - box.top; y++)
    for (int x = 0; x < width; x++) found |= screen[(size_t)y * f->p->stride + x] ^ f->last[at + (size_t)y * stride + x];
  cell->changed = (found & COLOUR) != 0;
  if (!cell->changed) return 0;
  for (int y = 0; y < box.bottom - box.top; y++)
    for (int x = 0; x < width; x++) {
      size_t pixel = at + (size_t)y * stride + x;
      uint32_t colour = screen[(size_t)y * f->p->stride + x];
      if ((colour ^ f->last[pixel]) & COLOUR) f->since[pixel] = f->picture - (f->picture - f->since[pixel] >= CALM ? STILL_TEXT : 0);
      f->last[pixel] = colour;
    }
  cell->calm = f->picture - cell->moved >= CALM;
  cell->moved = f->picture;
  return 1;
}

static int note_all(const Region *f) {
  int changed = 0;
  for (int row = 0; row < f->rows; row++)
    for (int column = 0; column < f->columns; column++)
      changed |= note(f, &f->cells[row * f->columns + column], box_of(f, column, row, 1, 1));
  return changed;
}

static Box tile_around(const Region *f, int column, int row) {
  int cells = TILE / CELL;
  return box_of(f, column / cells * cells, row / cells * cells, cells, cells);
}

/* Make changed overlay cells part of the video again, unless they may change. Returns whether the video itself has changed. */
static int close_cells(const Region *f) {
  int moved = 0;
  for (int i = 0; i < f->columns * f->rows; i++) {
    Cell *cell = &f->cells[i];
    if (!cell->changed) continue;
    if (cell->overlay && cell->calm && !is_picture(f->p, tile_around(f, i % f->columns, i / f->columns))) continue;
    if (cell->overlay) cell->doublings = f->picture - cell->opened >= SOON ? 0 : least(cell->doublings + 1, MOST_DOUBLINGS);
    cell->overlay = 0;
    moved = 1;
  }
  return moved;
}

/* Take the next rect of marked cells, as wide and then as high as possible, and unmark them. */
static int next_rect(const Region *f, int *at, Box *out) {
  while (*at < f->columns * f->rows && !f->mask[*at]) ++*at;
  if (*at == f->columns * f->rows) return 0;
  int left = *at % f->columns, top = *at / f->columns, right = left, bottom = top + 1;
  while (right < f->columns && f->mask[top * f->columns + right]) right++;
  for (; bottom < f->rows && (bottom - top + 1) * (right - left) * CELL * CELL <= MAX_PIXELS; bottom++)
    if (memchr(f->mask + bottom * f->columns + left, 0, right - left)) break;
  for (int row = top; row < bottom; row++) memset(f->mask + row * f->columns + left, 0, right - left);
  *out = (Box){left, top, right, bottom};
  return 1;
}

static int have_stood(const Region *f, Box cells, uint32_t pictures) {
  for (int row = cells.top; row < cells.bottom; row++)
    for (int column = cells.left; column < cells.right; column++) {
      const Cell *cell = &f->cells[row * f->columns + column];
      if (f->picture - cell->moved < pictures << cell->doublings) return 0;
    }
  return 1;
}

/* Make cells that stood still overlay, at most `budget` pixels of them. */
static void open_cells(const Region *f, int budget) {
  for (int i = 0; i < f->columns * f->rows; i++)
    f->mask[i] = !f->cells[i].overlay && f->picture - f->cells[i].moved >= (uint32_t)STILL_TEXT << f->cells[i].doublings;
  Box cells;
  for (int at = 0; next_rect(f, &at, &cells);) {
    Box box = box_of(f, cells.left, cells.top, cells.right - cells.left, cells.bottom - cells.top);
    if (pixels_of(cells) < MIN_CELLS || pixels_of(box) > budget) continue;
    if (is_picture(f->p, box) && !have_stood(f, cells, STILL_PICTURE)) continue;
    budget -= pixels_of(box);
    for (int row = cells.top; row < cells.bottom; row++)
      for (int column = cells.left; column < cells.right; column++) {
        f->cells[row * f->columns + column].overlay = 1;
        f->cells[row * f->columns + column].opened = f->picture;
      }
  }
}

static int stands(const Region *f, Box line) {
  for (int y = line.top; y < line.bottom; y++)
    for (int x = line.left; x < line.right; x++)
      if (f->picture - f->since[(size_t)(y - f->area.top) * width_of(f) + x - f->area.left] < STILL_TEXT) return 0;
  return 1;
}

/* Extend a box to the pixels beside it that stand still, by less than a cell: an overlay is not aligned to the grid. */
static Box widened(const Region *f, Box box) {
  for (int i = 1; i < CELL && box.left > f->area.left && stands(f, (Box){box.left - 1, box.top, box.left, box.bottom}); i++) box.left--;
  for (int i = 1; i < CELL && box.right < f->area.right && stands(f, (Box){box.right, box.top, box.right + 1, box.bottom}); i++) box.right++;
  for (int i = 1; i < CELL && box.top > f->area.top && stands(f, (Box){box.left, box.top - 1, box.right, box.top}); i++) box.top--;
  for (int i = 1; i < CELL && box.bottom < f->area.bottom && stands(f, (Box){box.left, box.bottom, box.right, box.bottom + 1}); i++) box.bottom++;
  return box;
}

static void forget_cells(const Region *f, Box cells) {
  for (int row = cells.top; row < cells.bottom; row++)
    for (int column = cells.left; column < cells.right; column++) f->cells[row * f->columns + column].overlay = 0;
}

/* Update the overlay with the next picture of a video: at most `most` rects into `out`. Returns how many, or -1 where nothing changed at all.
 * `last` and `since` have room for the region's pixels, `cells` and `mask` for its cells. All but `mask` is kept until the next update, and zero
 * before the first. `picture` counts the updates that found a change, from 1. The overlay grows by at most `budget` pixels. `moved` is whether
 * the video itself changed. */
int find_overlay(const Pictures *p, const Rect *video, uint32_t *last, uint32_t *since, Cell *cells, uint8_t *mask, uint32_t picture,
                 int budget, Rect *out, int most, int *moved) {
  Box area = {video->x, video->y, video->x + video->width, video->y + video->height}, found;
  Region f = {p, area, last, since, cells, mask, picture, (video->width + CELL - 1) / CELL, (video->height + CELL - 1) / CELL};
  int made = 0;
  *moved = 0;
  if (!note_all(&f)) return -1;
  *moved = close_cells(&f);
  if (picture % 2 == 0) open_cells(&f, budget);
  for (int i = 0; i < f.columns * f.rows; i++) mask[i] = cells[i].overlay;
  for (int at = 0; next_rect(&f, &at, &found);) {
    if (made == most) {
      forget_cells(&f, found);
      *moved = 1;
      continue;
    }
    Box box = widened(&f, box_of(&f, found.left, found.top, found.right - found.left, found.bottom - found.top));
    out[made++] = (Rect){box.left, box.top, box.right - box.left, box.bottom - box.top, 0, TEXT};
  }
  return made;
}

size_t cell_size(void) { return sizeof(Cell); }
