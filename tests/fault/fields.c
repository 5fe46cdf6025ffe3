/*
 * One table a layout; what varies in length is walked, as far as the reply's first bytes are
 * remembered: the entries of a listing by their own offsets, everything else in words of four
 * bytes.
 *
 * A field is the answer itself where the server alone knows what is true: a status, a size, a time,
 * a name, a byte of a file, and the lengths and offsets that say which bytes of the reply those
 * are. Everything else leads to it, and may not change it.
 */
#include "tests/fault/fields.h"

#include "base/ntstatus.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

static const struct field header[] = {
    {"ProtocolId", 0, 4}, {"HeaderSize", 4, 2},  {"CreditCharge", 6, 2}, {"Status", 8, 4, true},
    {"Command", 12, 2},   {"Credits", 14, 2},    {"Flags", 16, 4},       {"NextCommand", 20, 4},
    {"MessageId", 24, 8}, {"Reserved", 32, 4},   {"TreeId", 36, 4},      {"SessionId", 40, 8},
    {"Signature", 48, 8}, {"Signature2", 56, 8},
};
static const struct field error[] = {
    {"StructureSize", 64, 2}, {"ErrorContextCount", 66, 1}, {"Reserved", 67, 1},
    {"ByteCount", 68, 4},     {"ErrorData", 72, 1},
};
static const struct field negotiate[] = {
    {"StructureSize", 64, 2},   {"SecurityMode", 66, 2},    {"DialectRevision", 68, 2},
    {"ContextCount", 70, 2},    {"ServerGuid", 72, 8},      {"ServerGuid2", 80, 8},
    {"Capabilities", 88, 4},    {"MaxTransactSize", 92, 4}, {"MaxReadSize", 96, 4},
    {"MaxWriteSize", 100, 4},   {"SystemTime", 104, 8},     {"ServerStartTime", 112, 8},
    {"SecurityOffset", 120, 2}, {"SecurityLength", 122, 2}, {"ContextOffset", 124, 4},
};
static const struct field session_setup[] = {
    {"StructureSize", 64, 2},
    {"SessionFlags", 66, 2},
    {"SecurityOffset", 68, 2},
    {"SecurityLength", 70, 2},
};
static const struct field tree_connect[] = {
    {"StructureSize", 64, 2}, {"ShareType", 66, 1, true}, {"Reserved", 67, 1},
    {"ShareFlags", 68, 4},    {"Capabilities", 72, 4},    {"MaximalAccess", 76, 4},
};
static const struct field create[] = {
    {"StructureSize", 64, 2},
    {"OplockLevel", 66, 1},
    {"Flags", 67, 1},
    {"CreateAction", 68, 4, true},
    {"CreationTime", 72, 8, true},
    {"LastAccessTime", 80, 8, true},
    {"LastWriteTime", 88, 8, true},
    {"ChangeTime", 96, 8, true},
    {"AllocationSize", 104, 8, true},
    {"EndofFile", 112, 8, true},
    {"FileAttributes", 120, 4, true},
    {"Reserved2", 124, 4},
    {"FileId", 128, 8},
    {"FileId2", 136, 8},
    {"ContextsOffset", 144, 4},
    {"ContextsLength", 148, 4},
};
static const struct field close_[] = {
    {"StructureSize", 64, 2},
    {"Flags", 66, 2},
    {"Reserved", 68, 4},
    {"CreationTime", 72, 8, true},
    {"LastAccessTime", 80, 8, true},
    {"LastWriteTime", 88, 8, true},
    {"ChangeTime", 96, 8, true},
    {"AllocationSize", 104, 8, true},
    {"EndofFile", 112, 8, true},
    {"FileAttributes", 120, 4, true},
};
static const struct field empty[] = {{"StructureSize", 64, 2}, {"Reserved", 66, 2}};
static const struct field read_[] = {
    {"StructureSize", 64, 2},    {"DataOffset", 66, 1, true}, {"Reserved", 67, 1},
    {"DataLength", 68, 4, true}, {"DataRemaining", 72, 4},    {"Flags", 76, 4},
};
static const struct field write_[] = {
    {"StructureSize", 64, 2}, {"Reserved", 66, 2},          {"Count", 68, 4, true},
    {"Remaining", 72, 4},     {"ChannelInfoOffset", 76, 2}, {"ChannelInfoLength", 78, 2},
};
static const struct field ioctl_[] = {
    {"StructureSize", 64, 2}, {"Reserved", 66, 2},     {"CtlCode", 68, 4},
    {"FileId", 72, 8},        {"FileId2", 80, 8},      {"InputOffset", 88, 4},
    {"InputCount", 92, 4},    {"OutputOffset", 96, 4}, {"OutputCount", 100, 4},
    {"Flags", 104, 4},        {"Reserved2", 108, 4},
};
static const struct field buffer[] = {
    {"StructureSize", 64, 2},
    {"OutputBufferOffset", 66, 2, true},
    {"OutputBufferLength", 68, 4, true},
};
static const struct field set_info[] = {{"StructureSize", 64, 2}};
/* FileIdBothDirectoryInformation: [MS-FSCC] 2.4.22 */
static const struct field entry[] = {
    {"NextEntryOffset", 0, 4, true},
    {"FileIndex", 4, 4},
    {"CreationTime", 8, 8, true},
    {"LastAccessTime", 16, 8, true},
    {"LastWriteTime", 24, 8, true},
    {"ChangeTime", 32, 8, true},
    {"EndOfFile", 40, 8, true},
    {"AllocationSize", 48, 8, true},
    {"FileAttributes", 56, 4, true},
    {"FileNameLength", 60, 4, true},
    {"EaSize", 64, 4, true},
    {"ShortNameLength", 68, 1},
    {"Reserved1", 69, 1},
    {"ShortName", 70, 8},
    {"Reserved2", 94, 2},
    {"FileId", 96, 8, true},
    {"FileName", 104, 2, true},
};

