/* NTSTATUS codes (MS-ERREF 2.3.1): their names, and the errno that a program on Linux expects. */
#ifndef LARDER_BASE_NTSTATUS_H
#define LARDER_BASE_NTSTATUS_H

#include <stdbool.h>
#include <stdint.h>

/* The ones that the code speaks of; macros, since an enum constant would be a negative int. */
#define STATUS_SUCCESS                  0x00000000u
#define STATUS_PENDING                  0x00000103u
#define STATUS_NOTIFY_CLEANUP           0x0000010bu
#define STATUS_NOTIFY_ENUM_DIR          0x0000010cu
#define STATUS_BUFFER_OVERFLOW          0x80000005u
#define STATUS_NO_MORE_FILES            0x80000006u
#define STATUS_STOPPED_ON_SYMLINK       0x8000002du
#define STATUS_UNSUCCESSFUL             0xc0000001u
#define STATUS_NOT_IMPLEMENTED          0xc0000002u
#define STATUS_INVALID_INFO_CLASS       0xc0000003u
#define STATUS_INVALID_HANDLE           0xc0000008u
#define STATUS_INVALID_PARAMETER        0xc000000du
#define STATUS_NO_SUCH_FILE             0xc000000fu
#define STATUS_INVALID_DEVICE_REQUEST   0xc0000010u
#define STATUS_END_OF_FILE              0xc0000011u
#define STATUS_MORE_PROCESSING_REQUIRED 0xc0000016u
#define STATUS_NO_MEMORY                0xc0000017u
#define STATUS_INVALID_VIEW_SIZE        0xc000001fu
#define STATUS_ACCESS_DENIED            0xc0000022u
#define STATUS_BUFFER_TOO_SMALL         0xc0000023u
#define STATUS_OBJECT_NAME_INVALID      0xc0000033u
#define STATUS_OBJECT_NAME_NOT_FOUND    0xc0000034u
#define STATUS_OBJECT_NAME_COLLISION    0xc0000035u
#define STATUS_OBJECT_PATH_INVALID      0xc0000039u
#define STATUS_OBJECT_PATH_NOT_FOUND    0xc000003au
#define STATUS_OBJECT_PATH_SYNTAX_BAD   0xc000003bu
#define STATUS_SHARING_VIOLATION        0xc0000043u
#define STATUS_QUOTA_EXCEEDED           0xc0000044u
#define STATUS_FILE_LOCK_CONFLICT       0xc0000054u
#define STATUS_LOCK_NOT_GRANTED         0xc0000055u
#define STATUS_DELETE_PENDING           0xc0000056u
#define STATUS_NO_LOGON_SERVERS         0xc000005eu
#define STATUS_NO_SUCH_USER             0xc0000064u
#define STATUS_WRONG_PASSWORD           0xc000006au
#define STATUS_LOGON_FAILURE            0xc000006du
#define STATUS_ACCOUNT_RESTRICTION      0xc000006eu
#define STATUS_INVALID_LOGON_HOURS      0xc000006fu
#define STATUS_INVALID_WORKSTATION      0xc0000070u
#define STATUS_PASSWORD_EXPIRED         0xc0000071u
#define STATUS_ACCOUNT_DISABLED         0xc0000072u
#define STATUS_RANGE_NOT_LOCKED         0xc000007eu
#define STATUS_DISK_FULL                0xc000007fu
#define STATUS_INSUFFICIENT_RESOURCES   0xc000009au
#define STATUS_MEDIA_WRITE_PROTECTED    0xc00000a2u
#define STATUS_FILE_IS_A_DIRECTORY      0xc00000bau
#define STATUS_NOT_SUPPORTED            0xc00000bbu
#define STATUS_NETWORK_NAME_DELETED     0xc00000c9u
#define STATUS_BAD_NETWORK_NAME         0xc00000ccu
#define STATUS_REQUEST_NOT_ACCEPTED     0xc00000d0u
#define STATUS_NOT_SAME_DEVICE          0xc00000d4u
#define STATUS_DIRECTORY_NOT_EMPTY      0xc0000101u
#define STATUS_NOT_A_DIRECTORY          0xc0000103u
#define STATUS_NAME_TOO_LONG            0xc0000106u
#define STATUS_TOO_MANY_OPENED_FILES    0xc000011fu
#define STATUS_CANCELLED                0xc0000120u
#define STATUS_CANNOT_DELETE            0xc0000121u
#define STATUS_FILE_CLOSED              0xc0000128u
#define STATUS_TIME_DIFFERENCE_AT_DC    0xc0000133u
#define STATUS_LOGON_TYPE_NOT_GRANTED   0xc000015bu
#define STATUS_ACCOUNT_EXPIRED          0xc0000193u
#define STATUS_FS_DRIVER_REQUIRED       0xc000019cu
#define STATUS_INVALID_LOCK_RANGE       0xc00001a1u
#define STATUS_USER_SESSION_DELETED     0xc0000203u
#define STATUS_PASSWORD_MUST_CHANGE     0xc0000224u
#define STATUS_ACCOUNT_LOCKED_OUT       0xc0000234u
#define STATUS_USER_MAPPED_FILE         0xc0000243u
#define STATUS_TOO_MANY_LINKS           0xc0000265u
#define STATUS_NOT_A_REPARSE_POINT      0xc0000275u
#define STATUS_NETWORK_SESSION_EXPIRED  0xc000035cu
#define STATUS_NTLM_BLOCKED             0xc0000418u
#define STATUS_DISK_QUOTA_EXCEEDED      0xc0000802u
#define STATUS_FILE_TOO_LARGE           0xc0000904u

/* "STATUS_OBJECT_NAME_NOT_FOUND", or NULL for a code that has no name here. */
const char *ntstatus_name(uint32_t status);

/* The negative errno for a status; 0 for the success and information classes, -EIO for the unknown.
 */
int ntstatus_errno(uint32_t status);

/* Severity error or warning (MS-ERREF 2.3). */
static inline bool ntstatus_failed(uint32_t status)
{
    return (status >> 30) == 3;
}

#endif
