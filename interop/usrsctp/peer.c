/* A multihomed usrsctp endpoint, over UDP or without; its command line is in peer.h.
 *
 *   cc -O2 -Wall -Wextra -I../common -o peer peer.c -lusrsctp -lmd -lpthread */
#include <usrsctp.h>
#include "exchange.h"

/* How the association ended, as the reading thread learned it. */
static int went_up, shut_down, lost, restarted;

static const char *path_state(uint32_t state)
{
	switch (state) {
	case SCTP_ADDR_AVAILABLE: return "available";
	case SCTP_ADDR_UNREACHABLE: return "unreachable";
	case SCTP_ADDR_REMOVED: return "removed";
	case SCTP_ADDR_ADDED: return "added";
	case SCTP_ADDR_MADE_PRIM: return "made primary";
	case SCTP_ADDR_CONFIRMED: return "confirmed";
	default: return "changed";
	}
}

static void on_association_change(const struct sctp_assoc_change *change)
{
	switch (change->sac_state) {
	case SCTP_COMM_UP:
		went_up = 1;
		note("association up: %u streams out, %u in", change->sac_outbound_streams,
		     change->sac_inbound_streams);
		break;
	case SCTP_RESTART:
		restarted = 1;
		note("association restarted");
		break;
	case SCTP_SHUTDOWN_COMP:
		shut_down = 1;
		note("association shut down");
		break;
	default: /* SCTP_COMM_LOST, SCTP_CANT_STR_ASSOC */
		lost = 1;
		note("association lost, error %u", change->sac_error);
	}
}

static void on_notification(const void *data)
{
	const union sctp_notification *n = data;

	switch (n->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		on_association_change(&n->sn_assoc_change);
		break;
	case SCTP_PEER_ADDR_CHANGE:
		note("path %s %s, error %u", addr_name(&n->sn_paddr_change.spc_aaddr),
		     path_state(n->sn_paddr_change.spc_state), n->sn_paddr_change.spc_error);
		break;
	case SCTP_SHUTDOWN_EVENT:
		note("the other end shuts down");
		break;
	default:
		note("notification %u", n->sn_header.sn_type);
	}
}

/* Reads until the association ends; writes messages to `out` if there is one. */
static uint64_t read_all(struct socket *s, FILE *out)
{
	static char buffer[1 << 20];
	uint64_t bytes = 0;

	for (;;) {
		union addr from;
		socklen_t from_length = sizeof(from), info_length = 0;
		unsigned info_type = 0;
		int flags = 0;
		ssize_t n = usrsctp_recvv(s, buffer, sizeof(buffer), &from.sa, &from_length, NULL,
		                          &info_length, &info_type, &flags);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			note("receiving: %s", strerror(errno));
		if (n <= 0)
			return bytes;
		if (flags & MSG_NOTIFICATION) {
			on_notification(buffer);
			continue;
		}
		if (out == NULL) {
			note("%zd bytes of data arrived at the sending end", n);
			continue;
		}
		if (fwrite(buffer, 1, (size_t)n, out) != (size_t)n)
			fail("writing the file");
		bytes += (uint64_t)n;
	}
}

static void *reader(void *s)
{
	read_all(s, NULL);
	return NULL;
}

/* Debug text of the library that matters goes to stderr like our own. */
static void library_says(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
}

static void configure_stack(const struct options *o)
{
	usrsctp_init((uint16_t)o->udp_port, NULL, library_says);
	/* The default spares the checksum on loopback; a test wants it everywhere. */
	usrsctp_sysctl_set_sctp_no_csum_on_loopback(0);
#define SET(control, value) \
	if ((value) >= 0 && usrsctp_sysctl_set_##control((uint32_t)(value)) != 0) \
		fail("setting " #control);
	SET(sctp_rto_initial_default, o->rto_initial)
	SET(sctp_rto_min_default, o->rto_min)
	SET(sctp_rto_max_default, o->rto_max)
	SET(sctp_path_rtx_max_default, o->path_max_retrans)
	SET(sctp_path_pf_threshold, o->pf_threshold)
	SET(sctp_heartbeat_interval_default, o->heartbeat)
	SET(sctp_asconf_enable, o->asconf)
	SET(sctp_auth_enable, o->asconf)
	SET(sctp_cmt_on_off, o->cmt_dac)
	SET(sctp_cmt_use_dac, o->cmt_dac)
	SET(sctp_sendspace, o->buffer)
	SET(sctp_recvspace, o->buffer)
#undef SET
}

static void watch(struct socket *s, uint16_t type)
{
	struct sctp_event event = { .se_assoc_id = SCTP_ALL_ASSOC, .se_type = type, .se_on = 1 };

	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_EVENT, &event, sizeof(event)) != 0)
		fail("SCTP_EVENT");
}

