/* Digests of texts and files, and files that are the same. The tools only read. */
#include <ctype.h>
#include <inttypes.h>

#include "agent_tool.h"
#include "digest.h"
#include "duplicates.h"

/* The most files of one call of `hash_files`. */
#define MAX_PATHS 1000

static const hash_algorithm *wanted(const at_call *call) {
    const hash_algorithm *algorithm = algorithm_of(at_get_string(call->input, "algorithm", AT_STR("sha256")));
    return algorithm == NULL ? &HASH_SHA256 : algorithm;
}

static const char NO_FOLDER[] = "no directory is granted to this tool; the operator can grant one";

/* ---- hash_text ---- */

static const at_field hash_text_input[] = {
    {.name = "text", .type = AT_STRING, .description = "The text; its UTF-8 is what counts."},
    {.name = "algorithm",
     .type = AT_STRING,
     .description = "The digest algorithm.",
     .choices = ALGORITHM_NAMES,
     .fallback = "\"sha256\""},
    AT_END,
};

static at_result hash_text(const at_call *call) {
    return at_text(digest_of(wanted(call), at_get_string(call->input, "text", AT_NONE)));
}

/* ---- hash_files ---- */

static const at_field one_path = {.type = AT_STRING};

static const at_field hash_files_input[] = {
    {.name = "paths", .type = AT_ARRAY, .description = "The files, at most 1,000.", .items = &one_path},
    {.name = "algorithm",
     .type = AT_STRING,
     .description = "The digest algorithm.",
     .choices = ALGORITHM_NAMES,
     .fallback = "\"sha256\""},
    AT_END,
};

static const at_field file_fields[] = {
    {.name = "path", .type = AT_STRING, .description = "The file."},
    {.name = "digest", .type = AT_STRING, .description = "Its digest, as hexadecimal digits.", .optional = true},
    {.name = "size", .type = AT_UNSIGNED, .description = "Its size in bytes.", .optional = true},
    {.name = "error", .type = AT_STRING, .description = "The error if it cannot be read, in place of both.", .optional = true},
    AT_END,
};

static const at_field file_field = {.type = AT_OBJECT, .fields = file_fields};

static const at_field hash_files_output[] = {
    {.name = "algorithm", .type = AT_STRING, .description = "The digest algorithm."},
    {.name = "files", .type = AT_ARRAY, .description = "The files, in the order of `paths`.", .items = &file_field},
    AT_END,
};

static void put_file(at_writer *out, const hash_algorithm *algorithm, at_str path) {
    at_str digest;
    at_str error;
    uint64_t size;
    bool read = digest_of_file(algorithm, path, &digest, &size, &error);
    at_object_begin(out);
    at_key(out, "path");
    at_put_string(out, path);
    if (read) {
        at_key(out, "digest");
        at_put_string(out, digest);
        at_key(out, "size");
        at_put_uint64(out, size);
    } else {
        at_key(out, "error");
        at_put_string(out, error);
    }
    at_object_end(out);
}

static at_result hash_files(const at_call *call) {
    at_value paths = at_get(call->input, "paths");
    size_t count = at_count(paths);
    if (count > MAX_PATHS) {
        return at_errorf("%zu files are too many for one call; name at most %d", count, MAX_PATHS);
    }
    if (!at_enter_workspace()) {
        return at_error(at_cstr(NO_FOLDER));
    }
    at_writer out = {0};
    at_object_begin(&out);
    at_key(&out, "algorithm");
    at_put_string(&out, at_cstr(wanted(call)->name));
    at_key(&out, "files");
    at_array_begin(&out);
    at_iter iter = at_iterate(paths);
    at_value path;
    while (at_next(&iter, &path)) {
        at_str text = AT_STR("");
        at_read_string(path, &text);
        put_file(&out, wanted(call), text);
    }
    at_array_end(&out);
    at_object_end(&out);
    return at_json(at_written(&out));
}

/* ---- check_file ---- */

static const at_field check_file_input[] = {
    {.name = "path", .type = AT_STRING, .description = "The file."},
    {.name = "expected",
     .type = AT_STRING,
     .description = "The digest that it should have, as hexadecimal digits; how many there are says which kind it is."},
    AT_END,
};

/*
 * The algorithm whose digests are as long, or NULL. Case does not matter, so `text` is made lower
 * case.
 */
static const hash_algorithm *algorithm_by_digest(at_str expected, char *text) {
    for (size_t i = 0; i < expected.len; i++) {
        if (!isxdigit((unsigned char)expected.data[i])) {
            return NULL;
        }
        text[i] = (char)tolower((unsigned char)expected.data[i]);
    }
    for (const hash_algorithm *const *each = ALGORITHMS; *each != NULL; each++) {
        if (2 * (*each)->len == expected.len) {
            return *each;
        }
    }
    return NULL;
}

static at_result check_file(const at_call *call) {
    at_str path = at_get_string(call->input, "path", AT_NONE);
    at_str expected = at_get_string(call->input, "expected", AT_NONE);
    char *digits = at_alloc(expected.len + 1, 1);
    const hash_algorithm *algorithm = algorithm_by_digest(expected, digits);
    if (algorithm == NULL) {
        return at_error(AT_STR("`expected` is no digest of a known kind: it has 64 hexadecimal digits for sha256, 32 for md5 or 8 for crc32"));
    }
    if (!at_enter_workspace()) {
        return at_error(at_cstr(NO_FOLDER));
    }
    at_str digest;
    at_str error;
    uint64_t size;
    if (!digest_of_file(algorithm, path, &digest, &size, &error)) {
        return at_error(error);
    }
    if (!at_equal(digest, at_cstr(digits))) {
        return at_errorf("`%s` is not the expected file: its %s is %s, and not %s", path.data, algorithm->name, digest.data, digits);
    }
    return at_textf("`%s` is the expected file: its %s matches (%" PRIu64 " bytes)", path.data, algorithm->name, size);
}

AT_TOOLS(
    {
        .name = "hash_text",
        .description = "Makes the digest of a text: sha256, md5 or crc32, as hexadecimal digits.",
        .effect = AT_READ_ONLY,
        .input = hash_text_input,
        .run = hash_text,
    },
    {
        .name = "hash_files",
        .description = "Computes the digests and sizes of files. A file that cannot be read has an error instead.",
        .effect = AT_READ_ONLY,
        .input = hash_files_input,
        .output = hash_files_output,
        .run = hash_files,
    },
    {
        .name = "check_file",
        .description = "Checks a file, such as a download, against the digest that it should have.",
        .effect = AT_READ_ONLY,
        .input = check_file_input,
        .run = check_file,
    },
    {
        .name = "find_duplicates",
        .description = "Finds files with the same content in a directory and the directories in it, the largest first, and how many bytes "
                       "could be spared.",
        .effect = AT_READ_ONLY,
        .input = find_duplicates_input,
        .output = find_duplicates_output,
        .run = find_duplicates,
    });
