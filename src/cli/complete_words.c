/*
 * The words of `larder complete` that need no server: options and settings with their values,
 * profiles, files, what is mounted. Whoever offers a word offers the whole of it, with what stands
 * in front of the part that is being typed.
 */
#include <dirent.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/complete.h"
#include "cli/mount_options.h"
#include "mount/place.h"

/* ---- settings ---- */

void complete_setting(struct offers *o, size_t kept, const char *text)
{
    const struct setting_info *info;
    for (size_t i = 0; (info = settings_info(i)); i++)
        offer(o, info->meaning, "%.*s%s%s", (int)kept, o->current, info->name, text);
}

static void setting_values(struct offers *o, size_t kept, const char *name, size_t len)
{
    const struct setting_info *info;
    const char *word;
    for (size_t i = 0; (info = settings_info(i)); i++)
        if (strlen(info->name) == len && strncasecmp(info->name, name, len) == 0)
            for (size_t k = 0; (word = settings_value(i, k)); k++)
                offer(o, NULL, "%.*s%s", (int)kept, o->current, word);
}

/* Where the part begins that is being typed: behind the last of `marks` outside quotes. */
static size_t last_part(const char *text, size_t from, const char *marks)
{
    bool quoted = false;
    size_t part = from;
    for (size_t i = from; text[i]; i++) {
        quoted ^= text[i] == '"';
        if (!quoted && strchr(marks, text[i]))
            part = i + 1;
    }
    return part;
}

static void profiles(struct offers *o, size_t kept)
{
    for (size_t i = 0; settings_profile_name(i); i++)
        offer(o, NULL, "%.*s%s", (int)kept, o->current, settings_profile_name(i));
}

void complete_profile(struct offers *o, size_t kept)
{
    size_t item = last_part(o->current, kept, ":,");
    const char *equals = strchr(o->current + item, '=');
    if (equals)
        setting_values(o, (size_t)(equals + 1 - o->current), o->current + item,
                       (size_t)(equals - o->current) - item);
    else if (item > kept)
        complete_setting(o, item, "=");
    else
        profiles(o, kept);
}

/* ---- a list after -o ---- */

/* What options take that are no settings, where that is a word of a few or a file. */
static const struct values {
    const char *name;
    const char *words[8];
} values[] = {
    {"sec", {"krb5", "krb5i", "ntlmssp", "ntlmsspi", "none"}},
    {"vers", {"2.0.2", "2.1", "3.0", "3.0.2", "3.1.1", "3", "default"}},
    {"cache", {"strict", "none"}},
    {"iocharset", {"utf8"}},
};
static const char *const files[] = {"credentials", "cred", "keytab", "events", "keylog"};

static void option_values(struct offers *o, size_t kept, const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        if (strlen(values[i].name) == len && strncasecmp(values[i].name, name, len) == 0)
            for (const char *const *word = values[i].words; *word; word++)
                offer(o, NULL, "%.*s%s", (int)kept, o->current, *word);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if (strlen(files[i]) == len && strncasecmp(files[i], name, len) == 0)
            complete_files(o, kept, false);
    if (len == strlen("profile") && strncasecmp(name, "profile", len) == 0)
        profiles(o, kept);
    setting_values(o, kept, name, len);
}

static const char *meaning_of(const char *name)
{
    const struct setting_info *info;
    for (size_t i = 0; (info = settings_info(i)); i++)
        if (strcmp(info->name, name) == 0)
            return info->meaning;
    return NULL;
}

void complete_list(const struct typed *t, struct offers *o, size_t kept)
{
    size_t item = last_part(o->current, kept, ",");
    const char *equals = strchr(o->current + item, '=');
    if (equals) {
        option_values(o, (size_t)(equals + 1 - o->current), o->current + item,
                      (size_t)(equals - o->current) - item);
        return;
    }
    const char *name;
    bool value;
    for (size_t i = 0; t->sub->run == cmd_mount && (name = mount_option_name(i, &value)); i++)
        offer(o, NULL, "%.*s%s%s", (int)item, o->current, name, value ? "=" : "");
    for (size_t i = 0; (name = share_options_name(i)); i++)
        offer(o, meaning_of(name), "%.*s%s%s", (int)item, o->current, name,
              share_options_takes_value(i) ? "=" : "");
}

/* ---- files ---- */

static bool is_directory(DIR *d, const struct dirent *entry)
{
    struct stat st;
    if (entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN)
        return entry->d_type == DT_DIR;
    return fstatat(dirfd(d), entry->d_name, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

void complete_files(struct offers *o, size_t kept, bool only_directories)
{
    const char *typed = o->current + kept, *slash = strrchr(typed, '/'), *home = getenv("HOME");
    char directory[PATH_MAX];
    bool at_home = home && strncmp(typed, "~/", 2) == 0;
    int len = slash ? (int)(slash + 1 - typed) : 0;
    snprintf(directory, sizeof directory, "%s%.*s",
             at_home ? home
             : len   ? ""
                     : ".",
             len - at_home, typed + at_home);
    DIR *d = opendir(directory);
    const struct dirent *entry;
    while (d && (entry = readdir(d))) {
        bool is_dir = is_directory(d, entry);
        bool hidden = entry->d_name[0] == '.' && typed[len] != '.';
        if (!hidden && strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            (is_dir || !only_directories))
            offer(o, NULL, "%.*s%s%s", (int)kept + len, o->current, entry->d_name,
                  is_dir ? "/" : "");
    }
    if (d)
        closedir(d);
}

void complete_mounts(struct offers *o)
{
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    const struct mntent *m;
    while (mounts && (m = getmntent(mounts)))
        if (strcmp(m->mnt_type, MOUNT_FS_TYPE) == 0)
            offer(o, m->mnt_fsname, "%s", m->mnt_dir);
    if (mounts)
        endmntent(mounts);
}
