/* Powers of two: histograms and moments. */
#pragma once
#include "kernel.h"

/* The last eight bits come from a table: the verifier follows each path through branches, and
 * would reach the code that uses the result with 64 different powers. */
static const __u8 LOG2[256] = {
	[2 ... 3] = 1,	 [4 ... 7] = 2,	  [8 ... 15] = 3,    [16 ... 31] = 4,
	[32 ... 63] = 5, [64 ... 127] = 6, [128 ... 255] = 7,
};

static __always_inline __u64 log2_of(__u64 value)
{
	__u64 power = 0;

	if (value >> 32) { power += 32; value >>= 32; }
	if (value >> 16) { power += 16; value >>= 16; }
	if (value >> 8) { power += 8; value >>= 8; }
	return power + LOG2[value & 0xff];
}

static __always_inline __u64 bucket_of(__u64 value, __u64 buckets)
{
	__u64 power = log2_of(value);

	return power < buckets ? power : buckets - 1;
}
