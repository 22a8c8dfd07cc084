/* npz_layout.h -- the records of a zip archive, for npz_*.c alone.
 *
 * Offsets of fields within a record; u16, u32 and u64 are little-endian.
 * Numbers in brackets are sections of APPNOTE.TXT 6.3.10.
 */
#ifndef NPZ_LAYOUT_H
#define NPZ_LAYOUT_H

#include <stdint.h>

#define ZIP_LOCAL     UINT32_C(0x04034b50)      /* signatures: "PK" and two bytes */
#define ZIP_CENTRAL   UINT32_C(0x02014b50)
#define ZIP_END       UINT32_C(0x06054b50)
#define ZIP_END64     UINT32_C(0x06064b50)
#define ZIP_LOCATOR   UINT32_C(0x07064b50)
#define ZIP_IN_64     UINT32_C(0xFFFFFFFF)      /* the value stands in a 64-bit field */
#define ZIP_IN_64_U16 UINT32_C(0xFFFF)

enum {
    /* local header (4.3.7) */
    LOCAL_FLAGS = 6, LOCAL_METHOD = 8, LOCAL_CRC = 14, LOCAL_PACKED = 18, LOCAL_SIZE = 22,
    LOCAL_NAME = 26, LOCAL_EXTRA = 28, LOCAL_BYTES = 30,
    /* entry of the central directory (4.3.12) */
    CENTRAL_FLAGS = 8, CENTRAL_METHOD = 10, CENTRAL_CRC = 16, CENTRAL_PACKED = 20,
    CENTRAL_SIZE = 24, CENTRAL_NAME = 28, CENTRAL_EXTRA = 30, CENTRAL_COMMENT = 32,
    CENTRAL_DISK = 34, CENTRAL_LOCAL = 42, CENTRAL_BYTES = 46,
    /* end of the central directory (4.3.16) */
    END_DISK = 4, END_DISK_CD = 6, END_HERE = 8, END_COUNT = 10, END_SIZE = 12, END_OFFSET = 16,
    END_COMMENT = 20, END_BYTES = 22,
    /* the same in 64 bits (4.3.14), and where it is (4.3.15) */
    END64_LENGTH = 4, END64_DISK = 16, END64_DISK_CD = 20, END64_HERE = 24, END64_COUNT = 32,
    END64_SIZE = 40, END64_OFFSET = 48, END64_BYTES = 56,
    LOCATOR_DISK = 4, LOCATOR_OFFSET = 8, LOCATOR_DISKS = 16, LOCATOR_BYTES = 20,
    /* extra field: id, length, what follows; of zip64 (4.5.3) those values that
     * are ZIP_IN_64 where they belong: size, packed size, place */
    EXTRA_ZIP64 = 1, EXTRA_HEAD = 4,
    /* flags (4.4.4) */
    FLAG_ENCRYPTED = 1, FLAG_SIZES_BEHIND = 8, FLAG_PATCH = 0x20, FLAG_STRONG = 0x40,
    FLAG_UTF8 = 0x800, FLAG_MASKED = 0x2000,
    METHOD_STORED = 0, METHOD_DEFLATED = 8
};

static inline uint32_t zip_u16(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t zip_u32(const unsigned char *p)
{
    return zip_u16(p) | zip_u16(p + 2) << 16;
}

static inline uint64_t zip_u64(const unsigned char *p)
{
    return (uint64_t)zip_u32(p) | (uint64_t)zip_u32(p + 4) << 32;
}

static inline void zip_put(unsigned char *p, uint64_t value, int nbytes)
{
    for (int i = 0; i < nbytes; i++) p[i] = (unsigned char)(value >> 8 * i & 0xFF);
}

#endif
