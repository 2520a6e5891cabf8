/* usrsctp over UDP encapsulation on loopback, two processes: rate of a bulk transfer and memory
 * of idle associations. Checksums are on (the library's default spares them on loopback).
 *
 *   cc -O2 -Wall -Wextra -o bench bench.c -lusrsctp -lpthread
 *
 *   bench recv --udp-port U
 *   bench send --udp-port V --peer-udp-port U --bytes N [--message 16384] [--buffer BYTES]
 *   bench hold --udp-port U --associations N
 *   bench open --udp-port V --peer-udp-port U --associations N
 *
 * recv and hold print {"ready":true} once they listen. Each program ends with one line of JSON;
 * memory is counted from just before the first association. hold and open stop at end of file
 * on standard input. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <usrsctp.h>

#define PORT 5001

static long option_bytes = 256 << 20, option_message = 16384, option_buffer = 4 << 20;
static long option_udp = 9899, option_peer_udp = -1, option_associations = 10000;

static void fail(const char *what)
{
	fprintf(stderr, "bench: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static long resident_kib(void)
{
	long size, resident = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f == NULL || fscanf(f, "%ld %ld", &size, &resident) != 2)
		fail("/proc/self/statm");
	fclose(f);
	return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static void parse_options(int argc, char **argv)
{
	struct { const char *name; long *value; } options[] = {
		{ "--bytes", &option_bytes }, { "--message", &option_message }, { "--buffer", &option_buffer },
		{ "--udp-port", &option_udp }, { "--peer-udp-port", &option_peer_udp },
		{ "--associations", &option_associations },
	};
	for (int i = 2; i < argc; i += 2) {
		size_t n = 0;
		while (n < sizeof(options) / sizeof(options[0]) && strcmp(argv[i], options[n].name) != 0)
			n++;
		if (n == sizeof(options) / sizeof(options[0]) || i + 1 == argc) {
			fprintf(stderr, "bench: unknown option, or no value: %s\n", argv[i]);
			exit(2);
		}
		*options[n].value = atol(argv[i + 1]);
	}
}

/* The library's UDP sockets have small fixed buffers and no interface; a burst would be lost at
 * them. They are the only UDP sockets of this process. */
static void enlarge_udp_buffers(void)
{
	int bytes = 8 << 20;

	for (int fd = 3; fd < 64; fd++) {
		int protocol = 0;
		socklen_t length = sizeof(protocol);
		if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &length) != 0 || protocol != IPPROTO_UDP)
			continue;
		if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof(bytes)) != 0)
			setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
		if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)) != 0)
			setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
	}
}

static void start(int tuned)
{
	usrsctp_init((uint16_t)option_udp, NULL, NULL);
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
	if (!tuned)
		return;
	usrsctp_sysctl_set_sctp_sendspace((uint32_t)option_buffer);
	usrsctp_sysctl_set_sctp_recvspace((uint32_t)option_buffer);
	enlarge_udp_buffers();
}

static struct sockaddr_in loopback(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static struct socket *open_socket(uint16_t port)
{
	struct sockaddr_in here = loopback(port);
	int one = 1;
	struct socket *s = usrsctp_socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL, NULL, 0, NULL);

	if (s == NULL)
		fail("usrsctp_socket");
	if (option_peer_udp >= 0) {
		struct sctp_udpencaps encaps = { .sue_port = htons((uint16_t)option_peer_udp) };
		encaps.sue_address.ss_family = AF_INET;
		if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof(encaps)) != 0)
			fail("SCTP_REMOTE_UDP_ENCAPS_PORT");
	}
	usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_NODELAY, &one, sizeof(one));
	if (usrsctp_bind(s, (struct sockaddr *)&here, sizeof(here)) != 0)
		fail("usrsctp_bind");
	return s;
}

static struct socket *connect_socket(void)
{
	struct sockaddr_in there = loopback(PORT);
	struct socket *s = open_socket(0);

	/* usrsctp_connect, unlike usrsctp_connectx, returns when the association is up */
	if (usrsctp_connect(s, (struct sockaddr *)&there, sizeof(there)) != 0)
		fail("usrsctp_connect");
	return s;
}

