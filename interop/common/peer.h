/* What the two peer programs (usrsctp and Linux kernel) share: their command line,
 * addresses, a log line with a clock, and a deadline.
 *
 *   PEER recv --port P --addr A[,B] --out FILE [options]
 *   PEER send --port P --addr A[,B] --to C[,D] --in FILE [options]
 *   PEER connect|accept ...                                        see exchange.h
 *
 * recv takes one association and writes what arrives to FILE until the other end shuts
 * the association down; send streams FILE as messages and then shuts down gracefully.
 * Both end with the line "done BYTES" on stdout and status 0. Status 1: the transfer
 * failed; 2: usage; 3: the deadline passed.
 *
 * --at MS:WHAT:ADDRESS, up to eight times in order of time, counted from the set-up, changes
 * the association. `add` and `rem`: an address of this end (RFC 5061); `prefer`: the other end
 * is asked to send to this address of ours; `primary`: this end sends to this one of theirs;
 * `raw`: it does so without UDP from now on. */
#ifndef INTEROP_PEER_H
#define INTEROP_PEER_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_ADDRS 8
#define MAX_CHANGES 8

union addr {
	struct sockaddr sa;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

struct addr_list {
	union addr at[MAX_ADDRS];
	int count;
	int has_v6;
};

enum change_kind { CHANGE_ADD, CHANGE_REM, CHANGE_PREFER, CHANGE_PRIMARY, CHANGE_RAW };
static const char *const change_names[] = { "add", "rem", "prefer", "primary", "raw" };

/* What happens to the association, and when. */
struct change {
	long at; /* ms after the set-up */
	enum change_kind kind;
	union addr address;
};

enum verb { VERB_RECV, VERB_SEND, VERB_CONNECT, VERB_ACCEPT };
static const char *const verb_names[] = { "recv", "send", "connect", "accept" };

/* Times are in milliseconds, sizes in bytes. -1: leave the stack's own default. */
struct options {
	enum verb verb;
	int connecting; /* send or connect */
	int abort; /* an exchange ends by ABORT */
	long run, again; /* of an exchange: number of the first run, and how often another association may follow */
	const char *auth_key; /* DATA must be authenticated by this secret, whose identifier is 1 */
	long local_port; /* of the side that connects; 0: any */
	struct addr_list local, remote;
	struct change changes[MAX_CHANGES];
	int change_count;
	const char *file;
	long port;
	long udp_port;      /* our UDP port for encapsulation, RFC 6951 */
	long peer_udp_port; /* the other end's; default: the same */
	long message;
	long every; /* time from one message to the next; 0: as fast as they go */
	long buffer; /* send and receive buffer of the SCTP socket; --buffer 0: the stack's own default */
	long rto_initial, rto_min, rto_max;
	long path_max_retrans;
	long pf_threshold; /* RFC 7829: errors before a path is potentially failed */
	long heartbeat;
	long asconf; /* 0: no changes of addresses and no AUTH (usrsctp alone) */
	long cmt_dac; /* 1: all paths at once, with delayed acknowledgements (usrsctp alone) */
	long interleave; /* 1: offers I-DATA, RFC 8260 */
	long longest; /* of an exchange: messages are cut to this many bytes */
	long deadline; /* seconds */
};

static struct timespec peer_started;

static double peer_clock(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - peer_started.tv_sec) +
	       (double)(now.tv_nsec - peer_started.tv_nsec) / 1e9;
}

__attribute__((format(printf, 1, 2))) static void note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%9.3f ", peer_clock());
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

__attribute__((noreturn)) static void fail(const char *what)
{
	note("%s: %s", what, strerror(errno));
	exit(1);
}

__attribute__((noreturn)) static void usage(const char *problem, const char *word)
{
	fprintf(stderr,
	        "peer: %s%s%s\n"
	        "usage: peer recv --port P --addr A[,B] --out FILE [options]\n"
	        "       peer send --port P --addr A[,B] --to C[,D] --in FILE [options]\n"
	        "       peer connect --port P --addr A[,B] --to C[,D] --end graceful|abort [options]\n"
	        "       peer accept --port P --addr A[,B] [options]\n"
	        "options: --udp-port U --peer-udp-port V --message BYTES --every MS --buffer BYTES\n"
	        "         --rto-initial MS --rto-min MS --rto-max MS --pmr N --pf N\n"
	        "         --heartbeat MS --cmt-dac 0|1 --asconf 0|1 --interleave 0|1 --deadline SECONDS\n"
	        "         --at MS:add|rem|prefer|primary|raw:ADDRESS\n"
	        "         --local-port P --run N --again N --longest BYTES --auth-key SECRET\n",
	        problem, word != NULL ? " " : "", word != NULL ? word : "");
	exit(2);
}

