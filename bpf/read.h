/* Reading the kernel's structures through pointers that the verifier does not know: from a
 * table of descriptors, or from our own state. */
#pragma once
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* Stands for bpf_rdonly_cast (since Linux 6.2, kernel/bpf/helpers.c), the call of which the loader puts
 * in its place. It costs nothing, and what it returns is read by plain loads; a helper call for each
 * field costs more than the rest of a program. No helper has this number. */
#define RDONLY_CAST 0x696f7374
static void *(*const rdonly_cast)(void *object, __u32 type) = (void *)RDONLY_CAST;

/* Kernels without it get an object that is compiled without CASTS. One object for both would have the
 * other way as dead code: the verifier moves all that is behind a dead branch to remove it
 * (opt_remove_dead_code, kernel/bpf/verifier.c), which took a third of the time of loading. */
#ifndef CASTS
#define CASTS 0
#endif

#define AS(type, pointer) \
	((type *)rdonly_cast((void *)(pointer), bpf_core_type_id_kernel(type)))

/* pointer->a->b->c by plain loads where there are casts, else by what is given. */
#define CAST_OR(otherwise, pointer, ...)                                                \
	({                                                                              \
		typeof(___arrow(pointer, __VA_ARGS__)) read_;                           \
		if (CASTS)                                                              \
			read_ = ___arrow(AS(typeof(*(pointer)), pointer), __VA_ARGS__); \
		else                                                                    \
			read_ = otherwise(pointer, __VA_ARGS__);                        \
		read_;                                                                  \
	})

/* READ(pointer, a, b, c) is pointer->a->b->c, and 0 where that cannot be read. */
#define READ(pointer, ...) CAST_OR(BPF_CORE_READ, pointer, __VA_ARGS__)

/* The same of a pointer that the verifier knows, and so by plain loads in any case. Of a pointer in a
 * trusted structure the verifier asks each time whether it is trusted too, and goes through all types
 * of the kernel for that (btf_nested_type_is_trusted, kernel/bpf/btf.c): a third of its time. Of what
 * was cast it does not ask. */
#define WALK(pointer, ...) CAST_OR(___arrow, pointer, __VA_ARGS__)

/* The address as a number for the verifier, which is what global functions take: it knows nothing of
 * what comes of a pointer that is negated, and lets those negate one who may see addresses
 * (check_alu_op, kernel/bpf/verifier.c). */
static __always_inline __u64 number(const void *pointer)
{
	__u64 number = (__u64)pointer;

	asm volatile("%0 = -%0" : "+r"(number));
	asm volatile("%0 = -%0" : "+r"(number));
	return number;
}

/* The number, at most the limit, and so that the verifier knows: what is compared is what is used. */
#define AT_MOST(limit, number)                          \
	({                                              \
		__u64 number_ = (number);               \
		asm volatile("" : "+r"(number_));       \
		if (number_ > (limit))                  \
			number_ = (limit);              \
		asm volatile("" : "+r"(number_));       \
		number_;                                \
	})

/* A word of the kernel's memory that has no type: read as the first field of a structure that has
 * such a field. */
static __always_inline __u64 word_at(__u64 address)
{
	struct kiocb *word = (void *)address - bpf_core_field_offset(struct kiocb, ki_filp);

	return (__u64)READ(word, ki_filp);
}

/* Half a word. */
static __always_inline __u32 half_at(__u64 address)
{
	struct super_block *half =
		(void *)address - bpf_core_field_offset(struct super_block, s_dev);

	return READ(half, s_dev);
}

/* Types of file systems are a module's where that is one, and then have no number that rdonly_cast
 * takes. So their fields are read by where they are: WORD_OF for those of 64 bits, HALF_OF for those
 * of 32. Where the kernel has no such field, or the module is not loaded, HAS is 0, and the
 * verifier must not come to the rest. */
#define HAS(type, field) bpf_core_field_exists(((type *)0)->field)
#define ADDRESS_OF(type, pointer, field) \
	((__u64)(pointer) + bpf_core_field_offset(type, field))
#define WORD_OF(type, pointer, field) \
	(HAS(type, field) ? word_at(ADDRESS_OF(type, pointer, field)) : 0)
#define HALF_OF(type, pointer, field) \
	(HAS(type, field) ? half_at(ADDRESS_OF(type, pointer, field)) : 0)
