/* Names of files on a terminal and in JSON. */
#ifndef LARDER_CLI_NAMES_H
#define LARDER_CLI_NAMES_H

#include <jansson.h>

/* To standard output. On a terminal a name must not move the cursor: `?` stands for what would. */
void name_print(const char *name);
/* Sets `key`. A name with a lone surrogate is no JSON string: `key` shows it with `?`, KEY_hex has
 * its bytes. */
void name_json(json_t *o, const char *key, const char *name);

#endif
