/* The exchange of `interop/table`: messages of many kinds both ways at once. What the stacks
 * differ in is a `carrier`; interop/exchange/src/main.rs and pion/main.go do the same.
 *
 *   PEER connect --port P --local-port L --addr A[,B] --to C[,D] --end graceful|abort [options]
 *   PEER accept --port P --addr A[,B] [options]
 *
 * Each side prints a line for each stream that it sent and received, with a SHA-256, and the
 * longest pause between two arrivals, in ms. The side
 * that connected ends the association; the other one prints how it ended. A side whose peer
 * restarts (RFC 9260 section 5.2) begins again, and so does one whose association is lost, up to
 * --again times. A run of the exchange has a number, which its messages carry as their payload
 * protocol identifier: what an earlier run left behind counts for nothing. */
/* Include a header with the types of RFC 6458 before it. */
#ifndef INTEROP_EXCHANGE_H
#define INTEROP_EXCHANGE_H

#include "peer.h"
#include <sha2.h>

#define LANES 43
#define CONTROL 43 /* the stream of the last message of each side */
#define MAX_MESSAGES 200
#define MAX_LENGTH 250003
#define HELD 2 /* messages that the other side may hold back until the case is done (--hold) */

/* A shared key (RFC 4895) as the socket option SCTP_AUTH_KEY takes it. */
struct shared_key {
	struct sctp_authkey head;
	char secret[64];
};

/* Returns the length of the option. */
static socklen_t shared_key(struct shared_key *key, const char *secret)
{
	size_t length = strlen(secret);

	if (length > sizeof(key->secret))
		usage("too long a secret:", secret);
	key->head = (struct sctp_authkey){ .sca_keynumber = 1, .sca_keylength = (uint16_t)length };
	memcpy(key->head.sca_key, secret, length);
	return (socklen_t)(sizeof(key->head) + length);
}

/* What arrived. */
enum part_kind { PART_DATA, PART_NOTHING, PART_RESTARTED, PART_LOST, PART_SHUT_DOWN };

struct part {
	enum part_kind kind;
	uint16_t stream;
	uint32_t ppid;
	int unordered;
	int last; /* of its message */
	size_t length;
};

/* One association of a stack. */
struct carrier {
	void *socket;
	/* Blocks until there is room; -1 when the association is gone. */
	int (*send)(void *socket, uint16_t stream, uint32_t ppid, int unordered, const void *data, size_t length);
	/* Blocks until something arrives. */
	struct part (*receive)(void *socket, void *buffer, size_t size);
	int (*shutdown)(void *socket);
	int (*abort)(void *socket);
};

struct lane {
	uint16_t stream;
	int messages, unordered;
};

static struct lane lane_at(int n)
{
	struct lane l = { (uint16_t)n, 10, 0 };

	if (n == 0 || n == 41)
		l.messages = 200;
	else if (n == 42)
		l.messages = 4;
	l.unordered = n == 41;
	return l;
}

/* Bulk on stream 0, short messages on 40 streams, unordered ones, large ones. */
static size_t full_length(uint16_t stream, int i)
{
	switch (stream) {
	case 0: return 16384;
	case 41: return 500;
	case 42: return 250000 + (size_t)i;
	default: return 1 + (stream * 37u + (unsigned)i * 1013u) % 3000;
	}
}

static size_t message_length(const struct options *o, uint16_t stream, int i)
{
	size_t length = full_length(stream, i);

	return length < (size_t)o->longest ? length : (size_t)o->longest;
}

/* The sums of a stream's messages. */
struct sum {
	int count;
	uint64_t bytes;
	uint8_t each[MAX_MESSAGES][SHA256_DIGEST_LENGTH];
};

static void sum_add(struct sum *s, const void *message, size_t length)
{
	const uint8_t head[4] = { (uint8_t)(length >> 24), (uint8_t)(length >> 16), (uint8_t)(length >> 8), (uint8_t)length };
	SHA2_CTX one;

	if (s->count == MAX_MESSAGES) {
		note("more than %d messages on a stream", MAX_MESSAGES);
		exit(1);
	}
	SHA256Init(&one);
	SHA256Update(&one, head, sizeof(head));
	SHA256Update(&one, message, length);
	SHA256Final(s->each[s->count++], &one);
	s->bytes += length;
}