static struct socket *listen_socket(void)
{
	struct socket *s = open_socket(PORT);

	if (usrsctp_listen(s, 4096) != 0)
		fail("usrsctp_listen");
	printf("{\"ready\":true}\n");
	fflush(stdout);
	return s;
}

/* The next message's length; 0 at the association's end. */
static ssize_t read_message(struct socket *s, char *buffer, size_t size)
{
	struct sockaddr_in from;
	socklen_t from_length = sizeof(from), info_length = 0;
	unsigned info_type = 0;
	int flags = 0;

	return usrsctp_recvv(s, buffer, size, (struct sockaddr *)&from, &from_length, NULL, &info_length,
	                     &info_type, &flags);
}

static void print_transfer(uint64_t bytes, double wall, double cpu)
{
	printf("{\"bytes\":%llu,\"seconds\":%.4f,\"mb_per_s\":%.2f,\"cpu_seconds\":%.4f}\n",
	       (unsigned long long)bytes, wall, (double)bytes / 1e6 / wall, cpu);
	fflush(stdout);
}

static int receive(void)
{
	static char buffer[1 << 20];
	double begin = 0, cpu = 0;
	uint64_t bytes = 0;
	ssize_t n;
	struct socket *s;

	start(1);
	s = usrsctp_accept(listen_socket(), NULL, NULL);
	if (s == NULL)
		fail("usrsctp_accept");
	begin = seconds();
	cpu = cpu_seconds();
	while ((n = read_message(s, buffer, sizeof(buffer))) > 0)
		bytes += (uint64_t)n;
	print_transfer(bytes, seconds() - begin, cpu_seconds() - cpu);
	usrsctp_close(s);
	usleep(50000); /* the last packets of the shutdown */
	_exit(0);
}

static int transmit(void)
{
	char *message = calloc(1, (size_t)option_message), end[64];
	double begin, cpu;
	uint64_t bytes = 0;
	struct socket *s;

	if (message == NULL)
		fail("calloc");
	start(1);
	s = connect_socket();
	begin = seconds();
	cpu = cpu_seconds();
	while (bytes < (uint64_t)option_bytes) {
		ssize_t n = usrsctp_sendv(s, message, (size_t)option_message, NULL, 0, NULL, 0, SCTP_SENDV_NOINFO, 0);
		if (n < 0)
			fail("usrsctp_sendv");
		bytes += (uint64_t)n;
	}
	usrsctp_shutdown(s, SHUT_WR);
	while (read_message(s, end, sizeof(end)) > 0)
		;
	print_transfer(bytes, seconds() - begin, cpu_seconds() - cpu);
	_exit(0);
}

static void print_memory(const char *side, long before)
{
	long after = resident_kib();

	printf("{\"side\":\"%s\",\"associations\":%ld,\"resident_kib\":%ld,\"kib_each\":%.3f}\n", side,
	       option_associations, after, (double)(after - before) / (double)option_associations);
	fflush(stdout);
	while (getchar() != EOF)
		;
}

static int hold(void)
{
	struct socket *listener;
	long before;

	start(0);
	listener = listen_socket();
	before = resident_kib();
	for (long i = 0; i < option_associations; i++)
		if (usrsctp_accept(listener, NULL, NULL) == NULL)
			fail("usrsctp_accept");
	print_memory("server", before);
	_exit(0);
}

static int open_many(void)
{
	long before;

	start(0);
	before = resident_kib();
	for (long i = 0; i < option_associations; i++)
		connect_socket();
	print_memory("client", before);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	parse_options(argc, argv);
	if (strcmp(mode, "recv") == 0)
		return receive();
	if (strcmp(mode, "send") == 0)
		return transmit();
	if (strcmp(mode, "hold") == 0)
		return hold();
	if (strcmp(mode, "open") == 0)
		return open_many();
	fprintf(stderr, "usage: bench recv|send|hold|open [--option value]...\n");
	return 2;
}
