/* Artifacts of the session, by the canonical ABI, as in host.c. */
#include "internal.h"

#ifdef __wasm__
#define IMPORT(function) __attribute__((import_module("agent:tool/artifacts@0.1.0"), import_name(function)))
#else
/* The tests of this file are the host. */
#define IMPORT(function)
#endif

IMPORT("list")
void host_artifact_list(wire_artifact_list *result);

IMPORT("get")
void host_artifact_get(const char *name, size_t name_len, wire_artifact_bytes *result);

IMPORT("put")
void host_artifact_put(const char *name, size_t name_len, const char *media_type, size_t media_type_len, const char *data,
                       size_t data_len, wire_artifact_done *result);

IMPORT("delete")
void host_artifact_delete(const char *name, size_t name_len, wire_artifact_done *result);

/* The failures of `at_artifact_outcome` are in the order of the cases of `artifact-error`. */
static at_artifact_outcome failed(uint8_t error) {
    return (at_artifact_outcome)(AT_ARTIFACT_NOT_FOUND + error);
}

at_artifact_outcome at_artifact_list(const at_artifact **artifacts, size_t *count) {
    wire_artifact_list result;
    host_artifact_list(&result);
    if (result.is_error) {
        *artifacts = NULL;
        *count = 0;
        return failed(result.value.error);
    }
    for (size_t i = 0; i < result.value.list.len; i++) {
        at_artifact *one = &result.value.list.data[i];
        one->name = at_lift(one->name.data, one->name.len);
        one->media_type = at_lift(one->media_type.data, one->media_type.len);
    }
    *artifacts = result.value.list.data;
    *count = result.value.list.len;
    return AT_ARTIFACT_OK;
}

at_artifact_outcome at_artifact_get(at_str name, at_str *data) {
    wire_artifact_bytes result;
    name = at_utf8(name);
    host_artifact_get(name.data, name.len, &result);
    if (result.is_error) {
        return failed(result.value.error);
    }
    *data = at_lift(result.value.bytes.data, result.value.bytes.len);
    return AT_ARTIFACT_OK;
}

at_artifact_outcome at_artifact_put(at_str name, const char *media_type, at_str data) {
    wire_artifact_done result;
    name = at_utf8(name);
    at_str type = at_utf8(at_cstr(media_type));
    host_artifact_put(name.data, name.len, type.data, type.len, data.data, data.len, &result);
    return result.is_error ? failed(result.error) : AT_ARTIFACT_OK;
}

at_artifact_outcome at_artifact_delete(at_str name) {
    wire_artifact_done result;
    name = at_utf8(name);
    host_artifact_delete(name.data, name.len, &result);
    return result.is_error ? failed(result.error) : AT_ARTIFACT_OK;
}

at_result at_artifact_error(at_artifact_outcome outcome, at_str name) {
    const char *format = "";
    switch (outcome) {
    case AT_ARTIFACT_OK:
        at_panic("the artifact `%.*s` has no failure", (int)name.len, name.data);
    case AT_ARTIFACT_NOT_FOUND:
        format = "there is no artifact `%.*s`";
        break;
    case AT_ARTIFACT_DENIED:
        format = "`%.*s` is denied: the tool has no grant for artifacts, or only one to read";
        break;
    case AT_ARTIFACT_INVALID_NAME:
        format = "`%.*s` cannot be the name of an artifact: it must be a relative path such as `plots/one.png`, and not in "
                 "`results/`";
        break;
    case AT_ARTIFACT_INVALID_MEDIA_TYPE:
        format = "the media type of the artifact `%.*s` is malformed, or does not agree with its bytes";
        break;
    case AT_ARTIFACT_TOO_LARGE:
        format = "the artifact `%.*s` is larger than one call may move";
        break;
    case AT_ARTIFACT_QUOTA_EXCEEDED:
        format = "the artifact `%.*s` cannot be kept: the artifacts of the session have used up their quota";
        break;
    }
    return at_errorf(format, (int)name.len, name.data);
}