static int digest_order(const void *a, const void *b)
{
	return memcmp(a, b, SHA256_DIGEST_LENGTH);
}

/* Of unordered messages the sorted sums count. */
static void sum_print(const char *word, struct sum *s, struct lane l)
{
	uint8_t digest[SHA256_DIGEST_LENGTH];
	SHA2_CTX all;

	if (l.unordered)
		qsort(s->each, (size_t)s->count, sizeof(s->each[0]), digest_order);
	SHA256Init(&all);
	SHA256Update(&all, s->each[0], (size_t)s->count * sizeof(s->each[0]));
	SHA256Final(digest, &all);
	printf("%s %u %d %llu ", word, l.stream, s->count, (unsigned long long)s->bytes);
	for (int i = 0; i < SHA256_DIGEST_LENGTH; i++)
		printf("%02x", digest[i]);
	putchar('\n');
}

/* Messages of the streams of a peer, which may come in parts. */
struct arriving {
	uint8_t *bytes;
	size_t length;
};

struct exchange {
	const struct options *o;
	struct carrier *carrier;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* The run of the exchange, whether all lanes have arrived, whether the peer's last message
	 * has, and whether the association is gone. */
	uint32_t run;
	int complete, answered, gone;
	struct sum sent[LANES], received[LANES];
	struct arriving arriving[LANES + 1];
	int left; /* messages that have not arrived */
	/* When something arrived last, 0 before, and the longest time between; ms. What is held back
	 * is no pause. */
	int64_t heard, pause;
};

static int64_t clock_ms(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_MONOTONIC, &t) != 0)
		fail("clock_gettime");
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void note_pause(struct exchange *e)
{
	const int64_t now = clock_ms();

	if (e->left > HELD && e->heard != 0 && now - e->heard > e->pause)
		e->pause = now - e->heard;
	e->heard = now;
}

