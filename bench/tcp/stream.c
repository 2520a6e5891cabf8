/* Standard input to standard output over one TCP or MPTCP connection of the kernel.
 *
 *   cc -O2 -Wall -Wextra -o stream stream.c
 *
 *   stream recv --port P [--mptcp 1]               one connection, to standard output
 *   stream send --port P --to A [--mptcp 1]        standard input, as it comes
 *
 * --congestion NAME: the sender's congestion control, such as cubic.
 *
 * Ends with its input. Status 1: an error, which is told. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifndef IPPROTO_MPTCP
#define IPPROTO_MPTCP 262
#endif

static char block[1 << 16];

static void fail(const char *what)
{
	fprintf(stderr, "stream: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* Writes all of it; the peer may be gone. */
static int put(int to, const char *bytes, ssize_t n)
{
	while (n > 0) {
		ssize_t written = write(to, bytes, (size_t)n);
		if (written < 0)
			return 0;
		bytes += written;
		n -= written;
	}
	return 1;
}

int main(int argc, char **argv)
{
	const char *to = NULL, *congestion = NULL;
	int sending = argc > 1 && strcmp(argv[1], "send") == 0, one = 1, mptcp = 0;
	struct sockaddr_in address = { .sin_family = AF_INET };
	ssize_t n;

	for (int i = 2; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--port") == 0)
			address.sin_port = htons((uint16_t)atoi(argv[i + 1]));
		else if (strcmp(argv[i], "--to") == 0)
			to = argv[i + 1];
		else if (strcmp(argv[i], "--congestion") == 0)
			congestion = argv[i + 1];
		else if (strcmp(argv[i], "--mptcp") == 0)
			mptcp = atoi(argv[i + 1]);
	}
	if (argc < 2 || address.sin_port == 0 || (sending && to == NULL)) {
		fprintf(stderr, "usage: stream recv --port P [--mptcp 1] | stream send --port P --to A [--mptcp 1] [--congestion NAME]\n");
		return 2;
	}
	int s = socket(AF_INET, SOCK_STREAM, mptcp ? IPPROTO_MPTCP : IPPROTO_TCP);
	if (s < 0)
		fail("socket");
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (congestion != NULL &&
	    setsockopt(s, IPPROTO_TCP, TCP_CONGESTION, congestion, (socklen_t)strlen(congestion)) != 0)
		fail(congestion);
	if (sending) {
		if (inet_pton(AF_INET, to, &address.sin_addr) != 1)
			fail(to);
		if (connect(s, (struct sockaddr *)&address, sizeof(address)) != 0)
			fail("connect");
		while ((n = read(STDIN_FILENO, block, sizeof(block))) > 0)
			if (!put(s, block, n))
				fail("send");
		return 0;
	}
	if (bind(s, (struct sockaddr *)&address, sizeof(address)) != 0 || listen(s, 1) != 0)
		fail("bind");
	int c = accept(s, NULL, NULL);
	if (c < 0)
		fail("accept");
	while ((n = recv(c, block, sizeof(block), 0)) > 0)
		if (!put(STDOUT_FILENO, block, n))
			return 0;
	if (n < 0)
		fail("recv");
	return 0;
}
