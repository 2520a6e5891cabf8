/* usrsctp over UDP encapsulation on loopback, two processes: rate of a bulk transfer, delays of
 * messages, rate of set-ups, and memory of idle associations. Checksums are on (the library's
 * default spares them on loopback).
 *
 *   cc -O2 -Wall -Wextra -o bench bench.c -lusrsctp -lpthread
 *
 *   bench recv --udp-port U [--delays 1]
 *   bench send --udp-port V --peer-udp-port U --bytes N [--message 16384] [--buffer BYTES]
 *              [--nagle 1] [--rate MESSAGES]
 *   bench serve --udp-port U
 *   bench rate --udp-port V --peer-udp-port U [--threads 1] [--milliseconds 2000]
 *   bench hold --udp-port U --associations N
 *   bench open --udp-port V --peer-udp-port U --associations N
 *
 * recv, serve and hold print {"ready":true} once they listen. Each program ends with one line of
 * JSON; memory is counted from just before the first association. hold and open stop at end of
 * file on standard input, serve when it is stopped. --rate sends so many messages a second, evenly
 * spaced, each with the time when it was due; --delays says how long they took since then. --nagle
 * lets small messages wait for others to share their packet; without it they do not (SCTP_NODELAY).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <usrsctp.h>

#define PORT 5001

static long option_bytes = 256 << 20, option_message = 16384, option_buffer = 4 << 20;
static long option_udp = 9899, option_peer_udp = -1, option_associations = 10000;
static long option_nagle = 0, option_rate = 0, option_delays = 0, option_threads = 1, option_milliseconds = 2000;

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

static uint64_t nanoseconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
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
		{ "--associations", &option_associations }, { "--nagle", &option_nagle },
		{ "--rate", &option_rate }, { "--delays", &option_delays }, { "--threads", &option_threads },
		{ "--milliseconds", &option_milliseconds },
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
	/* of small messages 512 chunks, the default, are much less than the buffer */
	usrsctp_sysctl_set_sctp_max_chunks_on_queue(1 << 20);
	enlarge_udp_buffers();
}

static struct sockaddr_in loopback(uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return a;
}

static struct socket *open_socket(uint16_t port, int type)
{
	struct sockaddr_in here = loopback(port);
	int at_once = !option_nagle;
	struct socket *s = usrsctp_socket(AF_INET, type, IPPROTO_SCTP, NULL, NULL, 0, NULL);

	if (s == NULL)
		fail("usrsctp_socket");
	if (option_peer_udp >= 0) {
		struct sctp_udpencaps encaps = { .sue_port = htons((uint16_t)option_peer_udp) };
		encaps.sue_address.ss_family = AF_INET;
		if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof(encaps)) != 0)
			fail("SCTP_REMOTE_UDP_ENCAPS_PORT");
	}
	usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_NODELAY, &at_once, sizeof(at_once));
	if (usrsctp_bind(s, (struct sockaddr *)&here, sizeof(here)) != 0)
		fail("usrsctp_bind");
	return s;
}

static struct socket *connect_socket(void)
{
	struct sockaddr_in there = loopback(PORT);
	struct socket *s = open_socket(0, SOCK_STREAM);

	/* usrsctp_connect, unlike usrsctp_connectx, returns when the association is up */
	if (usrsctp_connect(s, (struct sockaddr *)&there, sizeof(there)) != 0)
		fail("usrsctp_connect");
	return s;
}

