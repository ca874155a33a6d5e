/* detours DIR: changes names through paths that do not say where they lead, in the empty DIR:
 * symbolic links, `link/..`, directories that were moved, another root.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(long right, const char *what)
{
	if (!right) {
		perror(what);
		exit(1);
	}
}

static void make(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	check(fd >= 0 && write(fd, text, strlen(text)) == (long)strlen(text) && !close(fd), path);
}

static void links(const char *top)
{
	char path[4096];

	check(!mkdir("real", 0755) && !mkdir("real/inner", 0755), "mkdir");
	check(!symlink("real/inner", "link"), "symlink");
	make("link/a", "a");
	check(!rename("link/a", "link/../b"), "rename"); /* real/inner/a to real/b */
	check(!link("link/../b", "link/c"), "link");     /* real/inner/c */
	check(!unlink("./link/../b"), "unlink");
	snprintf(path, sizeof path, "%s/link/deep", top);
	check(!mkdir(path, 0755), "mkdir"); /* real/inner/deep */
	make("link/deep/d", "d");
	check(!rename("real/inner", "real/moved"), "rename");
	check(!unlink("link") && !symlink("real/moved", "link"), "symlink");
	check(!rename("link/deep/d", "link/e"), "rename"); /* real/moved/deep/d to real/moved/e */
	check(!truncate("link/e", 100), "truncate");
	check(!rmdir("link/deep"), "rmdir");
}

static void other_root(void)
{
	pid_t child;
	int status;

	check(!mkdir("root", 0755) && !mkdir("root/etc", 0755), "mkdir");
	child = fork();
	if (!child) {
		check(!chroot("root") && !chdir("/"), "chroot");
		make("/etc/new", "new");
		check(!rename("/etc/new", "/etc/conf"), "rename");
		check(!chdir("/etc") && !link("conf", "other"), "link");
		exit(0);
	}
	check(child > 0 && waitpid(child, &status, 0) == child && !status, "child");
}

int main(int count, char **arguments)
{
	if (count != 2)
		return 2;
	check(!chdir(arguments[1]), arguments[1]);
	links(arguments[1]);
	other_root();
	return 0;
}
