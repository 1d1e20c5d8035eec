/* Where the screen keeps changing: each tile is warmed when it changes and cools with time. */
#include "pixels.h"

/* Tiles that are hot and touch each other. */
typedef struct {
  int left, top, right, bottom, count;
} Cluster;

/* Warm the tiles of some rects. */
void warm(uint8_t *heat, int columns, const Rect *rects, int count, int by) {
  for (int i = 0; i < count; i++)
    for (int row = rects[i].y / TILE; row <= (rects[i].y + rects[i].height - 1) / TILE; row++)
      for (int column = rects[i].x / TILE; column <= (rects[i].x + rects[i].width - 1) / TILE; column++) {
        uint8_t *tile = &heat[row * columns + column];
        *tile = *tile + by > 255 ? 255 : *tile + by;
      }
}

/* Let all tiles cool. */
void cool(uint8_t *heat, int tiles, int by) {
  for (int i = 0; i < tiles; i++) heat[i] = heat[i] > by ? heat[i] - by : 0;
}

/* Collect the hot tiles that one touches, itself among them, and mark them as seen. `stack` has room for all tiles. */
static Cluster flood(const uint8_t *heat, uint8_t *seen, int *stack, int columns, int rows, int start, int hot) {
  Cluster found = {columns, rows, 0, 0, 0};
  int depth = 0;
  stack[depth++] = start;
  seen[start] = 1;
  while (depth) {
    int at = stack[--depth], row = at / columns, column = at % columns;
    const int beside[4] = {column ? at - 1 : -1, column + 1 < columns ? at + 1 : -1, row ? at - columns : -1, row + 1 < rows ? at + columns : -1};
    if (column < found.left) found.left = column;
    if (row < found.top) found.top = row;
    if (column + 1 > found.right) found.right = column + 1;
    if (row + 1 > found.bottom) found.bottom = row + 1;
    found.count++;
    for (int i = 0; i < 4; i++)
      if (beside[i] >= 0 && !seen[beside[i]] && heat[beside[i]] >= hot) {
        seen[beside[i]] = 1;
        stack[depth++] = beside[i];
      }
  }
  return found;
}

/* Find where tiles are at least so hot: at most `most` rects, in tiles, into `out`, with the number of hot tiles as their
 * `colour`; how many is returned. `seen` and `stack` have room for all
 * tiles. */
int find_hot(const uint8_t *heat, uint8_t *seen, int *stack, int columns, int rows, int hot, Rect *out, int most) {
  int made = 0;
  for (int i = 0; i < columns * rows; i++) seen[i] = 0;
  for (int i = 0; i < columns * rows && made < most; i++) {
    if (seen[i] || heat[i] < hot) continue;
    Cluster c = flood(heat, seen, stack, columns, rows, i, hot);
    out[made++] = (Rect){c.left, c.top, c.right - c.left, c.bottom - c.top, c.count, 0};
  }
  return made;
}
