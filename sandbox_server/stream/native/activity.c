/* Activity maps: a level for each tile that changes raise and time lowers. Adjacent active tiles form a cluster. */
#include "pixels.h"

/* Active tiles that touch each other. */
typedef struct {
  int left, top, right, bottom, count;
} Cluster;

/* Raise the tiles that some rects touch, except those whose level in another map, if there is one, is over `most`. */
void raise_activity(uint8_t *activity, const uint8_t *other, int most, int columns, const Rect *rects, int count, int by) {
  for (int i = 0; i < count; i++)
    for (int row = rects[i].y / TILE; row <= (rects[i].y + rects[i].height - 1) / TILE; row++)
      for (int column = rects[i].x / TILE; column <= (rects[i].x + rects[i].width - 1) / TILE; column++) {
        int at = row * columns + column;
        if (!other || other[at] <= most) activity[at] = activity[at] + by > 255 ? 255 : activity[at] + by;
      }
}

/* Lower all tiles. */
void decay_activity(uint8_t *activity, int tiles, int by) {
  for (int i = 0; i < tiles; i++) activity[i] = activity[i] > by ? activity[i] - by : 0;
}

static int is_active(const uint8_t *const maps[2], int at, int threshold) { return maps[0][at] >= threshold || maps[1][at] >= threshold; }

/* Flood fill: collect the active tiles that are connected with one, and mark them as seen. `stack` has room for all tiles. */
static Cluster flood(const uint8_t *const maps[2], uint8_t *seen, int *stack, int columns, int rows, int start, int threshold) {
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
      if (beside[i] >= 0 && !seen[beside[i]] && is_active(maps, beside[i], threshold)) {
        seen[beside[i]] = 1;
        stack[depth++] = beside[i];
      }
  }
  return found;
}

/* Find the clusters of tiles that reach the threshold in one of two maps: at most `most` rects, in tiles, into `out`, with the number of active
 * tiles as their `colour`. Returns how many. `seen` and `stack` have room for all tiles. */
int find_active(const uint8_t *activity, const uint8_t *other, uint8_t *seen, int *stack, int columns, int rows, int threshold, Rect *out, int most) {
  const uint8_t *const maps[2] = {activity, other};
  int made = 0;
  for (int i = 0; i < columns * rows; i++) seen[i] = 0;
  for (int i = 0; i < columns * rows && made < most; i++) {
    if (seen[i] || !is_active(maps, i, threshold)) continue;
    Cluster c = flood(maps, seen, stack, columns, rows, i, threshold);
    out[made++] = (Rect){c.left, c.top, c.right - c.left, c.bottom - c.top, c.count, 0};
  }
  return made;
}