/* DATA of the other end must be authenticated by a shared key (RFC 4895). */
static void demand_auth(struct socket *s, const char *secret)
{
	struct sctp_authchunk chunk = { .sauth_chunk = 0 };
	struct sctp_authkeyid active = { .scact_keynumber = 1 };
	struct shared_key key;
	socklen_t length = shared_key(&key, secret);

	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_AUTH_CHUNK, &chunk, sizeof(chunk)) != 0)
		fail("SCTP_AUTH_CHUNK");
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_AUTH_KEY, &key, length) != 0)
		fail("SCTP_AUTH_KEY");
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_AUTH_ACTIVE_KEY, &active, sizeof(active)) != 0)
		fail("SCTP_AUTH_ACTIVE_KEY");
}

/* The header of 0.9.5 does not name it. */
#ifndef SCTP_INTERLEAVING_SUPPORTED
#define SCTP_INTERLEAVING_SUPPORTED 0x00001206
#endif

/* I-DATA is offered (RFC 8260 section 4.3.1). */
static void offer_interleaving(struct socket *s)
{
	int all_streams = 2;
	struct sctp_assoc_value on = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 1 };

	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_FRAGMENT_INTERLEAVE, &all_streams, sizeof(all_streams)) != 0)
		fail("SCTP_FRAGMENT_INTERLEAVE");
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_INTERLEAVING_SUPPORTED, &on, sizeof(on)) != 0)
		fail("SCTP_INTERLEAVING_SUPPORTED");
}

static struct socket *open_socket(const struct options *o)
{
	struct sctp_initmsg init = { .sinit_num_ostreams = CONTROL + 1 };
	int v6 = o->local.has_v6 || o->remote.has_v6, zero = 0, one = 1;
	struct sctp_udpencaps encaps = { .sue_port = htons((uint16_t)o->peer_udp_port) };
	struct socket *s = usrsctp_socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, IPPROTO_SCTP, NULL,
	                                  NULL, 0, NULL);

	if (s == NULL)
		fail("usrsctp_socket");
	if (v6)
		usrsctp_setsockopt(s, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	encaps.sue_address.ss_family = v6 ? AF_INET6 : AF_INET;
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof(encaps)) != 0)
		fail("SCTP_REMOTE_UDP_ENCAPS_PORT");
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_NODELAY, &one, sizeof(one)) != 0)
		fail("SCTP_NODELAY");
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_INITMSG, &init, sizeof(init)) != 0)
		fail("SCTP_INITMSG");
	if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_RECVRCVINFO, &one, sizeof(one)) != 0)
		fail("SCTP_RECVRCVINFO");
	if (o->auth_key != NULL)
		demand_auth(s, o->auth_key);
	if (o->interleave > 0)
		offer_interleaving(s);
	watch(s, SCTP_ASSOC_CHANGE);
	watch(s, SCTP_PEER_ADDR_CHANGE);
	watch(s, SCTP_SHUTDOWN_EVENT);
	/* One by one: the library wants an array of full structures of one family. */
	for (int i = 0; i < o->local.count; i++) {
		struct addr_list one_address = { .at = { o->local.at[i] }, .count = 1 };
		if (i > 0 && !o->connecting)
			set_port(&one_address, o->port);
		/* A port is in use for a moment after the end of an association. */
		for (int tries = 0; usrsctp_bindx(s, &one_address.at[0].sa, 1, SCTP_BINDX_ADD_ADDR) != 0; tries++) {
			if (errno != EADDRINUSE || tries == 300)
				fail("usrsctp_bindx");
			usleep(10000);
		}
	}
	return s;
}

static void wait_until_up(struct socket *s)
{
	/* usrsctp_connectx returns before the association is up, even on a blocking socket. */
	for (int i = 0; i < 10000; i++) {
		struct sctp_status status;
		socklen_t length = sizeof(status);
		memset(&status, 0, sizeof(status));
		if (usrsctp_getsockopt(s, IPPROTO_SCTP, SCTP_STATUS, &status, &length) == 0 &&
		    status.sstat_state == SCTP_ESTABLISHED)
			return;
		usleep(1000);
	}
	errno = ETIMEDOUT;
	fail("setting up the association");
}

