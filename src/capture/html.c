/*
 * The page is written from top to bottom into a stream. Its parts come from page.c, questions.c and
 * charts.c; here are their order and their looks.
 *
 * In a file it appears at once: it is written under another name in the same directory, pushed to
 * the disk and renamed, so that a full disk leaves the file that was there before, and nothing
 * else.
 */
#include "capture/html.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture/charts.h"
#include "capture/text.h"

/* ---- looks ---- */

/* The colours are told apart by the colour-blind, too; neither `&` nor `<` may be in here. */
static const char style[] =
    ":root{color-scheme:light dark;--page:#fff;--ink:#1b1f24;--dim:#59616d;--rule:#d8dce2;"
    "--box:#f5f6f8;--fault:#b3261e;--unsure:#8a5a00;--well:#1a7040;"
    "--c0:#2b6cc4;--c1:#d9822b;--c2:#1f9477;--c3:#a64a97;--c4:#98a1ad}\n"
    "@media (prefers-color-scheme:dark){:root{--page:#14171b;--ink:#e4e7eb;--dim:#9aa3af;"
    "--rule:#343a43;--box:#1d2127;--fault:#ff8a80;--unsure:#f0b955;--well:#6fcf97;"
    "--c0:#5b9bea;--c1:#f0a050;--c2:#3fb795;--c3:#cc7dbe;--c4:#727b87}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;max-width:64rem;padding:1rem;background:var(--page);color:var(--ink);"
    "font:15px/1.45 system-ui,sans-serif;-webkit-text-size-adjust:100%}\n"
    "h1,h2{line-height:1.25;overflow-wrap:anywhere}h1{font-size:1.4rem;margin:.5rem 0}\n"
    "h2{font-size:1.2rem;margin:2.5rem 0 .75rem;border-top:2px solid var(--rule);"
    "padding-top:.75rem}\n"
    "h3{font-size:1rem;margin:1.75rem 0 .5rem;overflow-wrap:anywhere}\n"
    "h3:first-letter{text-transform:uppercase}\n"
    ".field,.finding{display:grid;grid-template-columns:7rem 1fr;gap:.75rem;margin:.2rem 0}\n"
    ".field b{color:var(--dim);font-weight:normal}\n"
    ".field span,.finding span,.item{overflow-wrap:anywhere;min-width:0}\n"
    ".finding{grid-template-columns:4rem 1fr;background:var(--box);margin:.5rem 0;"
    "padding:.6rem .8rem;border-left:4px solid var(--c4);border-radius:3px}\n"
    ".finding i{display:block;color:var(--dim)}\n"
    ".fault{border-color:var(--fault)}.fault b{color:var(--fault)}\n"
    ".unsure{border-color:var(--unsure)}.unsure b{color:var(--unsure)}\n"
    ".well{border-color:var(--well)}.well b{color:var(--well)}\n"
    ".item{margin:.3rem 0;padding-left:1rem;text-indent:-1rem;color:var(--dim)}\n"
    ".item:before{content:'\\2013';display:inline-block;width:1rem;text-indent:0}\n"
    /* the shadow at an edge says that there is more beyond it */
    ".table{overflow-x:auto;margin:1.25rem 0;background:"
    "linear-gradient(to right,var(--page) 1rem,transparent 2rem) local,"
    "linear-gradient(to left,var(--page) 1rem,transparent 2rem) local,"
    "linear-gradient(to right,var(--rule),transparent .5rem),"
    "linear-gradient(to left,var(--rule),transparent .5rem)}\n"
    "table{border-collapse:collapse;width:100%;font-size:.87rem;"
    "font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25rem .5rem;text-align:left;vertical-align:top;white-space:pre-wrap;"
    "border-bottom:1px solid var(--rule)}\n"
    "th{color:var(--dim);font-weight:600;vertical-align:bottom}\n"
    "td:first-child:not(.n){overflow-wrap:anywhere;min-width:10rem;padding-left:1rem;"
    "text-indent:-1rem}th:first-child{padding-left:0}\n"
    "th.n,td.n{text-align:right;white-space:nowrap}th:last-child,td:last-child{padding-right:0}\n"
    ".legend{display:inline-block;margin-right:1rem;font-size:.87rem;color:var(--dim);"
    "overflow-wrap:anywhere}\n"
    ".legend i{display:inline-block;width:.8rem;height:.8rem;border-radius:2px;"
    "margin-right:.4rem;vertical-align:-1px}\n"
    ".bars{margin:.75rem 0;font-size:.87rem;font-variant-numeric:tabular-nums}\n"
    ".bar{display:grid;grid-template-columns:11rem 1fr 5.5rem;gap:2px .75rem;align-items:center;"
    "margin:.35rem 0}\n"
    ".two .name{grid-row:span 2}.bar .name{overflow-wrap:anywhere;min-width:0}\n"
    ".long .bar{grid-template-columns:1fr 5.5rem;margin:.7rem 0}"
    ".long .name{grid-column:1/-1;grid-row:auto}\n"
    ".bar svg{width:100%;height:.8rem;background:var(--box);border-radius:2px}\n"
    ".bar .n{text-align:right}.bar .x{grid-column:2;align-self:start}\n"
    ".bar .name:has(+.x){color:var(--dim)}\n"
    ".plot{margin:.5rem 0 1rem;font-size:.8rem;color:var(--dim);"
    "font-variant-numeric:tabular-nums}\n"
    ".plot svg{display:block;width:100%;height:11rem;overflow:visible}.top{margin:0 0 .2rem}\n"
    ".x{position:relative;height:1.3rem}.x span{position:absolute;top:.15rem;color:var(--dim);"
    "white-space:nowrap}\n"
    ".x .m{transform:translateX(-50%)}.x .r{transform:translateX(-100%)}\n"
    ".c0{fill:var(--c0);background:var(--c0)}.c1{fill:var(--c1);background:var(--c1)}"
    ".c2{fill:var(--c2);background:var(--c2)}.c3{fill:var(--c3);background:var(--c3)}"
    ".c4{fill:var(--c4);background:var(--c4)}\n"
    "path{vector-effect:non-scaling-stroke}.grid{fill:none;stroke:var(--rule)}\n"
    ".line{fill:none;stroke:var(--c0);stroke-width:2.5}.mark{fill:none;stroke-width:2}\n"
    ".m0{stroke:var(--c1);background:var(--c1)}"
    ".m1{stroke:var(--c2);background:var(--c2);stroke-dasharray:6 4}\n"
    "@media "
    "(max-width:40rem){body{padding:.75rem}.field,.finding{grid-template-columns:1fr;gap:0}.field{"
    "margin:.5rem 0}\n"
    ".bar{grid-template-columns:1fr 4.5rem}.bar .name,.two .name{grid-column:1/-1;"
    "grid-row:auto}.bar .x{grid-column:1}\n"
    ".long .bar{grid-template-columns:1fr 4.5rem}.plot svg{height:9rem}\n"
    "table{font-size:.78rem}th,td{padding:.25rem .2rem}th.n{white-space:pre-wrap}"
    "td:first-child:not(.n){min-width:8rem}}\n"
    "@media print{.table{overflow:visible}}\n";

