/* Powers of two: histograms and moments. */
#pragma once
#include "kernel.h"

/* By the six highest bits of the product with a de Bruijn sequence, which differ for each number of
 * trailing ones (Leiserson, Prokop and Randall, Using de Bruijn Sequences to Index a 1 in a Computer
 * Word). There are no branches: the verifier follows each path, and would reach the code that uses
 * the result once for each power. */
#define DE_BRUIJN 0x03f6eaf2cd271461ULL
static const __u8 LOG2[64] = {
	0, 58, 1, 59, 47, 53, 2, 60, 39, 48, 27, 54, 33, 42, 3, 61,
	51, 37, 40, 49, 18, 28, 20, 55, 30, 34, 11, 43, 14, 22, 4, 62,
	57, 46, 52, 38, 26, 32, 41, 50, 36, 17, 19, 29, 10, 13, 21, 56,
	45, 25, 31, 35, 16, 9, 12, 44, 24, 15, 8, 23, 7, 6, 5, 63,
};

static __always_inline __u64 log2_of(__u64 value)
{
	__u64 power;

	value |= value >> 1;
	value |= value >> 2;
	value |= value >> 4;
	value |= value >> 8;
	value |= value >> 16;
	value |= value >> 32;
	power = LOG2[value * DE_BRUIJN >> 58];
	/* The compiler knows the table; the verifier does not. */
	barrier_var(power);
	return power & 63;
}

/* The verifier knows of the result only that it is below the next power of two. */
static __always_inline __u64 bucket_of(__u64 value, __u32 buckets)
{
	__u64 bucket = log2_of(value);
	__s64 room = buckets - 1 - bucket;

	bucket += room & room >> 63;
	barrier_var(bucket);
	return bucket & (buckets > 32 ? 63 : 31);
}
