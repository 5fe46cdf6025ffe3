/* Lists a directory of a share.
 *
 *     cc list.c -o list $(pkg-config --cflags --libs larder)
 *     ./list //server/share/directory credentials=FILE
 *
 * The second argument is what `larder mount` takes after -o. */
#include <larder/larder.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct larder_error err = {0};
    struct larder_config *config = NULL;
    struct larder *share = NULL;
    struct larder_dir *dir = NULL;

    if (argc < 2 || larder_config_new(argv[1], &config, &err) < 0 ||
        larder_config_set_list(config, argc > 2 ? argv[2] : "", &err) < 0 ||
        larder_connect(config, &share, &err) < 0 || larder_list(share, "", &dir, &err) < 0)
        fprintf(stderr, "list: %s\n", argc < 2 ? "usage: list //SERVER/SHARE [OPTIONS]" : err.text);

    for (size_t i = 0; dir && i < larder_dir_count(dir); i++) {
        struct larder_stat st;
        const char *name = larder_dir_entry(dir, i, &st);
        printf("%12llu %s%s\n", (unsigned long long)st.size, name, st.is_dir ? "/" : "");
    }
    int code = dir ? 0 : 1;
    larder_dir_close(dir); /* all of these take NULL */
    larder_disconnect(share);
    larder_config_free(config);
    return code;
}
