/*
 * The tools of my-tool. Each is a function, with a table of fields that is its input: the host
 * checks every call against it.
 */
#include <ctype.h>
#include <string.h>

#include "agent_tool.h"
#include "png.h"

/* The width and the height of a swatch, in pixels. */
#define SIDE 64

/* ---- greet ---- */

static const char *const tones[] = {"friendly", "formal", NULL};

static const at_field user[] = {
    {.name = "name", .type = AT_STRING, .description = "The name of the user to greet."},
    {.name = "tone",
     .type = AT_STRING,
     .description = "The tone of the greeting.",
     .choices = tones,
     .fallback = "\"friendly\""},
    AT_END,
};

static at_result greet(const at_call *call) {
    at_str name = at_get_string(call->input, "name", AT_NONE);
    at_str tone = at_get_string(call->input, "tone", AT_STR("friendly"));
    return at_equal(tone, AT_STR("formal")) ? at_textf("Good day, %s.", name.data) : at_textf("Hello, %s!", name.data);
}

/* ---- count_words ---- */

static const at_field text[] = {
    {.name = "text", .type = AT_STRING, .description = "The text to count in."},
    AT_END,
};

static const at_field counts[] = {
    {.name = "words", .type = AT_UNSIGNED, .description = "The number of words."},
    {.name = "characters", .type = AT_UNSIGNED, .description = "The number of characters."},
    AT_END,
};

static at_result count_words(const at_call *call) {
    at_str in = at_get_string(call->input, "text", AT_NONE);
    uint64_t words = 0;
    uint64_t characters = 0;
    bool in_word = false;
    for (size_t i = 0; i < in.len; i++) {
        unsigned char byte = (unsigned char)in.data[i];
        bool space = isspace(byte);
        words += !space && !in_word;
        /* In UTF-8 the bytes of a character after its first begin with the bits 10. */
        characters += (byte & 0xC0) != 0x80;
        in_word = !space;
    }
    at_writer out = {0};
    at_object_begin(&out);
    at_key(&out, "words");
    at_put_uint64(&out, words);
    at_key(&out, "characters");
    at_put_uint64(&out, characters);
    at_object_end(&out);
    return at_json(at_written(&out));
}

/* ---- swatch ---- */

static const at_field colour[] = {
    {.name = "colour", .type = AT_STRING, .description = "The colour, as #rrggbb."},
    AT_END,
};

/* Red, green and blue of `#rrggbb`. */
static bool parse(at_str text, unsigned char rgb[3]) {
    static const char digits[] = "0123456789abcdef";
    if (text.len != 7 || text.data[0] != '#') {
        return false;
    }
    for (size_t i = 0; i < 6; i++) {
        const char *digit = memchr(digits, tolower((unsigned char)text.data[i + 1]), 16);
        if (digit == NULL) {
            return false;
        }
        rgb[i / 2] = (unsigned char)(rgb[i / 2] << 4 | (digit - digits));
    }
    return true;
}

static at_result swatch(const at_call *call) {
    at_str wanted = at_get_string(call->input, "colour", AT_NONE);
    unsigned char rgb[3] = {0};
    if (!parse(wanted, rgb)) {
        return at_errorf("`%s` is no colour; write it as #rrggbb, such as #1e90ff", wanted.data);
    }
    return at_image("image/png", png_of_colour(SIDE, SIDE, rgb));
}

/* ---- keep_note ---- */

static const at_field note[] = {
    {.name = "title", .type = AT_STRING, .description = "The subject of the note."},
    {.name = "text", .type = AT_STRING, .description = "The note itself."},
    AT_END,
};

static at_result keep_note(const at_call *call) {
    at_str title = at_get_string(call->input, "title", AT_NONE);
    at_writer delta = {0};
    at_object_begin(&delta);
    at_key(&delta, "notes");
    at_object_begin(&delta);
    at_key_str(&delta, title);
    at_put_value(&delta, at_get(call->input, "text"));
    at_object_end(&delta);
    at_object_end(&delta);
    at_state_merge(at_written(&delta));
    return at_textf("Kept the note on %s.", title.data);
}

AT_TOOLS(
    {
        .name = "greet",
        .description = "Greets a user by name.",
        .effect = AT_READ_ONLY,
        .input = user,
        .run = greet,
    },
    {
        .name = "count_words",
        .description = "Counts the words and the characters of a text. Words are separated by white space.",
        .effect = AT_READ_ONLY,
        .input = text,
        .output = counts,
        .run = count_words,
    },
    {
        .name = "swatch",
        .description = "Shows a colour as a small image.",
        .effect = AT_READ_ONLY,
        .input = colour,
        .run = swatch,
    },
    {
        .name = "keep_note",
        .description = "Keeps a note for the rest of the session. A note with the same title is replaced.",
        .effect = AT_IDEMPOTENT,
        .input = note,
        .run = keep_note,
    });
