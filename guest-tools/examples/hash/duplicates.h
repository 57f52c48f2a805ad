#ifndef DUPLICATES_H
#define DUPLICATES_H

#include "agent_tool.h"

/* The most files that one call examines, and the most levels of directories. */
#define MAX_FILES 20000
#define MAX_DEPTH 32

/* The most paths that it names as unread. */
#define MAX_UNREAD 100

/* The tool `find_duplicates`. */
at_result find_duplicates(const at_call *call);
extern const at_field find_duplicates_input[];
extern const at_field find_duplicates_output[];

#endif
