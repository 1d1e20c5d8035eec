/* Pixel kernels of the streaming process. They are called through ctypes, which releases the interpreter lock meanwhile.
 *
 * A picture has `stride` pixels of 32 bits a row: blue, green, red from the lowest byte. In the screen's picture the highest byte is undefined. In
 * a shadow buffer, which is what a viewer has, it is a flag: 0 for exact, LOSSY or UNKNOWN.
 */
#ifndef TANDEM_PIXELS_H
#define TANDEM_PIXELS_H

#include <stddef.h>
#include <stdint.h>

#define COLOUR 0x00FFFFFFu
#define LOSSY 0x01000000u   /* the viewer has a lossy version */
#define UNKNOWN 0x02000000u /* the viewer may have anything */
#define TILE 32

enum kind { CLEAN, SOLID, TEXT, PICTURE };
enum form { ONE_COLOUR, PALETTE, PLANES };

typedef struct {
  uint16_t x, y, width, height;
  uint32_t colour; /* of a SOLID rect */
  uint32_t kind;
} Rect;

typedef struct {
  uint16_t from_x, from_y, x, y, width, height;
} Move;

typedef struct {
  const uint32_t *screen;
  uint32_t *shadow;
  int stride, width, height;
} Pictures;

typedef struct {
  int left, top, right, bottom;
} Box;

int is_picture(const Pictures *p, Box area);

#endif
