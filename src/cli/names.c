/* How names are shown that a server is free to choose. */
#include "cli/names.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void name_print(const char *name)
{
    bool terminal = isatty(STDOUT_FILENO);
    for (; *name; name++)
        putchar(terminal && ((unsigned char)*name < 0x20 || *name == 0x7f) ? '?' : *name);
}

void name_json(json_t *o, const char *key, const char *name)
{
    json_t *string = json_string(name);
    if (string) {
        json_object_set_new(o, key, string);
        return;
    }
    size_t len = strlen(name);
    char *shown = malloc(len + 1), *hex = malloc(2 * len + 1), hex_key[40];
    for (size_t i = 0; shown && hex && i < len; i++) {
        shown[i] = (unsigned char)name[i] < 0x80 ? name[i] : '?';
        sprintf(hex + 2 * i, "%02x", (unsigned char)name[i]);
    }
    snprintf(hex_key, sizeof hex_key, "%s_hex", key);
    if (shown && hex) {
        json_object_set_new(o, key, json_stringn(shown, len));
        json_object_set_new(o, hex_key, json_stringn(hex, 2 * len));
    }
    free(shown);
    free(hex);
}