static void connect_to_all(struct socket *s, const struct options *o)
{
	char packed[sizeof(o->remote.at)];
	size_t length = 0;
	sctp_assoc_t id = 0;

	for (int i = 0; i < o->remote.count; i++) {
		socklen_t n = addr_size(&o->remote.at[i]);
		memcpy(packed + length, &o->remote.at[i], n);
		length += n;
	}
	if (usrsctp_connectx(s, (const struct sockaddr *)packed, o->remote.count, &id) != 0)
		fail("usrsctp_connectx");
	wait_until_up(s);
}

/* A change of --at. The library takes a port of 0 for that of the socket. */
static int change(void *socket, const struct options *o, const struct change *c)
{
	struct socket *s = socket;
	union addr address = c->address;
	socklen_t size = addr_size(&address);
	struct sctp_setpeerprim prefer = { 0 };
	struct sctp_setprim primary = { 0 };
	struct sctp_udpencaps encaps = { 0 }; /* port 0: without UDP */

	switch (c->kind) {
	case CHANGE_ADD:
		return usrsctp_bindx(s, &address.sa, 1, SCTP_BINDX_ADD_ADDR);
	case CHANGE_REM:
		return usrsctp_bindx(s, &address.sa, 1, SCTP_BINDX_REM_ADDR);
	case CHANGE_PREFER:
		memcpy(&prefer.sspp_addr, &address, size);
		return usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_SET_PEER_PRIMARY_ADDR, &prefer, sizeof(prefer));
	case CHANGE_RAW:
		address.v4.sin_port = htons((uint16_t)o->port);
		memcpy(&encaps.sue_address, &address, size);
		return usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof(encaps));
	default:
		address.v4.sin_port = htons((uint16_t)o->port);
		memcpy(&primary.ssp_addr, &address, size);
		/* EINVAL: a heartbeat has not confirmed the address yet. */
		for (int i = 0; i < 30; i++) {
			if (usrsctp_setsockopt(s, IPPROTO_SCTP, SCTP_PRIMARY_ADDR, &primary, sizeof(primary)) == 0)
				return 0;
			if (errno != EINVAL)
				break;
			usleep(100000);
		}
		return -1;
	}
}

/* The library lives in this process: it must stay until the last packet is answered. */
static void finish(struct socket *s)
{
	usrsctp_close(s);
	for (int i = 0; i < 1000 && usrsctp_finish() != 0; i++)
		usleep(10000);
}

static int receive(const struct options *o)
{
	FILE *out = open_file(o);
	struct socket *listener = open_socket(o), *s;
	struct changing changing = { o, NULL, change };
	uint64_t bytes;

	if (usrsctp_listen(listener, 1) != 0)
		fail("usrsctp_listen");
	note("listening on port %ld", o->port);
	s = usrsctp_accept(listener, NULL, NULL);
	if (s == NULL)
		fail("usrsctp_accept");
	note("accepted");
	changing.socket = s;
	start_changes(&changing);
	bytes = read_all(s, out);
	if (fclose(out) != 0)
		fail("closing the file");
	usrsctp_close(listener);
	finish(s);
	if (lost || !shut_down) {
		note("the association ended without a shutdown, after %llu bytes", (unsigned long long)bytes);
		return 1;
	}
	printf("done %llu\n", (unsigned long long)bytes);
	return 0;
}

static uint64_t send_file(struct socket *s, const struct options *o, FILE *in)
{
	char *message = malloc((size_t)o->message);
	uint64_t bytes = 0, messages = 0;
	size_t n;

	if (message == NULL)
		fail("malloc");
	while ((n = fread(message, 1, (size_t)o->message, in)) > 0) {
		wait_for_message(o, messages++);
		if (usrsctp_sendv(s, message, n, NULL, 0, NULL, 0, SCTP_SENDV_NOINFO, 0) != (ssize_t)n)
			fail("usrsctp_sendv");
		bytes += n;
	}
	if (ferror(in))
		fail("reading the file");
	free(message);
	return bytes;
}

static int transmit(const struct options *o)
{
	FILE *in = open_file(o);
	struct socket *s = open_socket(o);
	struct changing changing = { o, s, change };
	pthread_t thread;
	uint64_t bytes;

	connect_to_all(s, o);
	start_changes(&changing);
	if (pthread_create(&thread, NULL, reader, s) != 0)
		fail("pthread_create");
	bytes = send_file(s, o, in);
	fclose(in);
	note("all handed to the stack, shutting down");
	if (usrsctp_shutdown(s, SHUT_WR) != 0)
		fail("usrsctp_shutdown");
	pthread_join(thread, NULL);
	finish(s);
	if (lost || !shut_down) {
		note("the association ended without a shutdown");
		return 1;
	}
	printf("done %llu\n", (unsigned long long)bytes);
	return 0;
}

