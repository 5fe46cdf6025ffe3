/*
 * Who keeps answers of ours is told when they are not to be believed any more (share.h). Nobody has
 * to listen: a share that is used by a tool alone has no listener.
 */
#include "share/internal.h"

void share_listen(struct share *s, const struct share_listener *listener)
{
    pthread_mutex_lock(&s->lock);
    s->listener = listener ? *listener : (struct share_listener){0};
    pthread_mutex_unlock(&s->lock);
}

void tell_name(struct share *s, const struct cache_file *dir, const char *name, size_t len)
{
    if (s->listener.name_changed)
        s->listener.name_changed(s->listener.user, dir, name, len);
}

void tell_names(struct share *s, const struct cache_file *dir)
{
    if (s->listener.names_changed)
        s->listener.names_changed(s->listener.user, dir);
}

void tell_node(struct share *s, const struct cache_file *f)
{
    if (s->listener.node_changed)
        s->listener.node_changed(s->listener.user, f);
}

void tell_aged(struct share *s, const struct cache_file *f)
{
    if (s->listener.node_aged)
        s->listener.node_aged(s->listener.user, f);
}

void tell_all(struct share *s)
{
    if (s->listener.all_changed)
        s->listener.all_changed(s->listener.user);
}
