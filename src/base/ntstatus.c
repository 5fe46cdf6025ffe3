/* Names by binary search in the table of MS-ERREF; errnos for the statuses that file servers use.
 */
#include "base/ntstatus.h"

#include <errno.h>
#include <stddef.h>

static const struct {
    uint32_t status;
    const char *name;
} names[] = {
#include "base/ntstatus_names.inc"
};

static const struct {
    uint32_t status;
    int code;
} errnos[] = {
    {STATUS_NO_SUCH_FILE, -ENOENT},
    {STATUS_OBJECT_NAME_NOT_FOUND, -ENOENT},
    {STATUS_OBJECT_PATH_NOT_FOUND, -ENOENT},
    {STATUS_OBJECT_NAME_INVALID, -ENOENT}, /* no such name can exist there */
    {STATUS_OBJECT_PATH_INVALID, -ENOTDIR},
    {STATUS_OBJECT_PATH_SYNTAX_BAD, -ENOENT},
    {STATUS_DELETE_PENDING, -ENOENT},
    {STATUS_BAD_NETWORK_NAME, -ENOENT},
    {STATUS_OBJECT_NAME_COLLISION, -EEXIST},
    {STATUS_NOT_A_DIRECTORY, -ENOTDIR},
    {STATUS_FILE_IS_A_DIRECTORY, -EISDIR},
    {STATUS_ACCESS_DENIED, -EACCES},
    {STATUS_LOGON_FAILURE, -EACCES},
    {STATUS_NO_LOGON_SERVERS, -EHOSTUNREACH},
    {STATUS_NO_SUCH_USER, -EACCES},
    {STATUS_WRONG_PASSWORD, -EACCES},
    {STATUS_ACCOUNT_RESTRICTION, -EACCES},
    {STATUS_INVALID_LOGON_HOURS, -EACCES},
    {STATUS_INVALID_WORKSTATION, -EACCES},
    {STATUS_PASSWORD_EXPIRED, -EKEYEXPIRED},
    {STATUS_PASSWORD_MUST_CHANGE, -EKEYEXPIRED},
    {STATUS_ACCOUNT_DISABLED, -EACCES},
    {STATUS_ACCOUNT_EXPIRED, -EKEYEXPIRED},
    {STATUS_ACCOUNT_LOCKED_OUT, -EACCES},
    {STATUS_TIME_DIFFERENCE_AT_DC, -EACCES},
    {STATUS_LOGON_TYPE_NOT_GRANTED, -EACCES},
    {STATUS_NTLM_BLOCKED, -EACCES},
    {0xc0000061, -EPERM},               /* PRIVILEGE_NOT_HELD */
    {STATUS_CANNOT_DELETE, -EACCES},    /* it is read-only, or in use as a program */
    {STATUS_SHARING_VIOLATION, -EBUSY}, /* as cifs.ko has it: ETXTBSY would claim a program */
    {STATUS_USER_MAPPED_FILE, -EBUSY},
    {STATUS_FILE_LOCK_CONFLICT, -EAGAIN},
    {STATUS_LOCK_NOT_GRANTED, -EAGAIN},
    {STATUS_RANGE_NOT_LOCKED, -EINVAL},
    {STATUS_INVALID_LOCK_RANGE, -EINVAL},
    {STATUS_DISK_FULL, -ENOSPC},
    {STATUS_QUOTA_EXCEEDED, -EDQUOT},
    {STATUS_DISK_QUOTA_EXCEEDED, -EDQUOT},
    {STATUS_DIRECTORY_NOT_EMPTY, -ENOTEMPTY},
    {STATUS_MEDIA_WRITE_PROTECTED, -EROFS},
    {STATUS_NOT_SAME_DEVICE, -EXDEV},
    {STATUS_NAME_TOO_LONG, -ENAMETOOLONG},
    {STATUS_FILE_TOO_LARGE, -EFBIG},
    {STATUS_TOO_MANY_LINKS, -EMLINK},
    {STATUS_NOT_A_REPARSE_POINT, -EINVAL},
    {STATUS_INSUFFICIENT_RESOURCES, -EAGAIN}, /* of the moment: as cifs.ko */
    {STATUS_TOO_MANY_OPENED_FILES, -EMFILE},
    {STATUS_NO_MEMORY, -ENOMEM},
    {STATUS_INVALID_PARAMETER, -EINVAL},
    {STATUS_INVALID_HANDLE, -EBADF},
    {STATUS_FILE_CLOSED, -EBADF},
    {STATUS_NOT_SUPPORTED, -EOPNOTSUPP},
    {STATUS_NOT_IMPLEMENTED, -EOPNOTSUPP},
    {STATUS_INVALID_INFO_CLASS, -EOPNOTSUPP},
    {STATUS_INVALID_DEVICE_REQUEST, -EOPNOTSUPP}, /* a control code that it does not know */
    {STATUS_FS_DRIVER_REQUIRED, -EOPNOTSUPP},     /* the same, in other words */
    {STATUS_CANCELLED, -ECANCELED},
    {STATUS_REQUEST_NOT_ACCEPTED, -EBUSY},
    {STATUS_NETWORK_NAME_DELETED, -ENOTCONN},
    {STATUS_USER_SESSION_DELETED, -ENOTCONN},
    {STATUS_NETWORK_SESSION_EXPIRED, -EKEYEXPIRED},
    {STATUS_STOPPED_ON_SYMLINK, -ELOOP},
};

const char *ntstatus_name(uint32_t status)
{
    size_t low = 0, high = sizeof names / sizeof names[0];
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (names[mid].status == status)
            return names[mid].name;
        if (names[mid].status < status)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

int ntstatus_errno(uint32_t status)
{
    for (size_t i = 0; i < sizeof errnos / sizeof errnos[0]; i++)
        if (errnos[i].status == status)
            return errnos[i].code;
    return ntstatus_failed(status) ? -EIO : 0;
}
