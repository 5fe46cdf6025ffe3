/*
 * The words of this room: commands as MS-SMB2 2.2.1 spells them, caches, miss reasons, events and
 * their classes. They appear in JSON and in event lines, so a name that was once given stays.
 */
#include "observe/events.h"
#include "observe/observe.h"

const char *observe_command_name(unsigned command)
{
    static const char *const names[OBSERVE_COMMANDS] = {
        "NEGOTIATE",     "SESSION_SETUP", "LOGOFF",   "TREE_CONNECT", "TREE_DISCONNECT",
        "CREATE",        "CLOSE",         "FLUSH",    "READ",         "WRITE",
        "LOCK",          "IOCTL",         "CANCEL",   "ECHO",         "QUERY_DIRECTORY",
        "CHANGE_NOTIFY", "QUERY_INFO",    "SET_INFO", "OPLOCK_BREAK",
    };
    return command < OBSERVE_COMMANDS ? names[command] : "UNKNOWN";
}

const char *observe_cache_name(enum observe_cache c)
{
    static const char *const names[OBSERVE_CACHES] = {
        [OBSERVE_DIR] = "dir",
        [OBSERVE_INFO] = "info",
        [OBSERVE_NOTFOUND] = "notfound",
    };
    return names[c];
}

const char *observe_miss_name(enum observe_miss m)
{
    static const char *const names[OBSERVE_MISSES] = {
        [MISS_ABSENT] = "absent",     [MISS_EXPIRED] = "expired", [MISS_BROKEN] = "broken",
        [MISS_CHANGED] = "changed",   [MISS_EVICTED] = "evicted", [MISS_TOO_LARGE] = "too-large",
        [MISS_PARTIAL] = "partial",   [MISS_CASE] = "case",       [MISS_INTENT] = "intent",
        [MISS_DISABLED] = "disabled", [MISS_DROPPED] = "dropped",
    };
    return names[m];
}

const char *observe_trust_name(enum observe_trust t)
{
    static const char *const names[OBSERVE_TRUSTS] = {
        [TRUST_TIME] = "time", [TRUST_LEASE] = "lease", [TRUST_WATCH] = "watch"};
    return names[t];
}

const char *observe_class_name(enum observe_class c)
{
    static const char *const names[OBSERVE_CLASSES] = {
        [CLASS_FILE] = "file",
        [CLASS_DIR] = "dir",
        [CLASS_PERFORMANCE] = "performance",
        [CLASS_PROMISE] = "promise",
        [CLASS_NETWORK] = "network",
    };
    return names[c];
}

const char *observe_event_name(enum observe_event e)
{
    switch (e) {
    case EVENT_UPDATE_INFO:
        return "SmbUpdateInfoCache";
    case EVENT_FETCH_INFO:
        return "SmbFetchInfoCache";
    case EVENT_INVALIDATE_INFO:
        return "SmbInvalidateInfoCache";
    case EVENT_UPDATE_NOTFOUND:
        return "SmbUpdateFNFCache";
    case EVENT_FETCH_NOTFOUND:
        return "SmbFetchFNFCache";
    case EVENT_INVALIDATE_NOTFOUND:
        return "SmbInvalidateFNFCache";
    case EVENT_POPULATE_DIR:
        return "SmbPopulateDirCache";
    case EVENT_FETCH_DIR:
        return "SmbFetchDirCache";
    case EVENT_INVALIDATE_DIR:
        return "SmbInvalidateDirCache";
    case EVENT_PATCH_DIR:
        return "SmbPatchDirCache";
    case EVENT_PATCH_INFO:
        return "SmbPatchInfoCache";
    case EVENT_PATCH_NOTFOUND:
        return "SmbPatchFNFCache";
    case EVENT_LEASE:
        return "SmbGrantLease";
    case EVENT_LEASE_BREAK:
        return "SmbBreakLease";
    case EVENT_LEASE_ACK:
        return "SmbAcknowledgeLease";
    case EVENT_NOTICE:
        return "SmbChangeNotice";
    case EVENT_SESSION_LOST:
        return "SmbSessionLost";
    case EVENT_SESSION_BACK:
        return "SmbSessionReestablished";
    case EVENT_PERF:
        return "Smb2PerfBufferContext";
    case EVENT_PERF_READ:
        return "Smb2PerfBufferContextReadSummary";
    case EVENT_PERF_WRITE:
        return "Smb2PerfBufferContextWriteSummary";
    case EVENT_PERF_CREATE:
        return "Smb2PerfBufferContextCreateSummary";
    case EVENT_PERF_CLOSE:
        return "Smb2PerfBufferContextCloseSummary";
    case EVENT_PERF_QUERY_DIRECTORY:
        return "Smb2PerfBufferContextQueryDirectorySummary";
    case EVENT_PERF_FSCTL:
        return "Smb2PerfBufferContextFsctlSummary";
    }
    return "Unknown";
}

const char *observe_network_name(enum observe_network what)
{
    static const char *const names[OBSERVE_NETWORKS] = {
        [OBSERVE_LOST] = "lost",       [OBSERVE_RECONNECTED] = "reconnected",
        [OBSERVE_DURABLE] = "durable", [OBSERVE_REOPENED] = "reopened",
        [OBSERVE_DEAD] = "dead",       [OBSERVE_REPEATED] = "repeated",
    };
    return names[what];
}
