/* Shared by options.c, target.c and logon.c. */
#ifndef LARDER_SHARE_OPTIONS_INTERNAL_H
#define LARDER_SHARE_OPTIONS_INTERNAL_H

#include "share/options.h"

int options_replace(char **at, const char *value);        /* frees the old one, copies; -ENOMEM */
int options_replace_secret(char **at, const char *value); /* the same, wiping the old one */
/* logon.c: setters */
int options_set_sec(struct share_options *o, const char *value, struct error *err);
int options_set_keytab(struct share_options *o, const char *value, struct error *err);
int options_set_cruid(struct share_options *o, const char *value, struct error *err);
int options_set_address(struct share_options *o, const char *value, struct error *err);

int options_parse_port(const char *text, uint16_t *ret, struct error *err);

#endif
