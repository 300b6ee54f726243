/* XXH3 of 64 bits, without a seed: the checksum of files. After the algorithm's public specification. */

#include "internal.h"

enum { STRIPE = 64, ACCUMULATORS = 8, SECRET_BYTES = 192, STEP = 8 };

static const uint8_t secret[SECRET_BYTES] = {
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c, 0xde, 0xd4, 0x6d, 0xe9,
    0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f, 0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78,
    0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21, 0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6,
    0x81, 0x3a, 0x26, 0x4c, 0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8, 0xa8, 0xfa, 0x76, 0x3f,
    0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d, 0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31,
    0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64, 0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff,
    0xfa, 0x13, 0x63, 0xeb, 0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce, 0x45, 0xcb, 0x3a, 0x8f,
    0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
};
static const uint64_t P32_1 = 0x9E3779B1, P32_2 = 0x85EBCA77, P32_3 = 0xC2B2AE3D, P1 = 0x9E3779B185EBCA87,
                      P2 = 0xC2B2AE3D27D4EB4F, P3 = 0x165667B19E3779F9, P4 = 0x85EBCA77C2B2AE63, P5 = 0x27D4EB2F165667C5,
                      MX1 = 0x165667919E3779F9, MX2 = 0x9FB21C651E98DF25;

static inline uint64_t read64(const uint8_t *p) {
    uint64_t value;
    memcpy(&value, p, 8);
    return value;
}

static inline uint64_t read32(const uint8_t *p) {
    uint32_t value;
    memcpy(&value, p, 4);
    return value;
}

static inline uint64_t rotated(uint64_t x, int n) {
    return x << n | x >> (64 - n);
}

/* Both halves of a product of 128 bits, one xor the other. */
static inline uint64_t folded(uint64_t a, uint64_t b) {
    uint64_t low = (a & 0xffffffff) * (b & 0xffffffff), one = (a >> 32) * (b & 0xffffffff), other = (a & 0xffffffff) * (b >> 32);
    uint64_t middle = (low >> 32) + (one & 0xffffffff) + other, high = (one >> 32) + (middle >> 32) + (a >> 32) * (b >> 32);
    return (middle << 32 | (low & 0xffffffff)) ^ high;
}

static inline uint64_t avalanche(uint64_t h) {
    h = (h ^ h >> 37) * MX1;
    return h ^ h >> 32;
}

static inline uint64_t avalanche64(uint64_t h) {
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}

static inline uint64_t mix16(const uint8_t *p, const uint8_t *key) {
    return folded(read64(p) ^ read64(key), read64(p + 8) ^ read64(key + 8));
}

static uint64_t of_few(const uint8_t *p, uint64_t n) {
    if (n > 8) {
        uint64_t low = read64(p) ^ (read64(secret + 24) ^ read64(secret + 32));
        uint64_t high = read64(p + n - 8) ^ (read64(secret + 40) ^ read64(secret + 48));
        return avalanche(n + __builtin_bswap64(low) + high + folded(low, high));
    }
    if (n >= 4) {
        uint64_t h = read32(p + n - 4) + (read32(p) << 32);
        h ^= read64(secret + 8) ^ read64(secret + 16);
        h ^= rotated(h, 49) ^ rotated(h, 24);
        h *= MX2;
        h = (h ^ ((h >> 35) + n)) * MX2;
        return h ^ h >> 28;
    }
    if (n)
        return avalanche64(
            ((uint64_t)p[0] << 16 | (uint64_t)p[n >> 1] << 24 | p[n - 1] | n << 8) ^ (read32(secret) ^ read32(secret + 4)));
    return avalanche64(read64(secret + 56) ^ read64(secret + 64));
}

static uint64_t of_some(const uint8_t *p, uint64_t n) {
    uint64_t h = n * P1;
    if (n <= 128) {
        for (int64_t i = (int64_t)(n - 1) / 32; i >= 0; i--)
            h += mix16(p + 16 * i, secret + 32 * i) + mix16(p + n - 16 * (i + 1), secret + 32 * i + 16);
        return avalanche(h);
    }
    for (int i = 0; i < 8; i++)
        h += mix16(p + 16 * i, secret + 16 * i);
    h = avalanche(h);
    for (uint64_t i = 8; i < n / 16; i++)
        h += mix16(p + 16 * i, secret + 16 * (i - 8) + 3);
    return avalanche(h + mix16(p + n - 16, secret + 136 - 17));
}

static inline void accumulate(uint64_t *acc, const uint8_t *p, const uint8_t *key) {
    for (int i = 0; i < ACCUMULATORS; i++) {
        uint64_t value = read64(p + 8 * i), keyed = value ^ read64(key + 8 * i);
        acc[i ^ 1] += value;
        acc[i] += (keyed & 0xffffffff) * (keyed >> 32);
    }
}

uint64_t gapgram_xxh3(const void *data, uint64_t n) {
    const uint8_t *p = data;
    if (n <= 16)
        return of_few(p, n);
    if (n <= 240)
        return of_some(p, n);
    enum { STRIPES = (SECRET_BYTES - STRIPE) / STEP, BLOCK = STRIPES * STRIPE };
    uint64_t acc[ACCUMULATORS] = {P32_3, P1, P2, P3, P4, P32_2, P5, P32_1}, blocks = (n - 1) / BLOCK, at = 0;
    for (uint64_t block = 0; block < blocks; block++) {
        for (int i = 0; i < STRIPES; i++, at += STRIPE)
            accumulate(acc, p + at, secret + STEP * i);
        for (int i = 0; i < ACCUMULATORS; i++)
            acc[i] = (acc[i] ^ acc[i] >> 47 ^ read64(secret + SECRET_BYTES - STRIPE + 8 * i)) * P32_1;
    }
    for (uint64_t i = 0, left = (n - 1 - at) / STRIPE; i < left; i++, at += STRIPE)
        accumulate(acc, p + at, secret + STEP * i);
    accumulate(acc, p + n - STRIPE, secret + SECRET_BYTES - STRIPE - 7);
    uint64_t h = n * P1;
    for (int i = 0; i < 4; i++)
        h += folded(acc[2 * i] ^ read64(secret + 11 + 16 * i), acc[2 * i + 1] ^ read64(secret + 19 + 16 * i));
    return avalanche(h);
}
