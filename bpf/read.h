/* Reads kernel structures through pointers that the verifier does not know: from a table of
 * descriptors, or from our own state. */
#pragma once
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

/* Placeholder for bpf_rdonly_cast (since Linux 6.2, kernel/bpf/helpers.c), which the loader puts
 * in its place. It costs nothing, and plain loads read its result; a helper call per field costs
 * more than the rest of a program. No helper has this number. */
#define RDONLY_CAST 0x696f7374
static void *(*const rdonly_cast)(void *object, __u32 type) = (void *)RDONLY_CAST;

/* Kernels without it get an object compiled without CASTS. In one object for both, the other form
 * would be dead code: the verifier moves everything after a dead branch to remove it
 * (opt_remove_dead_code, kernel/bpf/verifier.c), which took a third of the loading time. */
#ifndef CASTS
#define CASTS 0
#endif

#define AS(type, pointer) \
	((type *)rdonly_cast((void *)(pointer), bpf_core_type_id_kernel(type)))

/* pointer->a->b->c by plain loads if there are casts, otherwise by the given helper. */
#define CAST_OR(otherwise, pointer, ...)                                                \
	({                                                                              \
		typeof(___arrow(pointer, __VA_ARGS__)) read_;                           \
		if (CASTS)                                                              \
			read_ = ___arrow(AS(typeof(*(pointer)), pointer), __VA_ARGS__); \
		else                                                                    \
			read_ = otherwise(pointer, __VA_ARGS__);                        \
		read_;                                                                  \
	})

/* READ(pointer, a, b, c) is pointer->a->b->c, or 0 if that cannot be read. */
#define READ(pointer, ...) CAST_OR(BPF_CORE_READ, pointer, __VA_ARGS__)

/* The same for a pointer that the verifier knows, so by plain loads in any case. For a pointer in
 * a trusted structure the verifier checks each time whether it is trusted too, and searches all
 * kernel types for that (btf_nested_type_is_trusted, kernel/bpf/btf.c): a third of its time. For a
 * cast pointer it does not. */
#define WALK(pointer, ...) CAST_OR(___arrow, pointer, __VA_ARGS__)

/* The address as a number for the verifier, as global functions require: the verifier tracks
 * nothing about a negated pointer, and permits negation to users who may see addresses
 * (check_alu_op, kernel/bpf/verifier.c). */
static __always_inline __u64 number(const void *pointer)
{
	__u64 number = (__u64)pointer;

	asm volatile("%0 = -%0" : "+r"(number));
	asm volatile("%0 = -%0" : "+r"(number));
	return number;
}

/* A number in memory, as the verifier knows it: any number. One that was compared before differs on
 * each path to here, and the verifier would follow every path by itself from here on. */
#define ANEW(number) (*(volatile typeof(number) *)&(number))

/* The number, at most the limit, in a form that the verifier understands: the compared value is
 * the used value. */
#define AT_MOST(limit, number)                          \
	({                                              \
		__u64 number_ = (number);               \
		asm volatile("" : "+r"(number_));       \
		if (number_ > (limit))                  \
			number_ = (limit);              \
		asm volatile("" : "+r"(number_));       \
		number_;                                \
	})

/* A word of untyped kernel memory: read as the first field of a structure that has such a field. */
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

/* Types of file systems built as modules have no type id that rdonly_cast accepts. So their fields
 * are read by offset: WORD_OF for those of 64 bits, HALF_OF for those of 32. If the kernel has no
 * such field, or the module is not loaded, HAS is 0, and the verifier must not reach the rest. */
#define HAS(type, field) bpf_core_field_exists(((type *)0)->field)
#define ADDRESS_OF(type, pointer, field) \
	((__u64)(pointer) + bpf_core_field_offset(type, field))
#define WORD_OF(type, pointer, field) \
	(HAS(type, field) ? word_at(ADDRESS_OF(type, pointer, field)) : 0)
#define HALF_OF(type, pointer, field) \
	(HAS(type, field) ? half_at(ADDRESS_OF(type, pointer, field)) : 0)