static const struct {
    const struct field *fields;
    size_t count;
    unsigned rest; /* where what varies begins; 0: nothing does */
    bool rest_is_answer;
} layouts[SMB2_COMMANDS] = {
    [SMB2_NEGOTIATE] = {negotiate, COUNT(negotiate), 128},
    [SMB2_SESSION_SETUP] = {session_setup, COUNT(session_setup), 72},
    [SMB2_LOGOFF] = {empty, COUNT(empty)},
    [SMB2_TREE_CONNECT] = {tree_connect, COUNT(tree_connect)},
    [SMB2_TREE_DISCONNECT] = {empty, COUNT(empty)},
    [SMB2_CREATE] = {create, COUNT(create), 152, true},
    [SMB2_CLOSE] = {close_, COUNT(close_)},
    [SMB2_FLUSH] = {empty, COUNT(empty)},
    [SMB2_READ] = {read_, COUNT(read_), 80, true},
    [SMB2_WRITE] = {write_, COUNT(write_)},
    [SMB2_LOCK] = {empty, COUNT(empty)},
    [SMB2_IOCTL] = {ioctl_, COUNT(ioctl_), 112, true},
    [SMB2_ECHO] = {empty, COUNT(empty)},
    [SMB2_QUERY_DIRECTORY] = {buffer, COUNT(buffer)}, /* its entries: see below */
    [SMB2_QUERY_INFO] = {buffer, COUNT(buffer), 72, true},
    [SMB2_SET_INFO] = {set_info, COUNT(set_info)},
};

struct list {
    const struct server_reply *reply;
    struct field *fields;
    unsigned count;
};

static size_t remembered(const struct server_reply *r)
{
    return r->len < sizeof(r->head) ? r->len : sizeof(r->head);
}

static void add(struct list *l, const struct field *fields, size_t count, unsigned base)
{
    for (size_t i = 0; i < count && l->count < FIELDS_MAX; i++) {
        struct field f = fields[i];
        f.offset += base;
        if (f.offset + f.width <= remembered(l->reply))
            l->fields[l->count++] = f;
    }
}

/* Every word of a token; else the first twelve one by one, then every eighth. */
static void add_words(struct list *l, unsigned from, bool is_answer)
{
    size_t end = remembered(l->reply);
    bool all = l->reply->command == SMB2_SESSION_SETUP;
    for (unsigned i = 0, at = from; at + 4 <= end; at += all || i++ < 12 ? 4 : 32)
        add(l, &(struct field){"Buffer", at, 4, is_answer}, 1, 0);
}

static void add_entries(struct list *l)
{
    struct rd r = rd_init(l->reply->head, remembered(l->reply));
    uint32_t next = 72;
    for (unsigned n = 0, at = 72; n < 4 && next; n++) {
        add(l, entry, COUNT(entry), at);
        r.pos = at;
        next = rd_u32(&r);
        at += next;
        if (!rd_ok(&r) || next > r.len || at + 104 > r.len)
            return;
    }
}

unsigned fields_of(const struct server_reply *r, struct field ret[static FIELDS_MAX])
{
    struct list l = {.reply = r, .fields = ret};
    add(&l, header, COUNT(header), 0);
    if (!wire_has_body(r->command, r->status)) {
        add(&l, error, COUNT(error), 0);
        return l.count;
    }
    add(&l, layouts[r->command].fields, layouts[r->command].count, 0);
    if (layouts[r->command].rest)
        add_words(&l, layouts[r->command].rest, layouts[r->command].rest_is_answer);
    if (r->command == SMB2_QUERY_DIRECTORY)
        add_entries(&l);
    return l.count;
}