/* An address without a port. */
static void parse_address(union addr *a, const char *word)
{
	memset(a, 0, sizeof(*a));
	if (inet_pton(AF_INET, word, &a->v4.sin_addr) == 1)
		a->v4.sin_family = AF_INET;
	else if (inet_pton(AF_INET6, word, &a->v6.sin6_addr) == 1)
		a->v6.sin6_family = AF_INET6;
	else
		usage("not an IP address:", word);
}

static void parse_addresses(struct addr_list *list, const char *text)
{
	char copy[512], *rest = NULL;

	if (strlen(text) >= sizeof(copy))
		usage("too many addresses:", text);
	strcpy(copy, text);
	for (char *word = strtok_r(copy, ",", &rest); word != NULL; word = strtok_r(NULL, ",", &rest)) {
		if (list->count == MAX_ADDRS)
			usage("too many addresses:", text);
		union addr *a = &list->at[list->count++];
		parse_address(a, word);
		list->has_v6 |= a->sa.sa_family == AF_INET6;
	}
}

static void parse_change(struct options *o, const char *text)
{
	const int kinds = sizeof(change_names) / sizeof(change_names[0]);
	struct change *c = &o->changes[o->change_count];
	char *kind = NULL;
	const char *address;
	int i;

	if (o->change_count == MAX_CHANGES)
		usage("too many changes:", text);
	c->at = strtol(text, &kind, 10);
	address = *kind == ':' ? strchr(kind + 1, ':') : NULL;
	if (kind == text || c->at < 0 || address == NULL)
		usage("not MS:WHAT:ADDRESS:", text);
	for (i = 0; i < kinds; i++) {
		size_t n = strlen(change_names[i]);
		if ((size_t)(address - kind - 1) == n && memcmp(kind + 1, change_names[i], n) == 0)
			break;
	}
	if (i == kinds)
		usage("not add, rem, prefer, primary or raw:", text);
	c->kind = (enum change_kind)i;
	parse_address(&c->address, address + 1);
	o->change_count++;
}

/* sin_port and sin6_port are at the same place. */
static void set_port(struct addr_list *list, long port)
{
	for (int i = 0; i < list->count; i++)
		list->at[i].v4.sin_port = htons((uint16_t)port);
}

static socklen_t addr_size(const union addr *a)
{
	return a->sa.sa_family == AF_INET6 ? sizeof(a->v6) : sizeof(a->v4);
}

static const char *addr_name(const void *address)
{
	static _Thread_local char text[INET6_ADDRSTRLEN];
	const union addr *a = address;

	if (a->sa.sa_family == AF_INET)
		return inet_ntop(AF_INET, &a->v4.sin_addr, text, sizeof(text));
	if (a->sa.sa_family == AF_INET6)
		return inet_ntop(AF_INET6, &a->v6.sin6_addr, text, sizeof(text));
	return "?";
}

static long parse_number(const char *name, const char *text)
{
	char *end = NULL;
	long n = strtol(text, &end, 10);

	if (end == text || *end != '\0' || n < 0)
		usage("not a number after", name);
	return n;
}

static struct options parse_options(int argc, char **argv)
{
	struct options o = {
		.port = -1, .udp_port = 9899, .peer_udp_port = -1, .message = 16384, .buffer = 1 << 20,
		.rto_initial = -1, .rto_min = -1, .rto_max = -1, .path_max_retrans = -1,
		.pf_threshold = -1, .heartbeat = -1, .cmt_dac = -1, .asconf = -1, .deadline = 120, .run = 1,
		.longest = 1 << 20,
	};
	struct { const char *name; long *value; } numbers[] = {
		{ "--port", &o.port }, { "--udp-port", &o.udp_port }, { "--peer-udp-port", &o.peer_udp_port },
		{ "--message", &o.message }, { "--every", &o.every }, { "--buffer", &o.buffer }, { "--rto-initial", &o.rto_initial },
		{ "--rto-min", &o.rto_min }, { "--rto-max", &o.rto_max }, { "--pmr", &o.path_max_retrans },
		{ "--pf", &o.pf_threshold }, { "--heartbeat", &o.heartbeat }, { "--deadline", &o.deadline },
		{ "--cmt-dac", &o.cmt_dac }, { "--interleave", &o.interleave }, { "--asconf", &o.asconf }, { "--run", &o.run }, { "--again", &o.again },
		{ "--local-port", &o.local_port }, { "--longest", &o.longest },
	};
	const char *file_option = NULL;
	const int verbs = sizeof(verb_names) / sizeof(verb_names[0]);
	int verb = 0;

