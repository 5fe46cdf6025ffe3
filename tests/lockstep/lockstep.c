/*
 * lockstep: random operations on two directories in step (op.h), compared after each.
 *
 *     lockstep [options] LOCAL DIR [SEED [COUNT]]
 *
 * LOCAL is on a file system that is trusted, DIR is under test. A run is sessions of 1,000
 * operations, each from a seed of its own, in new directories. The first difference is printed with
 * its seed and as a script as short as it gets, and ends it with 1; 2: it could not be run.
 *
 * A process that may pass over permissions would be told EACCES by a server where the local file
 * system lets it through, so that power is given up first (CAP_DAC_OVERRIDE).
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lockstep/run.h"

static const char help[] =
    "lockstep [options] LOCAL DIR [SEED [COUNT]]\n"
    "  --without=KIND,...  operations that the file system does not have\n"
    "  --onlooker          a second process looks at DIR meanwhile\n"
    "  --replay=FILE       the operations in FILE instead of random ones\n"
    "  --shrink=SECONDS    time for making a difference short (60; 0: not)\n"
    "  --fault=NAME        wrong on purpose: lost-write, kept-name, short-file, old-time\n";

enum { SESSION = 1000, SHOWN = 100 };

struct plan {
    struct bench bench;
    uint64_t seed, count, without;
    unsigned shrink;
    const char *replay;
    bool onlooker;
};

static uint64_t session_seed; /* for the handler */

static int complain(const char *what, const char *why)
{
    fprintf(stderr, "lockstep: %s: %s\n", what, why);
    return 2;
}

/* ---- arguments ---- */

static int parse_without(char *list, uint64_t *ret)
{
    char *rest = NULL;
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        enum op_kind kind;
        if (op_kind_of(name, &kind) < 0)
            return complain(name, "no such operation");
        *ret |= 1ull << kind;
    }
    return 0;
}

static int parse_fault(const char *name, enum fault *ret)
{
    static const char *const names[] = {"none", "lost-write", "kept-name", "short-file",
                                        "old-time"};
    for (int i = 0; i < (int)(sizeof(names) / sizeof(*names)); i++)
        if (strcmp(name, names[i]) == 0) {
            *ret = (enum fault)i;
            return 0;
        }
    return complain(name, "no such fault");
}

static int parse_option(struct plan *p, int option)
{
    switch (option) {
    case 'w':
        return parse_without(optarg, &p->without);
    case 'o':
        p->onlooker = true;
        return 0;
    case 'r':
        p->replay = optarg;
        return 0;
    case 's':
        p->shrink = (unsigned)strtoul(optarg, NULL, 10);
        return 0;
    case 'f':
        return parse_fault(optarg, &p->bench.fault);
    default:
        fputs(help, stderr);
        return 2;
    }
}

static int parse(struct plan *p, int argc, char **argv)
{
    static const struct option options[] = {
        {"without", required_argument, NULL, 'w'}, {"onlooker", no_argument, NULL, 'o'},
        {"replay", required_argument, NULL, 'r'},  {"shrink", required_argument, NULL, 's'},
        {"fault", required_argument, NULL, 'f'},   {0}};
    *p = (struct plan){.seed = 1, .count = 5000, .shrink = 60};
    int option, r = 0;
    while (r == 0 && (option = getopt_long(argc, argv, "", options, NULL)) != -1)
        r = parse_option(p, option);
    if (r)
        return r;
    if (argc - optind < 2 || argc - optind > 4) {
        fputs(help, stderr);
        return 2;
    }
    p->bench.dir[0] = argv[optind];
    p->bench.dir[1] = argv[optind + 1];
    if (argc - optind > 2)
        p->seed = strtoull(argv[optind + 2], NULL, 10);
    if (argc - optind > 3)
        p->count = strtoull(argv[optind + 3], NULL, 10);
    return 0;
}

/* ---- the process ---- */

