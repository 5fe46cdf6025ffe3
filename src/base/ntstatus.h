/* NTSTATUS codes (MS-ERREF 2.3.1): their names, and the errno that a program on Linux expects. */
#ifndef LARDER_BASE_NTSTATUS_H
#define LARDER_BASE_NTSTATUS_H

#include <stdbool.h>
#include <stdint.h>

enum {
    STATUS_SUCCESS = 0x00000000,
    STATUS_PENDING = 0x00000103,
    STATUS_NOTIFY_CLEANUP = 0x0000010b,
    STATUS_NOTIFY_ENUM_DIR = 0x0000010c,
    STATUS_BUFFER_OVERFLOW = (int)0x80000005,
    STATUS_NO_MORE_FILES = (int)0x80000006,
    STATUS_STOPPED_ON_SYMLINK = (int)0x8000002d,
    STATUS_UNSUCCESSFUL = (int)0xc0000001,
    STATUS_NOT_IMPLEMENTED = (int)0xc0000002,
    STATUS_INVALID_INFO_CLASS = (int)0xc0000003,
    STATUS_INVALID_HANDLE = (int)0xc0000008,
    STATUS_INVALID_PARAMETER = (int)0xc000000d,
    STATUS_NO_SUCH_FILE = (int)0xc000000f,
    STATUS_END_OF_FILE = (int)0xc0000011,
    STATUS_MORE_PROCESSING_REQUIRED = (int)0xc0000016,
    STATUS_NO_MEMORY = (int)0xc0000017,
    STATUS_ACCESS_DENIED = (int)0xc0000022,
    STATUS_BUFFER_TOO_SMALL = (int)0xc0000023,
    STATUS_OBJECT_NAME_INVALID = (int)0xc0000033,
    STATUS_OBJECT_NAME_NOT_FOUND = (int)0xc0000034,
    STATUS_OBJECT_NAME_COLLISION = (int)0xc0000035,
    STATUS_OBJECT_PATH_INVALID = (int)0xc0000039,
    STATUS_OBJECT_PATH_NOT_FOUND = (int)0xc000003a,
    STATUS_OBJECT_PATH_SYNTAX_BAD = (int)0xc000003b,
    STATUS_SHARING_VIOLATION = (int)0xc0000043,
    STATUS_DELETE_PENDING = (int)0xc0000056,
    STATUS_LOGON_FAILURE = (int)0xc000006d,
    STATUS_INSUFFICIENT_RESOURCES = (int)0xc000009a,
    STATUS_FILE_IS_A_DIRECTORY = (int)0xc00000ba,
    STATUS_NOT_SUPPORTED = (int)0xc00000bb,
    STATUS_NETWORK_NAME_DELETED = (int)0xc00000c9,
    STATUS_BAD_NETWORK_NAME = (int)0xc00000cc,
    STATUS_REQUEST_NOT_ACCEPTED = (int)0xc00000d0,
    STATUS_NOT_A_DIRECTORY = (int)0xc0000103,
    STATUS_TOO_MANY_OPENED_FILES = (int)0xc000011f,
    STATUS_CANCELLED = (int)0xc0000120,
    STATUS_FILE_CLOSED = (int)0xc0000128,
    STATUS_USER_SESSION_DELETED = (int)0xc0000203,
    STATUS_NETWORK_SESSION_EXPIRED = (int)0xc000035c,
};

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
