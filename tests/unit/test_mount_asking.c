/* Asking a live mount about a path: which mount it is on, and how its bytes get there. */
#include <fcntl.h>
#include <sys/socket.h>

#include "mount/control.h"
#include "mount/sockdir.h"
#include "mounted.h"

/* Where this path leads is `rest` beneath the mount; "-": on no mount of larder. */
static void is_beneath(const struct mounted *m, const char *path, const char *rest)
{
    struct place at;
    struct error err;
    char found[PATH_MAX];
    int rc = place_on_larder(path, &at, found, &err);
    if (strcmp(rest, "-") == 0) {
        assert_int_equal(rc, -EINVAL);
        assert_non_null(strstr(err.text, "on no mount of larder"));
        return;
    }
    assert_int_equal(rc, 0);
    assert_string_equal(at.path, m->dir);
    assert_string_equal(found, rest);
}

static void a_path_is_on_the_mount_that_its_text_leads_to(void **state)
{
    struct mounted *m = begin(LONG_NS);
    char link[80], other[80], long_path[2 * PATH_MAX];
    const char *name = strrchr(m->dir, '/') + 1;
    snprintf(link, sizeof link, "%s.link", m->dir);
    assert_int_equal(symlink(name, link), 0); /* relative */
    snprintf(other, sizeof other, "%s.link/%s", m->dir, "..");

    is_beneath(m, m->dir, "");
    is_beneath(m, in(m, ""), "");
    is_beneath(m, in(m, "a/b"), "a/b");
    is_beneath(m, in(m, "//a/./b//"), "a/b");
    is_beneath(m, in(m, "a/../b"), "b");
    is_beneath(m, in(m, "a/.."), "");
    is_beneath(m, in(m, "../"), "-");
    is_beneath(m, in(m, "../../tmp"), "-");
    snprintf(long_path, sizeof long_path, "%s/a/../../%s/./b", m->dir, name);
    is_beneath(m, long_path, "b");
    snprintf(long_path, sizeof long_path, "%s/x \n\xff", link);
    is_beneath(m, long_path, "x \n\xff");
    is_beneath(m, other, "-");
    is_beneath(m, "/proc/self", "-");
    is_beneath(m, "/", "-");
    is_beneath(m, "/no/such/thing", "-");

    char before[PATH_MAX];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(m->dir), 0);
    is_beneath(m, ".", "");
    is_beneath(m, "a", "a");
    is_beneath(m, "..", "-");
    assert_int_equal(chdir(before), 0);

    struct place at;
    char found[PATH_MAX];
    memset(long_path, 'a', sizeof long_path - 1);
    long_path[0] = '/';
    long_path[sizeof long_path - 1] = '\0';
    assert_int_equal(place_on_larder(long_path, &at, found, NULL), -ENAMETOOLONG);
    assert_int_equal(place_on_larder("", &at, found, NULL), -ENOENT);
    unlink(link);
    assert_int_equal(symlink(link, link), 0);
    assert_int_equal(place_on_larder(link, &at, found, NULL), -ELOOP);
    unlink(link);
    assert_int_equal(fake_share_counts(m->share).lookups, 0); /* nothing of it reached the mount */
    finish(m);
}

static void arrives(const struct mounted *m, const char *request, const char *member,
                    const char *path)
{
    json_t *reply;
    struct error err;
    assert_int_equal(control_query(m->dir, request, path, &reply, &err), 0);
    const json_t *bytes = json_object_get(reply, member);
    assert_int_equal(json_array_size(bytes), strlen(path));
    for (size_t i = 0; path[i]; i++)
        assert_int_equal(json_integer_value(json_array_get(bytes, i)), (unsigned char)path[i]);
    json_decref(reply);
}

static void a_path_of_any_bytes_arrives_as_it_is(void **state)
{
    struct mounted *m = begin(LONG_NS);
    char all[256], longest[PATH_MAX];
    for (int i = 1; i < 256; i++)
        all[i - 1] = (char)i;
    all[255] = '\0';
    memset(longest, '\xff', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    arrives(m, "explain", "explained", "");
    arrives(m, "explain", "explained", "a/b%20c");
    arrives(m, "explain", "explained", all);
    arrives(m, "drop", "dropped", longest);

    json_t *reply;
    struct error err;
    assert_int_equal(control_query(m->dir, "explain", "refused", &reply, &err), -EOPNOTSUPP);
    assert_non_null(strstr(err.text, "Invalid argument")); /* its text is no JSON */
    finish(m);
}

static void what_is_no_argument_is_refused(void **state)
{
    static const char *const lines[] = {"explain %\n", "explain %4\n", "explain %g0\n",
                                        "explain a%00b\n", "drop %4a%\n"};
    struct mounted *m = begin(LONG_NS);
    struct place at;
    char name[32], reply[256];
    assert_int_equal(place_find(m->dir, &at), 0);
    sockdir_name(at.device, name);
    int dir = sockdir_own(NULL);
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        int fd = sockdir_connect(dir, name);
        assert_true(fd >= 0);
        fcntl(fd, F_SETFL, 0);
        assert_int_equal(send(fd, lines[i], strlen(lines[i]), MSG_NOSIGNAL), strlen(lines[i]));
        ssize_t n = recv(fd, reply, sizeof reply - 1, MSG_WAITALL);
        reply[n > 0 ? n : 0] = '\0';
        assert_non_null(strstr(reply, "malformed argument"));
        close(fd);
    }
    close(dir);
    finish(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_is_on_the_mount_that_its_text_leads_to),
        cmocka_unit_test(a_path_of_any_bytes_arrives_as_it_is),
        cmocka_unit_test(what_is_no_argument_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