/* --- the exchange ------------------------------------------------------------------------- */

static int carry(void *socket, uint16_t stream, uint32_t ppid, int unordered, const void *data, size_t length)
{
	struct sctp_sndinfo info = {
		.snd_sid = stream, .snd_ppid = htonl(ppid), .snd_flags = unordered ? SCTP_UNORDERED : 0,
	};

	if (usrsctp_sendv(socket, data, length, NULL, 0, &info, sizeof(info), SCTP_SENDV_SNDINFO, 0) == (ssize_t)length)
		return 0;
	note("sending on stream %u: %s", stream, strerror(errno));
	return -1;
}

static struct part take(void *socket, void *buffer, size_t size)
{
	struct part part = { .kind = PART_NOTHING };
	struct sctp_rcvinfo info;
	union addr from;
	socklen_t from_length = sizeof(from), info_length = sizeof(info);
	unsigned info_type = 0;
	int flags = 0;
	ssize_t n = usrsctp_recvv(socket, buffer, size, &from.sa, &from_length, &info, &info_length, &info_type, &flags);

	if (n < 0 && errno == EINTR)
		return part;
	if (n <= 0) {
		if (n < 0)
			note("receiving: %s", strerror(errno));
		part.kind = shut_down && !lost ? PART_SHUT_DOWN : PART_LOST;
	} else if (flags & MSG_NOTIFICATION) {
		on_notification(buffer);
		if (restarted)
			part.kind = PART_RESTARTED;
		else if (lost)
			part.kind = PART_LOST;
		else if (shut_down)
			part.kind = PART_SHUT_DOWN;
		restarted = 0;
	} else if (info_type != SCTP_RECVV_RCVINFO) {
		note("%zd bytes of data without a stream", n);
		exit(1);
	} else {
		part.kind = PART_DATA;
		part.stream = info.rcv_sid;
		part.ppid = ntohl(info.rcv_ppid);
		part.unordered = (info.rcv_flags & SCTP_UNORDERED) != 0;
		part.last = (flags & MSG_EOR) != 0;
		part.length = (size_t)n;
	}
	return part;
}

static int end_gracefully(void *socket)
{
	return usrsctp_shutdown(socket, SHUT_WR);
}

static int end_by_abort(void *socket)
{
	static char why[] = "as asked";
	struct sctp_sndinfo info = { .snd_flags = SCTP_ABORT };

	return usrsctp_sendv(socket, why, sizeof(why) - 1, NULL, 0, &info, sizeof(info), SCTP_SENDV_SNDINFO, 0) < 0 ? -1 : 0;
}

/* Over one association; a complete one ends the program. */
static int exchange_once(const struct options *o, struct socket *s, uint32_t *run)
{
	struct carrier carrier = { s, carry, take, end_gracefully, end_by_abort };
	static struct changing changing;

	changing = (struct changing){ o, s, change };
	start_changes(&changing);
	return exchange_over(o, &carrier, run);
}

static int exchange(const struct options *o)
{
	struct socket *listener = o->verb == VERB_ACCEPT ? open_socket(o) : NULL, *s;
	uint32_t run = (uint32_t)o->run;
	int status;

	if (listener != NULL && usrsctp_listen(listener, 1) != 0)
		fail("usrsctp_listen");
	for (long tries = 0;; tries++) {
		shut_down = lost = restarted = 0;
		if (listener != NULL) {
			if ((s = usrsctp_accept(listener, NULL, NULL)) == NULL)
				fail("usrsctp_accept");
		} else {
			s = open_socket(o);
			connect_to_all(s, o);
		}
		status = exchange_once(o, s, &run);
		if (status == 0 || tries == o->again)
			break;
		usrsctp_close(s);
	}
	if (listener != NULL)
		usrsctp_close(listener);
	fflush(stdout);
	finish(s);
	return status == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	struct options o = parse_options(argc, argv);

	start_deadline(&o);
	configure_stack(&o);
	switch (o.verb) {
	case VERB_SEND: return transmit(&o);
	case VERB_RECV: return receive(&o);
	default: return exchange(&o);
	}
}
