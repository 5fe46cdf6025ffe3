/* libfuse's low-level API, in the one version that this room is written for. */
#ifndef LARDER_MOUNT_FUSE_H
#define LARDER_MOUNT_FUSE_H

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#endif
