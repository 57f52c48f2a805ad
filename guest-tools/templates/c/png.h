#ifndef PNG_H
#define PNG_H

#include "agent_tool.h"

/* The largest side of an image, in pixels. */
#define PNG_MAX_SIDE 4096

/* An image of one colour as PNG. Its sides are 1 to PNG_MAX_SIDE pixels long. */
at_str png_of_colour(uint32_t width, uint32_t height, const unsigned char colour[3]);

#endif
