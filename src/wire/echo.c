/*
 * The messages that say nothing but their own name: LOGOFF (2.2.7, 2.2.8), TREE_DISCONNECT (2.2.11,
 * 2.2.12), ECHO (2.2.28, 2.2.29), CANCEL (2.2.30).
 */
#include "wire/layout.h"

void wire_empty_encode(struct wr *w)
{
    wr_u16(w, 4);
    wr_u16(w, 0); /* Reserved */
}

int wire_empty_decode(struct rd msg)
{
    layout_size(&msg, 4);
    rd_skip(&msg, 2); /* Reserved */
    return layout_end(&msg);
}