static int obey_permissions(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {0};
    if (syscall(SYS_capget, &header, data) < 0)
        return -errno;
    uint32_t powers = 1u << CAP_DAC_OVERRIDE | 1u << CAP_DAC_READ_SEARCH;
    if (!(data[0].effective & powers))
        return 0;
    data[0].effective &= ~powers;
    return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

static void hangs(int signal)
{
    (void)signal;
    static char text[100];
    int n = snprintf(text, sizeof(text), "an operation hangs, seed %" PRIu64 "\n", session_seed);
    if (write(STDOUT_FILENO, text, (size_t)n) == n)
        _exit(1);
    _exit(2);
}

/* ---- a difference ---- */

static void print_ops(const struct op *ops, size_t count)
{
    char line[LINE_SIZE];
    for (size_t i = 0; i < count; i++) {
        op_print(&ops[i], line);
        puts(line);
    }
}

static int tell(struct plan *p, struct op *ops, long at, struct difference *d)
{
    if (at == RUN_FAILED)
        return complain("cannot run", d->text);
    char line[LINE_SIZE];
    op_print(&ops[at], line);
    printf("DIFFERENCE (local, %s) seed %" PRIu64 ", operation %ld: %s\n# by: %s\n",
           p->bench.dir[1], session_seed, at, d->text, line);
    fflush(stdout);
    size_t count = (size_t)at + 1, left = 0;
    if (p->shrink)
        left = shrink_ops(&p->bench, ops, count, p->shrink, d);
    if (left)
        printf("# %zu operations; then: %s\n", left, d->text);
    else if (p->shrink)
        puts("# it did not happen again when it was run again");
    if (left > SHOWN)
        printf("# too many to be shown: more seconds make them fewer\n");
    else
        print_ops(ops, left);
    return 1;
}

/* ---- runs ---- */

static int run_random(struct plan *p, struct op *ops)
{
    for (session_seed = p->seed; p->bench.done < p->count; session_seed++) {
        struct difference d;
        generate(session_seed, p->without, ops, SESSION);
        long at = run_ops(&p->bench, ops, SESSION, &d);
        if (at != RUN_SAME)
            return tell(p, ops, at, &d);
    }
    printf("same: seeds %" PRIu64 " to %" PRIu64 ", %" PRIu64 " operations (%" PRIu64
           " more left out)\n",
           p->seed, session_seed - 1, p->bench.done, p->bench.left_out);
    return 0;
}

static int read_ops(const char *file, struct op *ops, size_t *ret_count)
{
    char line[LINE_SIZE];
    FILE *f = fopen(file, "r");
    if (!f)
        return complain(file, strerror(errno));
    int r = 0;
    *ret_count = 0;
    while (r == 0 && fgets(line, sizeof(line), f)) {
        if (*line == '#' || *line == '\n')
            continue;
        if (*ret_count == SESSION)
            r = complain(file, "too many operations");
        else if (op_parse(line, &ops[(*ret_count)++]) < 0)
            r = complain(file, line);
    }
    fclose(f);
    return r;
}

static int run_replay(struct plan *p, struct op *ops)
{
    size_t count;
    struct difference d;
    int r = read_ops(p->replay, ops, &count);
    if (r)
        return r;
    long at = run_ops(&p->bench, ops, count, &d);
    if (at != RUN_SAME)
        return tell(p, ops, at, &d);
    printf("same: %s\n", p->replay);
    return 0;
}

int main(int argc, char **argv)
{
    struct plan p;
    int r = parse(&p, argc, argv);
    if (r)
        return r;
    if ((r = obey_permissions()) < 0)
        return complain("permissions", strerror(-r));
    struct op *ops = calloc(SESSION, sizeof(*ops));
    if (!ops)
        return complain("operations", "out of memory");
    umask(022);
    signal(SIGALRM, hangs);
    int onlooker = p.onlooker ? onlooker_start(p.bench.dir[1], p.seed) : -1;
    r = p.replay ? run_replay(&p, ops) : run_random(&p, ops);
    if (onlooker > 0)
        onlooker_end(onlooker);
    free(ops);
    return r;
}