static void begin(FILE *out)
{
    fprintf(out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
            "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\"/>\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
            "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
            "<title>larder analyze</title>\n<style>\n%s</style>\n</head>\n<body>\n"
            "<h1>What the captures say about the SMB client's caches</h1>\n",
            style);
}

/* ---- sections ---- */

static void section(FILE *out, const char *file, const char *against)
{
    char name[PAGE_NAME];
    fputs("<section>\n<h2>", out);
    report_html(out, page_name(name, file, PAGE_NAME));
    if (against) {
        fputs(" against ", out);
        report_html(out, page_name(name, against, PAGE_NAME));
    }
    fputs("</h2>\n", out);
}

static int print_capture(const struct html_capture *c, FILE *out)
{
    static void (*const charts[])(const struct analysis *, FILE *) = {
        chart_commands, chart_timeline, chart_response_times, chart_directories};
    const struct analysis *a = c->analysis;
    section(out, a->file, NULL);
    page_verdict(a, out, REPORT_HTML);
    text_heading(out, REPORT_HTML, "what was captured");
    page_head(a, out, REPORT_HTML);
    for (size_t i = 0; i < sizeof(charts) / sizeof(charts[0]); i++)
        charts[i](a, out);
    text_heading(out, REPORT_HTML, "in numbers");
    int code = page_tables(a, out, REPORT_HTML);
    if (code == 0 && c->questions)
        code = questions_print(c->questions, out, REPORT_HTML);
    fputs("</section>\n", out);
    return code;
}

static int print_difference(const struct analysis *a, const struct analysis *base, FILE *out)
{
    struct difference *d = difference_new(base, a);
    if (!d)
        return -ENOMEM;
    section(out, a->file, base->file);
    chart_difference(d, out);
    int code = page_print_difference(d, out, REPORT_HTML);
    fputs("</section>\n", out);
    difference_free(d);
    return code;
}

int html_print(const struct html_capture *capture, size_t count, const struct analysis *base,
               FILE *out)
{
    int code = 0;
    begin(out);
    for (size_t i = 0; i < count && code == 0; i++)
        code = print_capture(&capture[i], out);
    for (size_t i = 0; i < count && base && code == 0; i++)
        code = print_difference(capture[i].analysis, base, out);
    fputs("</body>\n</html>\n", out);
    return code == 0 && ferror(out) ? -EIO : code;
}

/* ---- the file ---- */

/* Where a link points to; a name that is not there yet stays as it is. */
static int target(const char *path, char ret[static PATH_MAX])
{
    struct stat st;
    if (strlen(path) >= PATH_MAX - 32)
        return -ENAMETOOLONG;
    strcpy(ret, path);
    if (stat(path, &st) < 0)
        return errno == ENOENT ? 0 : -errno;
    if (S_ISDIR(st.st_mode))
        return -EISDIR;
    if (!S_ISREG(st.st_mode))
        return -EEXIST;
    return realpath(path, ret) ? 0 : -errno;
}

static int print_and_close(const struct html_capture *capture, size_t count,
                           const struct analysis *base, int fd)
{
    FILE *out = fdopen(fd, "w");
    if (!out) {
        close(fd);
        return -ENOMEM;
    }
    errno = 0;
    int code = html_print(capture, count, base, out);
    if (code == -EIO && errno)
        code = -errno;
    if (code == 0 && (fflush(out) != 0 || fsync(fd) < 0))
        code = -errno;
    if (fclose(out) != 0 && code == 0)
        code = -errno;
    return code;
}

int html_write(const struct html_capture *capture, size_t count, const struct analysis *base,
               const char *path, struct error *err)
{
    char real[PATH_MAX], part[PATH_MAX + 32];
    int fd, code = target(path, real);
    if (code < 0)
        goto out;
    snprintf(part, sizeof(part), "%s.%ld.part", real, (long)getpid());
    fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0) {
        code = -errno;
        goto out;
    }
    code = print_and_close(capture, count, base, fd);
    if (code == 0 && rename(part, real) < 0)
        code = -errno;
    if (code < 0)
        unlink(part);
out:
    if (code == -EEXIST)
        return error_set(err, code, 0, "%s: not a regular file", path);
    return code < 0 ? error_set(err, code, 0, "%s: %s", path, strerror(-code)) : 0;
}