static void begin_run(struct exchange *e, uint32_t run)
{
	pthread_mutex_lock(&e->lock);
	e->run = run;
	e->complete = e->answered = e->gone = e->left = 0;
	e->heard = e->pause = 0;
	memset(e->received, 0, sizeof(e->received));
	for (int n = 0; n < LANES; n++) {
		e->left += lane_at(n).messages;
		e->arriving[n].length = 0;
	}
	e->arriving[CONTROL].length = 0;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

static uint32_t current_run(struct exchange *e)
{
	uint32_t run;

	pthread_mutex_lock(&e->lock);
	run = e->gone ? 0 : e->run;
	pthread_mutex_unlock(&e->lock);
	return run;
}

/* Waits for a flag of the exchange; 0 if the run ends before. */
static int await(struct exchange *e, uint32_t run, const int *flag)
{
	int got;

	pthread_mutex_lock(&e->lock);
	while (!*flag && !e->gone && e->run == run)
		pthread_cond_wait(&e->changed, &e->lock);
	got = *flag && !e->gone && e->run == run;
	pthread_mutex_unlock(&e->lock);
	return got;
}

static void raise_flag(struct exchange *e, int *flag)
{
	pthread_mutex_lock(&e->lock);
	*flag = 1;
	pthread_cond_broadcast(&e->changed);
	pthread_mutex_unlock(&e->lock);
}

static void fill(uint8_t *message, size_t length, uint64_t *random)
{
	for (size_t i = 0; i < length; i++) { /* xorshift64 */
		*random ^= *random << 13;
		*random ^= *random >> 7;
		*random ^= *random << 17;
		message[i] = (uint8_t)*random;
	}
}

/* The lanes take turns, so that messages of all kinds are under way together. */
static int send_lanes(struct exchange *e, uint32_t run, uint8_t *message)
{
	uint64_t random = 0x9e3779b97f4a7c15u + run, count = 0;

	memset(e->sent, 0, sizeof(e->sent));
	for (int i = 0; i < MAX_MESSAGES; i++) {
		for (int n = 0; n < LANES; n++) {
			struct lane l = lane_at(n);
			size_t length = message_length(e->o, l.stream, i);
			if (i >= l.messages)
				continue;
			fill(message, length, &random);
			sum_add(&e->sent[n], message, length);
			wait_for_message(e->o, count++);
			if (current_run(e) != run ||
			    e->carrier->send(e->carrier->socket, l.stream, run, l.unordered, message, length) != 0)
				return -1;
		}
	}
	return 0;
}

/* The side that connects has the first of the last messages, so that nothing of it is under
 * way when it gets the answer and ends the association. */
static void *sender(void *exchange)
{
	struct exchange *e = exchange;
	struct carrier *c = e->carrier;
	uint8_t *message = malloc(MAX_LENGTH);
	uint32_t run;

	if (message == NULL)
		fail("malloc");
	while ((run = current_run(e)) != 0) {
		int done = send_lanes(e, run, message) == 0 && await(e, run, &e->complete) &&
		           (e->o->verb == VERB_CONNECT || await(e, run, &e->answered)) &&
		           c->send(c->socket, CONTROL, run, 0, "done", 4) == 0;
		/* The next run, or the end of the association. */
		pthread_mutex_lock(&e->lock);
		while (e->run == run && !e->gone)
			pthread_cond_wait(&e->changed, &e->lock);
		pthread_mutex_unlock(&e->lock);
		note("run %u: %s", run, done ? "all sent" : "ended before its end");
	}
	free(message);
	return NULL;
}

/* Takes a part of a message. */
static void on_data(struct exchange *e, const struct part *p, const uint8_t *bytes)
{
	struct arriving *a;

	if (p->ppid != e->run)
		return;
	note_pause(e);
	if (p->stream > CONTROL || p->unordered != (p->stream == 41)) {
		note("stream %u, unordered %d: not as it was sent", p->stream, p->unordered);
		exit(1);
	}
	a = &e->arriving[p->stream];
	if (a->bytes == NULL && (a->bytes = malloc(MAX_LENGTH)) == NULL)
		fail("malloc");
	if (a->length + p->length > MAX_LENGTH) {
		note("a message on stream %u is too long", p->stream);
		exit(1);
	}
	memcpy(a->bytes + a->length, bytes, p->length);
	a->length += p->length;
	if (!p->last)
		return;
	if (p->stream == CONTROL) {
		raise_flag(e, &e->answered);
	} else {
		sum_add(&e->received[p->stream], a->bytes, a->length);
		if (--e->left == 0)
			raise_flag(e, &e->complete);
	}
	a->length = 0;
}

/* Ends an association whose exchange is over, as the options say. */
static void end_association(const struct exchange *e)
{
	const char *how = e->o->abort ? "abort" : "shutdown";

	if ((e->o->abort ? e->carrier->abort : e->carrier->shutdown)(e->carrier->socket) != 0)
		fail(how);
}

/* Takes what arrives until the association ends; returns how. */
static enum part_kind receive_all(struct exchange *e)
{
	static uint8_t buffer[1 << 18];
	int ending = 0;

	for (;;) {
		struct part p = e->carrier->receive(e->carrier->socket, buffer, sizeof(buffer));
		switch (p.kind) {
		case PART_DATA:
			on_data(e, &p, buffer);
			break;
		case PART_RESTARTED:
			printf("restarted\n");
			begin_run(e, e->run + 1);
			break;
		case PART_NOTHING:
			break;
		default:
			return p.kind;
		}
		if (e->o->verb == VERB_CONNECT && e->complete && e->answered && !ending) {
			ending = 1;
			end_association(e);
			if (e->o->abort)
				return PART_LOST;
		}
	}
}

/* One association: both directions, and its end. Returns 0 when the exchange was complete, else
 * -1; then another one may follow. */
static int exchange_over(const struct options *o, struct carrier *c, uint32_t *run)
{
	static struct exchange e = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	enum part_kind ended;
	pthread_t thread;

	e.o = o;
	e.carrier = c;
	begin_run(&e, *run);
	if (pthread_create(&thread, NULL, sender, &e) != 0)
		fail("pthread_create");
	ended = receive_all(&e);
	raise_flag(&e, &e.gone);
	pthread_join(thread, NULL);
	*run = e.run + 1;
	if (!e.complete || !e.answered) {
		printf("lost\n");
		note("the association ended before the exchange: %d messages are missing", e.left);
		return -1;
	}
	for (int n = 0; n < LANES; n++) {
		sum_print("sent", &e.sent[n], lane_at(n));
		sum_print("received", &e.received[n], lane_at(n));
	}
	printf("pause %lld\n", (long long)e.pause);
	printf("end %s\n", ended == PART_SHUT_DOWN ? "graceful" : "aborted");
	return 0;
}

#endif
