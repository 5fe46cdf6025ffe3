/*
 * The FileId inside a request that has been encoded already.
 *
 * A request that is sent once more on another session names its open by another FileId; nothing
 * else of it changes. The places are those of the fixed parts: 2.2.15, 2.2.17, 2.2.19, 2.2.21,
 * 2.2.26, 2.2.31, 2.2.33, 2.2.35, 2.2.37, 2.2.39.
 */
#include "wire/layout.h"

static const uint8_t places[SMB2_OPLOCK_BREAK + 1] = {
    [SMB2_CLOSE] = 8,           [SMB2_FLUSH] = 8,         [SMB2_READ] = 16,
    [SMB2_WRITE] = 16,          [SMB2_LOCK] = 8,          [SMB2_IOCTL] = 8,
    [SMB2_QUERY_DIRECTORY] = 8, [SMB2_CHANGE_NOTIFY] = 8, [SMB2_QUERY_INFO] = 24,
    [SMB2_SET_INFO] = 16,
};

bool wire_file_id_replace(uint16_t command, uint8_t *body, size_t len, struct wire_file_id id)
{
    enum { SIZE = 16 };
    size_t at = command < sizeof places ? places[command] : 0;
    if (at == 0 || len < at + SIZE)
        return false;
    struct wr w = wr_init(body + at, SIZE);
    layout_put_file_id(&w, id);
    return true;
}