static struct socket *listen_socket(int type)
{
	struct socket *s = open_socket(PORT, type);

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

/* Delays of messages in nanoseconds. */
static uint64_t *delays;
static size_t delay_count;

static void note_delay(const char *message)
{
	static size_t room;
	uint64_t due;

	if (delay_count == room) {
		room = room > 0 ? 2 * room : 1 << 16;
		delays = realloc(delays, room * sizeof(*delays));
		if (delays == NULL)
			fail("realloc");
	}
	memcpy(&due, message, sizeof(due));
	delays[delay_count++] = nanoseconds() - due;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* In microseconds, of the nearest rank. */
static double percentile(double share)
{
	double rank = share * (double)delay_count;
	size_t n = (size_t)rank + ((double)(size_t)rank < rank);

	return (double)delays[n > 0 ? n - 1 : 0] / 1e3;
}

static void print_delays(void)
{
	if (delay_count == 0)
		return;
	qsort(delays, delay_count, sizeof(*delays), by_value);
	printf(",\"delays\":{\"messages\":%zu,\"p50_us\":%.1f,\"p99_us\":%.1f,\"p999_us\":%.1f,\"max_us\":%.1f}", delay_count,
	       percentile(0.5), percentile(0.99), percentile(0.999), percentile(1));
}

static void print_transfer(uint64_t bytes, double wall, double cpu)
{
	printf("{\"bytes\":%llu,\"seconds\":%.4f,\"mb_per_s\":%.2f,\"cpu_seconds\":%.4f",
	       (unsigned long long)bytes, wall, (double)bytes / 1e6 / wall, cpu);
	print_delays();
	printf("}\n");
	fflush(stdout);
}

/* Waits until message n is due, and stamps it with that time. */
static void pace(uint64_t begun, uint64_t n, char *message)
{
	uint64_t due = begun + (uint64_t)((double)n * 1e9 / (double)option_rate);
	struct timespec when = { .tv_sec = (time_t)(due / 1000000000), .tv_nsec = (long)(due % 1000000000) };

	while (nanoseconds() < due)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, NULL);
	memcpy(message, &due, sizeof(due));
}

static int receive(void)
{
	static char buffer[1 << 20];
	double begin = 0, end, cpu = 0;
	uint64_t bytes = 0;
	ssize_t n;
	struct socket *s;

	start(1);
	s = usrsctp_accept(listen_socket(SOCK_STREAM), NULL, NULL);
	if (s == NULL)
		fail("usrsctp_accept");
	begin = end = seconds();
	cpu = cpu_seconds();
	while ((n = read_message(s, buffer, sizeof(buffer))) > 0) {
		bytes += (uint64_t)n;
		if (option_delays)
			note_delay(buffer);
		/* The end of the association may wait for a delayed SACK. */
		end = seconds();
	}
	print_transfer(bytes, end - begin, cpu_seconds() - cpu);
	usrsctp_close(s);
	usleep(50000); /* the last packets of the shutdown */
	_exit(0);
}

static int transmit(void)
{
	char *message = calloc(1, (size_t)option_message), end[64];
	double begin, cpu;
	uint64_t bytes = 0, count = 0, begun;
	struct socket *s;

	if (message == NULL)
		fail("calloc");
	if (option_rate > 0 && option_message < (long)sizeof(uint64_t)) {
		fprintf(stderr, "bench: with --rate a message has at least 8 bytes\n");
		exit(2);
	}
	start(1);
	s = connect_socket();
	prctl(PR_SET_TIMERSLACK, 1);
	begin = seconds();
	begun = nanoseconds();
	cpu = cpu_seconds();
	while (bytes < (uint64_t)option_bytes) {
		if (option_rate > 0)
			pace(begun, count++, message);
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

/* Takes associations until it is stopped. Of a one-to-many socket they come and go by themselves. */
static _Noreturn void serve(void)
{
	static char buffer[2048];
	struct socket *s;

	start(0);
	s = listen_socket(SOCK_SEQPACKET);
	for (;;)
		if (read_message(s, buffer, sizeof(buffer)) < 0)
			usleep(1000);
}

static double rate_ends;

/* Sets associations up and aborts them, again and again; counts them. */
static void *again_and_again(void *count)
{
	struct linger abort = { .l_onoff = 1, .l_linger = 0 };

	while (seconds() < rate_ends) {
		struct socket *s = connect_socket();
		if (usrsctp_setsockopt(s, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort)) != 0)
			fail("SO_LINGER");
		usrsctp_close(s);
		(*(uint64_t *)count)++;
	}
	return NULL;
}

static int set_up(void)
{
	enum { MOST = 256 };
	static uint64_t counts[MOST];
	pthread_t threads[MOST];
	uint64_t all = 0;
	double begin, cpu, taken;

	if (option_threads < 1 || option_threads > MOST) {
		fprintf(stderr, "bench: --threads must be from 1 to %d\n", MOST);
		exit(2);
	}
	start(0);
	begin = seconds();
	cpu = cpu_seconds();
	rate_ends = begin + (double)option_milliseconds / 1e3;
	for (long i = 0; i < option_threads; i++)
		if (pthread_create(&threads[i], NULL, again_and_again, &counts[i]) != 0)
			fail("pthread_create");
	for (long i = 0; i < option_threads; i++) {
		pthread_join(threads[i], NULL);
		all += counts[i];
	}
	taken = seconds() - begin;
	printf("{\"associations\":%llu,\"seconds\":%.4f,\"per_s\":%.1f,\"cpu_us_each\":%.2f}\n",
	       (unsigned long long)all, taken, (double)all / taken, (cpu_seconds() - cpu) * 1e6 / (double)all);
	fflush(stdout);
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
	listener = listen_socket(SOCK_STREAM);
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
	if (strcmp(mode, "serve") == 0)
		serve();
	if (strcmp(mode, "rate") == 0)
		return set_up();
	if (strcmp(mode, "hold") == 0)
		return hold();
	if (strcmp(mode, "open") == 0)
		return open_many();
	fprintf(stderr, "usage: bench recv|send|serve|rate|hold|open [--option value]...\n");
	return 2;
}
