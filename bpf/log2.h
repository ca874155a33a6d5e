/* Powers of two: histograms and moments. */
#pragma once
#include "kernel.h"

static __always_inline __u32 log2_of(__u64 value)
{
	__u32 power = 0;

	if (value >> 32) { power += 32; value >>= 32; }
	if (value >> 16) { power += 16; value >>= 16; }
	if (value >> 8) { power += 8; value >>= 8; }
	if (value >> 4) { power += 4; value >>= 4; }
	if (value >> 2) { power += 2; value >>= 2; }
	if (value >> 1) power += 1;
	return power;
}

static __always_inline __u32 bucket_of(__u64 value, __u32 buckets)
{
	__u32 power = log2_of(value);

	return power < buckets ? power : buckets - 1;
}
