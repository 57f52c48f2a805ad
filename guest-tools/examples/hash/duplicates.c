/* Files with the same content: of those with the same size the digests are compared. */
#include "duplicates.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "digest.h"

typedef struct {
    at_str path;
    uint64_t size;
    /* AT_NONE until it is needed. */
    at_str digest;
} entry;

/* The files that were found. */
typedef struct {
    entry *entries;
    size_t count;
    /* The errors of unreadable paths, as an array of texts, and their number. */
    at_writer unread;
    size_t unread_count;
    /* True if there is more than the bounds allow. */
    bool cut;
} findings;

const at_field find_duplicates_input[] = {
    {.name = "path", .type = AT_STRING, .description = "The directory to look in, with those in it.", .fallback = "\".\""},
    {.name = "min_size",
     .type = AT_UNSIGNED,
     .description = "The size in bytes below which files do not count.",
     .fallback = "1"},
    AT_END,
};

static const at_field text = {.type = AT_STRING};

static const at_field group_fields[] = {
    {.name = "size", .type = AT_UNSIGNED, .description = "The size of each in bytes."},
    {.name = "sha256", .type = AT_STRING, .description = "The digest of each."},
    {.name = "paths", .type = AT_ARRAY, .description = "The files with this content.", .items = &text},
    AT_END,
};

static const at_field group = {.type = AT_OBJECT, .fields = group_fields};

const at_field find_duplicates_output[] = {
    {.name = "groups", .type = AT_ARRAY, .description = "Files with the same content, the largest first.", .items = &group},
    {.name = "files", .type = AT_UNSIGNED, .description = "The number of files examined."},
    {.name = "spare_bytes", .type = AT_UNSIGNED, .description = "The bytes that all but one of each group take."},
    {.name = "unread_count", .type = AT_UNSIGNED, .description = "The number of files and directories that could not be read."},
    {.name = "unread", .type = AT_ARRAY, .description = "The errors of the first 100 of them.", .items = &text},
    {.name = "cut", .type = AT_BOOLEAN, .description = "True if there are more files, or deeper directories, than one call examines."},
    AT_END,
};

static void pass_over(findings *found, at_str why) {
    if (found->unread_count++ < MAX_UNREAD) {
        at_put_string(&found->unread, why);
    }
}

static void walk(findings *found, at_str path, uint64_t min_size, unsigned depth);

/*
 * Records a file, or enters a directory. Links are not followed: their targets are found where they
 * are.
 */
static void visit(findings *found, at_str path, uint64_t min_size, unsigned depth) {
    struct stat status;
    if (lstat(path.data, &status) != 0) {
        pass_over(found, file_error(path));
    } else if (S_ISDIR(status.st_mode)) {
        walk(found, path, min_size, depth + 1);
    } else if (S_ISREG(status.st_mode) && (uint64_t)status.st_size >= min_size) {
        found->cut = found->cut || found->count == MAX_FILES;
        if (found->count < MAX_FILES) {
            found->entries[found->count++] = (entry){path, (uint64_t)status.st_size, AT_NONE};
        }
    }
}

static void walk(findings *found, at_str path, uint64_t min_size, unsigned depth) {
    if (depth > MAX_DEPTH) {
        found->cut = true;
        return;
    }
    DIR *directory = opendir(path.data);
    if (directory == NULL) {
        pass_over(found, file_error(path));
        return;
    }
    struct dirent *item;
    while (!found->cut && (item = readdir(directory)) != NULL) {
        if (strcmp(item->d_name, ".") != 0 && strcmp(item->d_name, "..") != 0) {
            bool here = at_equal(path, AT_STR("."));
            visit(found, here ? at_format("%s", item->d_name) : at_format("%s/%s", path.data, item->d_name), min_size, depth);
        }
    }
    closedir(directory);
}

/*
 * Larger files first, those with the same content beside each other, and those in the order of
 * their names.
 */
static int compare(const void *left, const void *right) {
    const entry *a = left;
    const entry *b = right;
    if (a->size != b->size) {
        return a->size < b->size ? 1 : -1;
    }
    int content = strcmp(a->digest.data == NULL ? "" : a->digest.data, b->digest.data == NULL ? "" : b->digest.data);
    return content != 0 ? content : strcmp(a->path.data, b->path.data);
}

/* Makes the digests of the files that share their size with another one. */
static void compare_contents(findings *found) {
    for (size_t i = 0; i < found->count; i++) {
        entry *each = &found->entries[i];
        bool shared = (i > 0 && each[-1].size == each->size) || (i + 1 < found->count && each[1].size == each->size);
        at_str why;
        uint64_t read;
        if (shared && !digest_of_file(&HASH_SHA256, each->path, &each->digest, &read, &why)) {
            pass_over(found, why);
        }
        if (i % 256 == 255) {
            at_progress_fraction(at_format("%zu of %zu files", i + 1, found->count), (double)(i + 1) / (double)found->count);
        }
    }
}

/* The number of entries, from this one on, with its content. */
static size_t run_length(const findings *found, size_t start) {
    const entry *first = &found->entries[start];
    size_t end = start + 1;
    while (first->digest.data != NULL && end < found->count && at_equal(found->entries[end].digest, first->digest)) {
        end++;
    }
    return end - start;
}

static at_value report(findings *found) {
    at_writer out = {0};
    uint64_t spare = 0;
    at_object_begin(&out);
    at_key(&out, "groups");
    at_array_begin(&out);
    for (size_t i = 0, len; i < found->count; i += len) {
        len = run_length(found, i);
        if (len < 2) {
            continue;
        }
        spare += found->entries[i].size * (len - 1);
        at_object_begin(&out);
        at_key(&out, "size");
        at_put_uint64(&out, found->entries[i].size);
        at_key(&out, "sha256");
        at_put_string(&out, found->entries[i].digest);
        at_key(&out, "paths");
        at_array_begin(&out);
        for (size_t j = i; j < i + len; j++) {
            at_put_string(&out, found->entries[j].path);
        }
        at_array_end(&out);
        at_object_end(&out);
    }
    at_array_end(&out);
    at_key(&out, "files");
    at_put_uint64(&out, found->count);
    at_key(&out, "spare_bytes");
    at_put_uint64(&out, spare);
    at_key(&out, "unread_count");
    at_put_uint64(&out, found->unread_count);
    at_key(&out, "unread");
    at_array_end(&found->unread);
    at_put_value(&out, at_written(&found->unread));
    at_key(&out, "cut");
    at_put_bool(&out, found->cut);
    at_object_end(&out);
    return at_written(&out);
}

at_result find_duplicates(const at_call *call) {
    at_str path = at_get_string(call->input, "path", AT_STR("."));
    if (!at_enter_workspace()) {
        return at_error(AT_STR("no directory is granted to this tool; the operator can grant one"));
    }
    if (strlen(path.data) != path.len) {
        return at_error(AT_STR("the path has a zero byte in it, which no file name can have"));
    }
    struct stat status;
    if (stat(path.data, &status) != 0) {
        return at_error(file_error(path));
    }
    if (!S_ISDIR(status.st_mode)) {
        return at_errorf("`%s` is not a directory; name the directory to look in", path.data);
    }
    findings found = {.entries = at_alloc(MAX_FILES, sizeof *found.entries)};
    at_array_begin(&found.unread);
    walk(&found, path, at_get_uint64(call->input, "min_size", 1), 1);
    qsort(found.entries, found.count, sizeof *found.entries, compare);
    compare_contents(&found);
    qsort(found.entries, found.count, sizeof *found.entries, compare);
    return at_json(report(&found));
}
