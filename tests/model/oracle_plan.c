/* What the oracle answers and what it asks next. */
#include <errno.h>

#include "model/oracle_internal.h"

static uint64_t lesser(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void miss(struct oracle *o, enum observe_cache which, enum observe_miss why)
{
    o->counts[which].misses[why]++;
}

static void hit(struct oracle *o, enum observe_cache which)
{
    o->counts[which].hits++;
}

static void nothing(struct oracle_plan *ret, enum cache_step step)
{
    *ret = (struct oracle_plan){.step = step, .file = -1, .spelling = -1};
}

static void answer(struct oracle_plan *ret, int result, int file, const struct file_attr *attr,
                   uint64_t until, int spelling)
{
    *ret = (struct oracle_plan){.step = CACHE_ANSWER,
                                .result = result,
                                .file = file,
                                .valid_until = until,
                                .spelling = spelling};
    if (attr)
        ret->attr = *attr;
}

/* ---- expiry, noticed when asked ---- */

static int believed_listing(struct oracle *o, int dir, uint64_t now, enum observe_miss *ret_why)
{
    struct oracle_file *d = &o->file[dir];
    if (d->listing >= 0 && !oracle_valid(o, OBSERVE_DIR, o->listing[d->listing].sent, now))
        oracle_drop_listing(o, dir, MISS_EXPIRED);
    if (d->listing < 0 && d->too_large && !oracle_valid(o, OBSERVE_DIR, d->too_large_sent, now)) {
        d->too_large = false;
        if (o->enabled[OBSERVE_DIR])
            d->listing_lost = MISS_EXPIRED;
    }
    *ret_why = o->enabled[OBSERVE_DIR] ? d->listing_lost : MISS_DISABLED;
    return d->listing;
}

static bool believed_info(struct oracle *o, int file, uint64_t now, enum observe_miss *ret_why)
{
    struct oracle_file *f = &o->file[file];
    if (f->believed && !oracle_valid(o, OBSERVE_INFO, f->info_sent, now))
        oracle_drop_info(o, file, MISS_EXPIRED);
    *ret_why = o->enabled[OBSERVE_INFO] ? f->info_lost : MISS_DISABLED;
    return f->believed;
}

static int believed_negative(struct oracle *o, int dir, int name, uint64_t now,
                             enum observe_miss *ret_why)
{
    int at = oracle_find_negative(o, dir, name);
    *ret_why = o->enabled[OBSERVE_NOTFOUND] ? MISS_ABSENT : MISS_DISABLED;
    if (at >= 0 && !oracle_valid(o, OBSERVE_NOTFOUND, o->negative[at].sent, now)) {
        oracle_drop_negative(o, at);
        *ret_why = MISS_EXPIRED;
        return -1;
    }
    if (at >= 0)
        oracle_use(o, OBSERVE_NOTFOUND, at);
    return at;
}

/* ---- the directory cache ---- */

enum { NOT_THERE = -1, CANNOT_TELL = -2 };

static int means(const struct oracle *o, const struct oracle_listing *l, int name)
{
    int alike, one = 0;
    int exact = oracle_in_listing(l, name, &alike, &one);
    const struct spelling *s = &spellings[name];
    if (exact >= 0)
        return exact;
    if (!s->ascii || alike > 1 || (alike == 1 && !spellings[l->name[one]].ascii))
        return CANNOT_TELL;
    if (alike == 1)
        return o->folds ? one : CANNOT_TELL;
    return s->unlisted ? CANNOT_TELL : NOT_THERE;
}

/* Attributes out of a listing are believed of a file unless newer ones were heard. */
static bool listed_attr_good(const struct oracle *o, const struct oracle_listing *l, int file,
                             const struct file_attr *attr, uint64_t now, enum observe_miss *ret_why)
{
    const struct oracle_file *f = &o->file[file];
    bool newer_heard = f->heard && f->info_order > l->order;
    *ret_why = !o->enabled[OBSERVE_INFO] ? MISS_DISABLED
               : l->order <= f->changed  ? MISS_CHANGED
               : newer_heard             ? f->info_lost
                                         : MISS_EXPIRED;
    return oracle_same(o, file, attr) && oracle_valid(o, OBSERVE_INFO, l->sent, now) &&
           l->order > f->changed && !newer_heard;
}

/* 0: no longer. */
static uint64_t names_until(const struct oracle *o, const struct oracle_listing *l, uint64_t now)
{
    return oracle_valid(o, OBSERVE_DIR, l->sent, now) ? l->sent + o->lifetime[OBSERVE_DIR] : 0;
}

static bool answer_listed(struct oracle *o, int dir, const struct oracle_listing *l, int entry,
                          uint64_t now, struct oracle_plan *ret, enum observe_miss *ret_why)
{
    const struct file_attr *attr = &l->attr[entry];
    int file = oracle_bind(o, dir, l->name[entry], attr, l->order)->file;
    enum observe_miss why;
    bool held = believed_info(o, file, now, &why);
    bool listed = listed_attr_good(o, l, file, attr, now, ret_why);
    const struct oracle_file *f = &o->file[file];
    if (listed && !held && oracle_attr_newest(o, file, l->order))
        oracle_hear(o, file, attr, l->order, l->sent);
    uint64_t listing_until = names_until(o, l, now);
    if (held && (!listed || f->info_order > l->order))
        answer(ret, 0, file, &f->attr,
               lesser(f->info_sent + o->lifetime[OBSERVE_INFO], listing_until), l->name[entry]);
    else if (listed)
        answer(ret, 0, file, attr, lesser(l->sent + o->lifetime[OBSERVE_INFO], listing_until),
               l->name[entry]);
    return held || listed;
}

static bool ask_directory(struct oracle *o, int dir, int name, uint64_t now,
                          struct oracle_plan *ret, bool *ret_by_path)
{
    enum observe_miss why;
    int listing = believed_listing(o, dir, now, &why);
    if (listing >= 0) {
        const struct oracle_listing *l = &o->listing[listing];
        int entry = means(o, l, name);
        *ret_by_path = entry == CANNOT_TELL || !o->enabled[OBSERVE_INFO];
        why = MISS_CASE;
        if (entry == NOT_THERE)
            answer(ret, -ENOENT, -1, NULL, l->sent + o->lifetime[OBSERVE_DIR], -1);
        if (entry == NOT_THERE || (entry >= 0 && answer_listed(o, dir, l, entry, now, ret, &why))) {
            oracle_use(o, OBSERVE_DIR, dir);
            hit(o, OBSERVE_DIR);
            return true;
        }
    }
    miss(o, OBSERVE_DIR, why);
    return false;
}

/* ---- the other two ---- */

static bool ask_not_found(struct oracle *o, int dir, int name, uint64_t now,
                          struct oracle_plan *ret)
{
    enum observe_miss why;
    int at = believed_negative(o, dir, name, now, &why);
    if (at < 0) {
        miss(o, OBSERVE_NOTFOUND, why);
        return false;
    }
    hit(o, OBSERVE_NOTFOUND);
    answer(ret, -ENOENT, -1, NULL, o->negative[at].sent + o->lifetime[OBSERVE_NOTFOUND], -1);
    return true;
}

static bool ask_info(struct oracle *o, int dir, int name, uint64_t now, struct oracle_plan *ret)
{
    const struct oracle_name *n = oracle_find_name(o, dir, name);
    enum observe_miss why = o->enabled[OBSERVE_INFO] ? MISS_ABSENT : MISS_DISABLED;
    if (n && n->confirmed && believed_info(o, n->file, now, &why)) {
        const struct oracle_file *f = &o->file[n->file];
        if (oracle_valid(o, OBSERVE_INFO, n->sent, now)) {
            answer(ret, 0, n->file, &f->attr,
                   lesser(n->sent, f->info_sent) + o->lifetime[OBSERVE_INFO], name);
            oracle_use(o, OBSERVE_INFO, n->file);
            hit(o, OBSERVE_INFO);
            return true;
        }
        why = MISS_EXPIRED;
    }
    miss(o, OBSERVE_INFO, why);
    return false;
}

/* ---- what to ask the server ---- */

static enum cache_step on_evidence(struct oracle *o, int dir, uint64_t now, bool *ret_guess)
{
    struct oracle_file *d = &o->file[dir];
    if (!o->enabled[OBSERVE_DIR] || d->too_large ||
        (now >= d->rest_from && now - d->rest_from < d->rest))
        return CACHE_STAT;
    if (!oracle_valid(o, OBSERVE_DIR, d->last_probe, now))
        d->probes = 0;
    d->probes++;
    d->last_probe = now;
    const struct oracle_name *n = oracle_name_of(o, dir);
    int above = n ? o->file[n->dir].listing : -1;
    bool in_listed = above >= 0 && oracle_valid(o, OBSERVE_DIR, o->listing[above].sent, now);
    unsigned enough = d->large ? 32 : d->listed || in_listed ? 1 : 2;
    if (d->probes < enough)
        return CACHE_STAT;
    *ret_guess = !d->large;
    return CACHE_LIST;
}

static void plan_question(struct oracle *o, int dir, int name, uint64_t now, bool by_path,
                          struct oracle_plan *ret)
{
    bool wildcard = spellings[name].wildcard;
    nothing(ret, CACHE_STAT);
    if (by_path)
        return;
    switch (o->settings.on_miss) {
    case ON_MISS_LIST:
        if (o->enabled[OBSERVE_DIR])
            ret->step = o->file[dir].too_large ? CACHE_STAT : CACHE_LIST;
        else
            ret->step = wildcard ? CACHE_STAT : CACHE_SEARCH;
        break;
    case ON_MISS_SEARCH:
        ret->step = wildcard ? CACHE_STAT : CACHE_SEARCH;
        break;
    case ON_MISS_EVIDENCE:
        ret->step = on_evidence(o, dir, now, &ret->guess);
        break;
    case ON_MISS_STAT:
        break;
    }
}

void oracle_lookup(struct oracle *o, int dir, int name, enum cache_intent intent, uint64_t now,
                   struct oracle_plan *ret)
{
    bool by_path = false;
    if (!o->file[dir].is_dir) {
        answer(ret, -ENOTDIR, -1, NULL, 0, -1);
        return;
    }
    bool answered = ask_directory(o, dir, name, now, ret, &by_path) ||
                    ask_not_found(o, dir, name, now, ret) ||
                    (o->settings.info_answers_lookup && ask_info(o, dir, name, now, ret));
    if (intent == CACHE_OPEN_IT && !(answered && ret->result < 0))
        nothing(ret, CACHE_OPEN);
    else if (!answered)
        plan_question(o, dir, name, now, by_path, ret);
}

void oracle_answer_from(struct oracle *o, int dir, int listing, int name, uint64_t now,
                        struct oracle_plan *ret)
{
    const struct oracle_listing *l = &o->listing[listing];
    int entry = means(o, l, name);
    bool believed = o->file[dir].listing == listing;
    enum observe_miss why;
    nothing(ret, CACHE_STAT);
    if (entry == NOT_THERE)
        answer(ret, -ENOENT, -1, NULL, believed ? names_until(o, l, now) : 0, -1);
    if (entry < 0 || (believed && answer_listed(o, dir, l, entry, now, ret, &why)))
        return;
    int file = oracle_bind(o, dir, l->name[entry], &l->attr[entry], l->order)->file;
    answer(ret, 0, file, &l->attr[entry], 0, l->name[entry]);
}

int oracle_adopt(struct oracle *o, int dir, int listing, int entry, uint64_t now,
                 uint64_t *ret_until)
{
    const struct oracle_listing *l = &o->listing[listing];
    int file = oracle_bind(o, dir, l->name[entry], &l->attr[entry], l->order)->file;
    enum observe_miss why;
    bool believed =
        o->file[dir].listing == listing && listed_attr_good(o, l, file, &l->attr[entry], now, &why);
    if (believed && !o->file[file].believed && oracle_attr_newest(o, file, l->order))
        oracle_hear(o, file, &l->attr[entry], l->order, l->sent);
    *ret_until = believed ? lesser(names_until(o, l, now), l->sent + o->lifetime[OBSERVE_INFO]) : 0;
    return file;
}

/* ---- held files, whole listings, paths ---- */

void oracle_attr(struct oracle *o, int file, uint64_t now, struct oracle_plan *ret)
{
    const struct oracle_file *f = &o->file[file];
    enum observe_miss info_why, dir_why = o->enabled[OBSERVE_DIR] ? MISS_ABSENT : MISS_DISABLED;
    bool held = believed_info(o, file, now, &info_why), listed = false;
    const struct oracle_name *n = oracle_leading_name(o, file);
    int listing = n ? believed_listing(o, n->dir, now, &dir_why) : -1, entry = -1, alike, one;
    const struct oracle_listing *l = &o->listing[listing < 0 ? 0 : listing];
    if (listing >= 0) {
        entry = oracle_in_listing(l, n->spelling, &alike, &one);
        dir_why = MISS_ABSENT;
        listed = entry >= 0 && listed_attr_good(o, l, file, &l->attr[entry], now, &dir_why);
    }
    if (listed && (!held || l->order > f->info_order)) {
        answer(ret, 0, file, &l->attr[entry],
               l->sent + lesser(o->lifetime[OBSERVE_DIR], o->lifetime[OBSERVE_INFO]), -1);
        oracle_use(o, OBSERVE_DIR, n->dir);
        hit(o, OBSERVE_DIR);
    } else if (held) {
        answer(ret, 0, file, &f->attr, f->info_sent + o->lifetime[OBSERVE_INFO], -1);
        oracle_use(o, OBSERVE_INFO, file);
        hit(o, OBSERVE_INFO);
    } else {
        nothing(ret, CACHE_STAT);
        miss(o, OBSERVE_INFO, info_why);
        miss(o, OBSERVE_DIR, dir_why);
    }
}

int oracle_listing(struct oracle *o, int dir, uint64_t now)
{
    enum observe_miss why;
    int listing = believed_listing(o, dir, now, &why);
    if (listing < 0) {
        miss(o, OBSERVE_DIR, why);
        return -1;
    }
    hit(o, OBSERVE_DIR);
    oracle_use(o, OBSERVE_DIR, dir);
    return listing;
}

static int walk_down(struct oracle *o, int dir, int name, uint64_t now, int *ret_dir)
{
    enum observe_miss why;
    int listing = believed_listing(o, dir, now, &why);
    const struct oracle_listing *l = &o->listing[listing < 0 ? 0 : listing];
    int entry = listing < 0 ? CANNOT_TELL : means(o, l, name);
    if (entry == NOT_THERE || (entry >= 0 && !file_attr_is_dir(&l->attr[entry]))) {
        hit(o, OBSERVE_DIR);
        oracle_use(o, OBSERVE_DIR, dir);
        return entry == NOT_THERE ? -ENOENT : -ENOTDIR;
    }
    if (entry >= 0) {
        name = l->name[entry];
        oracle_bind(o, dir, name, &l->attr[entry], l->order);
    } else if (believed_negative(o, dir, name, now, &why) >= 0) {
        hit(o, OBSERVE_NOTFOUND);
        return -ENOENT;
    }
    const struct oracle_name *n = oracle_find_name(o, dir, name);
    if (n && !o->file[n->file].is_dir && n->confirmed &&
        oracle_valid(o, OBSERVE_INFO, n->sent, now) && believed_info(o, n->file, now, &why)) {
        hit(o, OBSERVE_INFO);
        oracle_use(o, OBSERVE_INFO, n->file);
        return -ENOTDIR;
    }
    *ret_dir = oracle_bind_directory(o, dir, name);
    return 0;
}

int oracle_walk(struct oracle *o, const int *components, int count, uint64_t now, int *ret_dir)
{
    int dir = ORACLE_ROOT;
    for (int i = 0; i < count; i++) {
        int r = walk_down(o, dir, components[i], now, &dir);
        if (r < 0)
            return r;
    }
    *ret_dir = dir;
    return 0;
}
