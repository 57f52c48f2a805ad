/*
 * The component's exports, by the canonical ABI: structs laid out as the host reads them from
 * linear memory. Options and variants begin with a byte that says which case they are.
 */
#include <stdio.h>
#include <stdlib.h>

#include "internal.h"

typedef struct {
    uint8_t some;
    at_str value;
} wire_option;

typedef struct {
    at_str name;
    wire_option title;
    at_str description;
    at_str input_schema;
    wire_option output_schema;
    uint8_t effect;
} wire_definition;

typedef struct {
    const wire_definition *data;
    size_t len;
} wire_definitions;

/* The content of a file, or its URL. */
enum { DATA_BYTES, DATA_URL, DATA_TEXT };

typedef struct {
    at_str media_type;
    uint8_t data_kind;
    at_str data;
    wire_option filename;
} wire_file;

enum { PART_TEXT, PART_FILE };

typedef struct {
    uint8_t kind;
    union {
        at_str text;
        wire_file file;
    } value;
} wire_part;

typedef struct {
    const wire_part *data;
    size_t len;
} wire_parts;

typedef struct {
    uint8_t kind;
    union {
        at_str text;
        wire_parts parts;
        wire_option reason;
    } value;
} wire_result;

_Static_assert(sizeof(wire_definition) == 52, "the size of tool-definition in wit/types.wit");
_Static_assert(sizeof(wire_part) == 36, "the size of content-part in wit/types.wit");
_Static_assert(sizeof(wire_result) == 16, "the size of tool-result-output in wit/types.wit");

/* Text as the host takes it; none is empty. */
static at_str wire_text(at_str text) {
    return text.data == NULL ? AT_STR("") : at_utf8(text);
}

static wire_option wire_optional(at_str text) {
    return (wire_option){.some = text.data != NULL, .value = wire_text(text)};
}

/* The schema that the author wrote, or that of the fields. */
static at_str schema(const at_tool *tool, const char *written, const at_field *fields) {
    if (written == NULL) {
        return at_schema(fields);
    }
    if (at_kind_of(at_parse(at_cstr(written))) != AT_KIND_OBJECT) {
        at_panic("tool `%s`: this schema is not a JSON object: %s", tool->name, written);
    }
    return at_cstr(written);
}

static wire_definition define(const at_tool *tool) {
    if (tool->description == NULL) {
        at_panic("tool `%s` has no description: write what it does and when to use it", tool->name);
    }
    if (tool->effect < AT_READ_ONLY || tool->effect > AT_EFFECTFUL) {
        at_panic("tool `%s` has no effect: write AT_READ_ONLY, AT_IDEMPOTENT or AT_EFFECTFUL", tool->name);
    }
    if (tool->run == NULL) {
        at_panic("tool `%s` has no function `run`", tool->name);
    }
    bool promises = tool->output != NULL || tool->output_schema != NULL;
    return (wire_definition){
        .name = wire_text(at_cstr(tool->name)),
        .title = wire_optional(at_cstr(tool->title)),
        .description = wire_text(at_cstr(tool->description)),
        .input_schema = wire_text(schema(tool, tool->input_schema, tool->input)),
        .output_schema = wire_optional(promises ? schema(tool, tool->output_schema, tool->output) : AT_NONE),
        .effect = (uint8_t)(tool->effect - AT_READ_ONLY),
    };
}

static wire_part lower_part(const at_part *part) {
    wire_part wire = {.kind = part->kind == AT_PART_TEXT ? PART_TEXT : PART_FILE};
    if (part->kind == AT_PART_TEXT) {
        wire.value.text = wire_text(part->content);
        return wire;
    }
    bool bytes = part->kind == AT_PART_BYTES;
    wire.value.file = (wire_file){
        .media_type = wire_text(part->media_type),
        .data_kind = bytes ? DATA_BYTES : part->kind == AT_PART_URL ? DATA_URL : DATA_TEXT,
        .data = bytes ? part->content : wire_text(part->content),
        .filename = wire_optional(part->filename),
    };
    return wire;
}

static wire_parts lower_parts(const at_result *result) {
    wire_part *parts = at_alloc(result->part_count, sizeof *parts);
    for (size_t i = 0; i < result->part_count; i++) {
        parts[i] = lower_part(&result->parts[i]);
    }
    return (wire_parts){parts, result->part_count};
}

/* The cases of `at_result` are in the order of those of `tool-result-output`. */
static wire_result lower(const at_result *result) {
    wire_result wire = {.kind = (uint8_t)result->kind};
    switch (result->kind) {
    case AT_TEXT:
    case AT_JSON:
    case AT_ERROR_TEXT:
    case AT_ERROR_JSON:
        wire.value.text = wire_text(result->text);
        break;
    case AT_CONTENT:
        wire.value.parts = lower_parts(result);
        break;
    case AT_DENIED:
        wire.value.reason = wire_optional(result->text);
        break;
    }
    return wire;
}

static at_result run(const at_call *call) {
    for (const at_tool *tool = at_tools; tool->name != NULL; tool++) {
        if (!at_equal(at_cstr(tool->name), call->name)) {
            continue;
        }
        at_str misfit;
        if (tool->input != NULL && !at_fits(tool->input, call->input, &misfit)) {
            return at_errorf("the input of `%s` does not fit: %s; correct it and call again", tool->name, misfit.data);
        }
        return tool->run(call);
    }
    return at_errorf("this component has no tool `%s`", call->name.data);
}

/* Allocates memory for the values that the host passes. */
__attribute__((export_name("cabi_realloc"))) void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size);

void *cabi_realloc(void *old, size_t old_size, size_t align, size_t size) {
    (void)old_size;
    if (size == 0) {
        return (void *)align;
    }
    /*
     * malloc aligns for every type of the contract. The additional byte is the zero byte after the
     * end of a text.
     */
    char *memory = size == SIZE_MAX ? NULL : realloc(old, size + 1);
    if (memory == NULL) {
        at_panic("no memory is left for %zu bytes from the host", size);
    }
    memory[size] = '\0';
    return memory;
}

__attribute__((export_name("agent:tool/tool@0.1.0#definitions"))) const wire_definitions *tool_definitions(void);

const wire_definitions *tool_definitions(void) {
    size_t count = 0;
    while (at_tools[count].name != NULL) {
        count++;
    }
    wire_definition *definitions = at_alloc(count, sizeof *definitions);
    for (size_t i = 0; i < count; i++) {
        definitions[i] = define(&at_tools[i]);
    }
    static wire_definitions list;
    list = (wire_definitions){definitions, count};
    fflush(NULL);
    return &list;
}

__attribute__((export_name("agent:tool/tool@0.1.0#call"))) const wire_result *
tool_call(const char *id, size_t id_len, const char *name, size_t name_len, const char *input, size_t input_len,
          const char *idempotency_key, size_t idempotency_key_len);

const wire_result *tool_call(const char *id, size_t id_len, const char *name, size_t name_len, const char *input,
                             size_t input_len, const char *idempotency_key, size_t idempotency_key_len) {
    at_call call = {
        .id = at_lift(id, id_len),
        .name = at_lift(name, name_len),
        .input = at_parse((at_str){input, input_len}),
        .idempotency_key = at_lift(idempotency_key, idempotency_key_len),
    };
    at_result result = run(&call);
    static wire_result wire;
    wire = lower(&result);
    /* Flushes the tool's output for its author: the program never ends, so nothing else would. */
    fflush(NULL);
    return &wire;
}
