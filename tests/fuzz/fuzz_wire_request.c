/* What a server decodes: frames of requests. Input: the bytes behind the frame header. */
#include "fuzz.h"
#include "roundtrip.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    roundtrip_frame(data, size, REQUEST);
    return 0;
}
