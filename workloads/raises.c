/* A tree of processes that execute programs with other privileges: raises DIR TREE PLAN [PLACE]
 *
 * Each step of PLAN is a letter: f...; a child that takes these steps; n no_new_privs; u a user namespace of its own,
 * mapped to root; d not dumpable; r back to the real user; t the next program is executed by another thread; and in
 * upper case a program beside this one to go on as. What the kernel refuses is left out. Each that goes on writes DIR/TREE.PLACE: what the kernel says to
 * the user's own question, whether it may trace it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ASK = 100, ANSWER = 101 };

static char **arguments, *plan;
static char place[16];

static void must(int is, const char *what)
{
	if (!is) {
		perror(what);
		_exit(1);
	}
}

/* A process of the user, for as long as someone may ask. The kernel decides as for ptrace (proc_pid_personality,
 * fs/proc/base.c). */
static void begin_answers(void)
{
	int questions[2], answers[2], asked, file;
	char path[32], is, word[16];

	must(!pipe(questions) && !pipe(answers), "pipe");
	if (!fork()) {
		close(questions[1]);
		while (read(questions[0], &asked, sizeof asked) == sizeof asked) {
			sprintf(path, "/proc/%d/personality", asked);
			file = open(path, O_RDONLY);
			is = file >= 0 && read(file, word, sizeof word) > 0 ? 'y' : 'n';
			if (file >= 0)
				close(file);
			must(write(answers[1], &is, 1) == 1, "answer");
		}
		_exit(0);
	}
	must(dup2(questions[1], ASK) >= 0 && dup2(answers[0], ANSWER) >= 0, "dup2");
	for (int i = 0; i < 2; i++) {
		close(questions[i]);
		close(answers[i]);
	}
}

static void write_down(const char *at)
{
	char path[4096], is;
	int me = getpid(), file;

	must(write(ASK, &me, sizeof me) == sizeof me && read(ANSWER, &is, 1) == 1, "ask");
	snprintf(path, sizeof path, "%s/%s.%s", arguments[1], arguments[2], at);
	file = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
	must(file >= 0 && write(file, &is, 1) == 1, path);
	close(file);
}

static void *become(void *letter)
{
	char path[4096], name[2] = { *(char *)letter, 0 };
	char *end = strrchr(arguments[0], '/');

	snprintf(path, sizeof path, "%.*s/%s", (int)(end - arguments[0]), arguments[0], name);
	execl(path, path, arguments[1], arguments[2], plan, place, (char *)0);
	must(0, path);
	return 0;
}

static int end_of(int at)
{
	for (int deep = 1; deep; at++)
		deep += plan[at] == 'f' ? 1 : plan[at] == ';' ? -1 : 0;
	return at;
}

static void own_namespace(void)
{
	char map[32];
	int user = geteuid(), file;

	if (unshare(CLONE_NEWUSER))
		return;
	file = open("/proc/self/uid_map", O_WRONLY);
	if (write(file, map, sprintf(map, "0 %d 1", user)) < 0)
		map[0] = 0;
	close(file);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int at = argc > 4 ? atoi(argv[4]) : 0, threads = 0;
	char go;

	arguments = argv;
	plan = argv[3];
	if (argc == 4) {
		begin_answers();
		must(!read(0, &go, 1), "go");
	}
	write_down(argc > 4 ? argv[4] : "0");
	for (; plan[at] && plan[at] != ';'; at++) {
		switch (plan[at]) {
		case 'f':
			if (!fork())
				continue;
			wait(0);
			at = end_of(at + 1) - 1;
			break;
		case 'n':
			prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
			break;
		case 'u':
			own_namespace();
			break;
		case 'd':
			prctl(PR_SET_DUMPABLE, 0);
			break;
		case 'r':
			if (setresgid(getgid(), getgid(), getgid()) ||
			    setresuid(getuid(), getuid(), getuid()))
				break;
			break;
		case 't':
			threads = 1;
			break;
		default:
			sprintf(place, "%d", at + 1);
			if (!threads)
				become(&plan[at]);
			pthread_create(&thread, 0, become, &plan[at]);
			pthread_join(thread, 0);
		}
	}
	return 0;
}
