/* signals PATH COUNT [stop]
 *
 * Sends itself COUNT times SIGUSR1 and SIGALRM, whose handlers write one byte each to PATH;
 * sleeps through one SIGCONT; with `stop` it stops itself by SIGSTOP before, until a process
 * sends SIGCONT. Ends itself by SIGTERM.
 * I/O on PATH: 2*COUNT writes of 1 byte.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int fd;

static void note(int signal)
{
	if (write(fd, signal == SIGALRM ? "a" : "u", 1) != 1)
		_exit(1);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	fd = open(argv[1], O_CREAT | O_WRONLY, 0644);
	signal(SIGUSR1, note);
	signal(SIGALRM, note);
	if (argc > 3)
		raise(SIGSTOP);
	for (long i = 0; i < atol(argv[2]); i++) {
		raise(SIGUSR1);
		raise(SIGALRM);
	}
	raise(SIGCONT);
	raise(SIGTERM);
	return 3;
}
