/* Reading the kernel's structures through pointers that the verifier does not know: from a
 * table of descriptors, or from our own state. */
#pragma once
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* Whether the kernel has bpf_rdonly_cast (since Linux 6.2, kernel/bpf/helpers.c), and the
 * loader has put the call of it in the place of RDONLY_CAST. It costs nothing, and what it
 * returns is read by plain loads; a helper call for each field costs more than the rest of
 * a program. */
const volatile __u32 CASTS = 0;

/* No helper has this number. Where it stays, the verifier never comes to it. */
#define RDONLY_CAST 0x696f7374
static void *(*const rdonly_cast)(void *object, __u32 type) = (void *)RDONLY_CAST;

#define AS(type, pointer) \
	((type *)rdonly_cast((void *)(pointer), bpf_core_type_id_kernel(type)))

/* READ(pointer, a, b, c) is pointer->a->b->c, and 0 where that cannot be read. */
#define READ(pointer, ...)                                                              \
	({                                                                              \
		typeof(___arrow(pointer, __VA_ARGS__)) read_;                           \
		if (CASTS)                                                              \
			read_ = ___arrow(AS(typeof(*(pointer)), pointer), __VA_ARGS__); \
		else                                                                    \
			read_ = BPF_CORE_READ(pointer, __VA_ARGS__);                    \
		read_;                                                                  \
	})
