/* Digests of texts and files, as hexadecimal text. */
#ifndef DIGEST_H
#define DIGEST_H

#include "agent_tool.h"
#include "hash.h"

/* The algorithms, up to a NULL, and their names in the same order. */
extern const hash_algorithm *const ALGORITHMS[];
extern const char *const ALGORITHM_NAMES[];

/* The algorithm of this name, or NULL. */
const hash_algorithm *algorithm_of(at_str name);

/* The digest of bytes. */
at_str digest_of(const hash_algorithm *algorithm, at_str bytes);

/* The digest of a file and its size. False, with why in `error`, if it cannot be read. */
bool digest_of_file(const hash_algorithm *algorithm, at_str path, at_str *digest, uint64_t *size, at_str *error);

/* The error of a file that cannot be opened or read, for the model. */
at_str file_error(at_str path);

#endif
