/* Files below the directory that a program is given. What fails ends the program. */
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIB 1024L
#define MIB (1024L * 1024)
#define PAGE 4096L

static inline void must(int fine, const char *what)
{
	if (fine)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* Relative names are below it from now on. */
static inline void enter(int argc, char **argv)
{
	must(argc >= 2 && !chdir(argv[1]), "give a directory");
}

static inline int open_file(const char *name, int flags)
{
	int fd = open(name, flags, 0644);

	must(fd >= 0, name);
	return fd;
}

/* A file of `bytes` (whole MiB), written in pieces of 1 MiB; the descriptor reads and writes. */
static inline int make_file(const char *name, long bytes)
{
	static char piece[MIB];
	int fd = open_file(name, O_RDWR | O_CREAT | O_TRUNC);

	memset(piece, 'x', sizeof piece);
	for (long at = 0; at < bytes; at += MIB)
		must(write(fd, piece, MIB) == MIB, name);
	return fd;
}

/* Out of the page cache: clean pages can be dropped, so it is synced first. */
static inline void evict(int fd)
{
	must(!fsync(fd) && !posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), "evict");
}

/* Every number below `count` (a power of two) once, without neighbours: an odd factor is a
 * permutation modulo a power of two. */
static inline long shuffled(long number, long count)
{
	return number * 40503 % count;
}
