/*
 * Tables of fields: as the JSON Schema that the host checks every call against, and as the C types
 * that a tool reads.
 */
#include "internal.h"

static const char *const TYPE_NAMES[] = {
    [AT_BOOLEAN] = "boolean", [AT_INTEGER] = "integer", [AT_UNSIGNED] = "integer", [AT_NUMBER] = "number",
    [AT_STRING] = "string",   [AT_ARRAY] = "array",     [AT_OBJECT] = "object",
};

static void write_closed(at_writer *writer, const at_field *fields);

/* A member whose value the author wrote as JSON. */
static void write_json(at_writer *writer, const at_field *field, const char *key, const char *json) {
    if (json == NULL) {
        return;
    }
    at_value value = at_parse(at_cstr(json));
    if (at_kind_of(value) == AT_KIND_MISSING) {
        at_panic("field `%s`: the %s `%s` is not JSON", field->name, key, json);
    }
    at_key(writer, key);
    at_put_value(writer, value);
}

static void write_type(at_writer *writer, const at_field *field) {
    if (field->type == AT_ANY) {
        return;
    }
    at_key(writer, "type");
    if (field->nullable) {
        at_array_begin(writer);
        at_put_string(writer, at_cstr(TYPE_NAMES[field->type]));
        at_put_string(writer, AT_STR("null"));
        at_array_end(writer);
    } else {
        at_put_string(writer, at_cstr(TYPE_NAMES[field->type]));
    }
}

static void write_choices(at_writer *writer, const at_field *field) {
    if (field->choices == NULL) {
        return;
    }
    at_key(writer, "enum");
    at_array_begin(writer);
    for (const char *const *choice = field->choices; *choice != NULL; choice++) {
        at_put_string(writer, at_cstr(*choice));
    }
    if (field->nullable) {
        at_put_null(writer);
    }
    at_array_end(writer);
}

/* The schema of one field's value. */
static void write_field(at_writer *writer, const at_field *field) {
    at_object_begin(writer);
    write_type(writer, field);
    if (field->description != NULL) {
        at_key(writer, "description");
        at_put_string(writer, at_cstr(field->description));
    }
    write_choices(writer, field);
    write_json(writer, field, "minimum", field->minimum == NULL && field->type == AT_UNSIGNED ? "0" : field->minimum);
    write_json(writer, field, "maximum", field->maximum);
    write_json(writer, field, "default", field->fallback);
    if (field->items != NULL) {
        at_key(writer, "items");
        write_field(writer, field->items);
    }
    if (field->type == AT_OBJECT && field->fields != NULL) {
        write_closed(writer, field->fields);
    }
    at_object_end(writer);
}

static bool required(const at_field *field) {
    return !field->optional && field->fallback == NULL;
}

/* The members of an object's schema that define its fields. */
static void write_fields(at_writer *writer, const at_field *fields) {
    at_key(writer, "properties");
    at_object_begin(writer);
    for (const at_field *field = fields; field->name != NULL; field++) {
        at_key(writer, field->name);
        write_field(writer, field);
    }
    at_object_end(writer);
    at_key(writer, "required");
    at_array_begin(writer);
    for (const at_field *field = fields; field->name != NULL; field++) {
        if (required(field)) {
            at_put_string(writer, at_cstr(field->name));
        }
    }
    at_array_end(writer);
}

/* A schema that allows the fields of the table alone. */
static void write_closed(at_writer *writer, const at_field *fields) {
    write_fields(writer, fields);
    at_key(writer, "additionalProperties");
    at_put_bool(writer, false);
}

/* The schema of an object; `write` writes its members. */
static at_value object_schema(const at_field *fields, void (*write)(at_writer *, const at_field *)) {
    static const at_field none[] = {AT_END};
    at_writer writer = {0};
    at_object_begin(&writer);
    at_key(&writer, "type");
    at_put_string(&writer, AT_STR("object"));
    write(&writer, fields == NULL ? none : fields);
    at_object_end(&writer);
    return at_written(&writer);
}

at_str at_schema(const at_field *fields) {
    at_value schema = object_schema(fields, write_closed);
    return (at_str){schema.data, schema.len};
}

at_value at_form_schema(const at_field *fields) {
    for (const at_field *field = fields; field != NULL && field->name != NULL; field++) {
        if (field->type == AT_ANY || field->type == AT_ARRAY || field->type == AT_OBJECT || field->nullable) {
            at_panic("the field `%s` of the form is not flat: it must be a string, a number or a boolean, and not nullable",
                     field->name);
        }
    }
    return object_schema(fields, write_fields);
}

/* True if the value itself has the field's type; elements and nested fields are not checked. */
static bool fits_type(const at_field *field, at_value value) {
    int64_t integer;
    uint64_t natural;
    double number;
    switch (field->type) {
    case AT_ANY:
        return true;
    case AT_BOOLEAN:
        return at_kind_of(value) == AT_KIND_BOOLEAN;
    case AT_INTEGER:
        return at_read_int64(value, &integer);
    case AT_UNSIGNED:
        return at_read_uint64(value, &natural);
    case AT_NUMBER:
        return at_read_double(value, &number);
    case AT_STRING:
        return at_kind_of(value) == AT_KIND_STRING;
    case AT_ARRAY:
        return at_kind_of(value) == AT_KIND_ARRAY;
    case AT_OBJECT:
        return at_kind_of(value) == AT_KIND_OBJECT;
    }
    return false;
}

static const char *promise(at_type type) {
    switch (type) {
    case AT_INTEGER:
        return "an integer of 64 bits";
    case AT_UNSIGNED:
        return "an integer of 64 bits that is not negative";
    case AT_NUMBER:
        return "a number that a double can hold";
    case AT_ANY:
    case AT_BOOLEAN:
    case AT_STRING:
    case AT_ARRAY:
    case AT_OBJECT:
        break;
    }
    return TYPE_NAMES[type];
}

static bool fits_field(const at_field *field, at_value value, at_str *misfit) {
    if (at_kind_of(value) == AT_KIND_NULL && field->nullable) {
        return true;
    }
    if (!fits_type(field, value)) {
        *misfit = at_format("`%.*s` is not %s", (int)(value.len < 80 ? value.len : 80), value.data, promise(field->type));
        return false;
    }
    if (field->type == AT_OBJECT && field->fields != NULL) {
        return at_fits(field->fields, value, misfit);
    }
    if (field->type == AT_ARRAY && field->items != NULL) {
        at_iter iter = at_iterate(value);
        at_value element;
        while (at_next(&iter, &element)) {
            if (!fits_field(field->items, element, misfit)) {
                return false;
            }
        }
    }
    return true;
}

bool at_fits(const at_field *fields, at_value object, at_str *misfit) {
    for (const at_field *field = fields; field->name != NULL; field++) {
        at_value value = at_get(object, field->name);
        if (at_kind_of(value) == AT_KIND_MISSING) {
            if (required(field)) {
                *misfit = at_format("`%s` is missing", field->name);
                return false;
            }
        } else if (!fits_field(field, value, misfit)) {
            *misfit = at_format("`%s`: %s", field->name, misfit->data);
            return false;
        }
    }
    return true;
}
