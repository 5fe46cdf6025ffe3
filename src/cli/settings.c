/*
 * `larder settings`: the table of settings under a profile, for people and, with --json, for
 * programs: the manual's page of options is made from it.
 */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static const char help[] =
    "larder settings 23h2\n\n"
    "Shows each setting with its value under a profile (larder, where none is named),\n"
    "what it may be, and what it is for. The names are Windows' where Windows has the\n"
    "setting (Get-SmbClientConfiguration). They are given, in any case, as\n"
    "`-o NAME=VALUE`, or behind a profile: `--profile 23h2:NAME=VALUE,...`.\n\n"
    "  --json   profile, profiles, settings: name, value, unit, min, max or values,\n"
    "           windows (its cmdlet, \"registry\" or null), meaning\n";

/* A number, a switch or a text, as JSON has them. */
static json_t *value_json(const struct setting_info *info, const char *text)
{
    if (*info->unit)
        return json_integer(strtoll(text, NULL, 10));
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        return json_boolean(*text == 't');
    return json_string(text);
}

static json_t *words_json(size_t index)
{
    json_t *words = json_array();
    const char *word;
    for (size_t i = 0; (word = settings_value(index, i)); i++)
        json_array_append_new(words, json_string(word));
    return words;
}

static json_t *setting_json(const struct settings *s, size_t index)
{
    const struct setting_info *info = settings_info(index);
    char text[SETTINGS_TEXT_MAX];
    json_t *o = json_pack("{s:s, s:o, s:s, s:s?, s:s}", "name", info->name, "value",
                          value_json(info, settings_get(s, index, text)), "unit", info->unit,
                          "windows", info->windows, "meaning", info->meaning);
    if (*info->unit) {
        json_object_set_new(o, "min", json_integer((json_int_t)info->min));
        json_object_set_new(o, "max", json_integer((json_int_t)info->max));
    } else {
        json_object_set_new(o, "values", words_json(index));
    }
    return o;
}

static void print_json(const struct settings *s)
{
    json_t *profiles = json_array(), *settings = json_array();
    const char *name;
    for (size_t i = 0; (name = settings_profile_name(i)); i++)
        json_array_append_new(profiles, json_string(name));
    for (size_t i = 0; settings_info(i); i++)
        json_array_append_new(settings, setting_json(s, i));
    json_t *all = json_pack("{s:s, s:o, s:o}", "profile", s->profile, "profiles", profiles,
                            "settings", settings);
    json_dumpf(all, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(all);
}

/* "seconds, 0 to 4294967295", or "true, false". */
static void print_range(size_t index)
{
    const struct setting_info *info = settings_info(index);
    const char *word;
    if (*info->unit)
        printf("%s, %" PRIu64 " to %" PRIu64, strcmp(info->unit, "s") == 0 ? "seconds" : info->unit,
               info->min, info->max);
    for (size_t i = 0; (word = settings_value(index, i)); i++)
        printf("%s%s", i ? ", " : "", word);
}

static void print_text(const struct settings *s)
{
    const struct setting_info *info;
    for (size_t i = 0; (info = settings_info(i)); i++) {
        char text[SETTINGS_TEXT_MAX];
        printf("%s=%s\n    %s\n    ", info->name, settings_get(s, i, text), info->meaning);
        print_range(i);
        putchar('\n');
    }
}

int cmd_settings(int argc, char **argv)
{
    bool json;
    int code = cli_read_flag(argc, argv, "json", 0, help, &json);
    if (code != EXIT_DONE)
        return code == CLI_HELP_SHOWN ? EXIT_DONE : code;
    if (argc - optind > 1)
        return cli_usage("settings", "give one profile");
    struct settings s;
    struct error err;
    if (settings_profile(argc == optind ? "larder" : argv[optind], &s, &err) < 0)
        return cli_usage("settings", "%s", err.text);
    if (json)
        print_json(&s);
    else
        print_text(&s);
    return EXIT_DONE;
}
