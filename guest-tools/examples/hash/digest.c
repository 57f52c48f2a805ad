#include "digest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

const hash_algorithm *const ALGORITHMS[] = {&HASH_SHA256, &HASH_MD5, &HASH_CRC32, NULL};
const char *const ALGORITHM_NAMES[] = {"sha256", "md5", "crc32", NULL};

const hash_algorithm *algorithm_of(at_str name) {
    for (const hash_algorithm *const *each = ALGORITHMS; *each != NULL; each++) {
        if (at_equal(at_cstr((*each)->name), name)) {
            return *each;
        }
    }
    return NULL;
}

static at_str finish(const hash_algorithm *algorithm, hash_state *state) {
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[HASH_MAX_LEN];
    algorithm->finish(state, digest);
    char *text = at_alloc(2 * algorithm->len + 1, 1);
    for (size_t i = 0; i < algorithm->len; i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 0xF];
    }
    return at_bytes(text, 2 * algorithm->len);
}

at_str digest_of(const hash_algorithm *algorithm, at_str bytes) {
    hash_state state;
    algorithm->start(&state);
    algorithm->add(&state, (const unsigned char *)bytes.data, bytes.len);
    return finish(algorithm, &state);
}

at_str file_error(at_str path) {
    switch (errno) {
    case ENOENT:
        return at_format("there is no file `%s`, or it is not in a directory that is granted; look at the directory first", path.data);
    case EISDIR:
        return at_format("`%s` is a directory; name a file in it", path.data);
    case EPERM:
    case EACCES:
        return at_format("`%s` may not be read: it is not in a directory that is granted", path.data);
    default:
        return at_format("`%s` cannot be read: %s", path.data, strerror(errno));
    }
}

/* Opens a file, and no directory. */
static FILE *open_file(at_str path) {
    struct stat status;
    if (stat(path.data, &status) == 0 && S_ISDIR(status.st_mode)) {
        errno = EISDIR;
        return NULL;
    }
    return fopen(path.data, "rb");
}

bool digest_of_file(const hash_algorithm *algorithm, at_str path, at_str *digest, uint64_t *size, at_str *error) {
    /* One buffer will do: nothing is freed, and files are read one after the other. */
    static unsigned char buffer[1 << 16];
    if (strlen(path.data) != path.len) {
        *error = AT_STR("the path has a zero byte in it, which no file name can have");
        return false;
    }
    FILE *file = open_file(path);
    if (file == NULL) {
        *error = file_error(path);
        return false;
    }
    hash_state state;
    algorithm->start(&state);
    *size = 0;
    size_t len;
    while ((len = fread(buffer, 1, sizeof buffer, file)) > 0) {
        algorithm->add(&state, buffer, len);
        *size += len;
    }
    bool whole = !ferror(file);
    if (whole) {
        *digest = finish(algorithm, &state);
    } else {
        *error = file_error(path);
    }
    fclose(file);
    return whole;
}