	clock_gettime(CLOCK_MONOTONIC, &peer_started);
	while (argc >= 2 && verb < verbs && strcmp(argv[1], verb_names[verb]) != 0)
		verb++;
	if (argc < 2 || verb == verbs)
		usage("first word must be recv, send, connect or accept", NULL);
	o.verb = (enum verb)verb;
	o.connecting = o.verb == VERB_SEND || o.verb == VERB_CONNECT;
	if (o.verb == VERB_SEND || o.verb == VERB_RECV)
		file_option = o.connecting ? "--in" : "--out";
	for (int i = 2; i < argc; i += 2) {
		size_t n = 0;
		if (i + 1 == argc)
			usage("nothing after", argv[i]);
		if (strcmp(argv[i], "--addr") == 0) {
			parse_addresses(&o.local, argv[i + 1]);
		} else if (strcmp(argv[i], "--to") == 0) {
			parse_addresses(&o.remote, argv[i + 1]);
		} else if (strcmp(argv[i], "--at") == 0) {
			parse_change(&o, argv[i + 1]);
		} else if (strcmp(argv[i], "--auth-key") == 0) {
			o.auth_key = argv[i + 1];
		} else if (strcmp(argv[i], "--end") == 0 && o.verb == VERB_CONNECT) {
			o.abort = strcmp(argv[i + 1], "abort") == 0;
			if (!o.abort && strcmp(argv[i + 1], "graceful") != 0)
				usage("not graceful or abort:", argv[i + 1]);
		} else if (file_option != NULL && strcmp(argv[i], file_option) == 0) {
			o.file = argv[i + 1];
		} else {
			while (n < sizeof(numbers) / sizeof(numbers[0]) && strcmp(argv[i], numbers[n].name) != 0)
				n++;
			if (n == sizeof(numbers) / sizeof(numbers[0]))
				usage("unknown option", argv[i]);
			*numbers[n].value = parse_number(argv[i], argv[i + 1]);
		}
	}
	if (o.port < 1 || o.port > 65535)
		usage("--port must be 1 to 65535", NULL);
	if (o.local.count == 0)
		usage("--addr is missing", NULL);
	if (file_option != NULL && o.file == NULL)
		usage("a file is missing:", file_option);
	if (o.connecting && o.remote.count == 0)
		usage("--to is missing", NULL);
	if (o.message < 1)
		usage("--message must be at least 1", NULL);
	if (o.buffer == 0)
		o.buffer = -1;
	if (o.peer_udp_port < 0)
		o.peer_udp_port = o.udp_port;
	set_port(&o.local, o.connecting ? o.local_port : o.port);
	set_port(&o.remote, o.port);
	return o;
}

/* A peer that hangs must not hang the test. */
static void *deadline_thread(void *seconds)
{
	sleep(*(unsigned *)seconds);
	note("the deadline of %u s passed", *(unsigned *)seconds);
	_exit(3);
}

/* Waits until message n is due, counted from 0. Times do not add up: each is counted from the first. */
static void wait_for_message(const struct options *o, uint64_t n)
{
	static struct timespec first;
	struct timespec due;

	if (o->every <= 0)
		return;
	if (n == 0)
		clock_gettime(CLOCK_MONOTONIC, &first);
	due = first;
	due.tv_sec += (time_t)(n * (uint64_t)o->every / 1000);
	due.tv_nsec += (long)(n * (uint64_t)o->every % 1000) * 1000000;
	if (due.tv_nsec >= 1000000000) {
		due.tv_sec++;
		due.tv_nsec -= 1000000000;
	}
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL) == EINTR) {
	}
}

static void start_deadline(const struct options *o)
{
	static unsigned seconds;
	pthread_t thread;

	seconds = (unsigned)o->deadline;
	if (pthread_create(&thread, NULL, deadline_thread, &seconds) != 0)
		fail("pthread_create");
	pthread_detach(thread);
}

/* The changes of --at; one that fails ends the program. `change` returns 0, or -1 with errno. */
struct changing {
	const struct options *o;
	void *socket;
	int (*change)(void *socket, const struct options *o, const struct change *c);
};

static void *change_thread(void *argument)
{
	const struct changing *c = argument;
	long passed = 0;

	for (int i = 0; i < c->o->change_count; i++) {
		const struct change *next = &c->o->changes[i];
		if (next->at > passed) {
			usleep((useconds_t)(next->at - passed) * 1000);
			passed = next->at;
		}
		if (c->change(c->socket, c->o, next) != 0) {
			note("%s %s: %s", change_names[next->kind], addr_name(&next->address), strerror(errno));
			_exit(1);
		}
		note("%s %s", change_names[next->kind], addr_name(&next->address));
	}
	return NULL;
}

/* The association is set up: times of --at begin. `c` must outlive the association. */
static void start_changes(struct changing *c)
{
	pthread_t thread;

	if (c->o->change_count == 0)
		return;
	if (pthread_create(&thread, NULL, change_thread, c) != 0)
		fail("pthread_create");
	pthread_detach(thread);
}

static FILE *open_file(const struct options *o)
{
	FILE *f = fopen(o->file, o->connecting ? "rb" : "wb");

	if (f == NULL)
		fail(o->file);
	if (!o->connecting) /* so that a watcher sees the file grow as the data arrives */
		setvbuf(f, NULL, _IONBF, 0);
	return f;
}

#endif
