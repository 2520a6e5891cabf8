/* A multihomed endpoint of the Linux kernel's SCTP; its command line is in peer.h.
 *
 *   cc -O2 -Wall -Wextra -static -I../common -o peer peer.c -lmd -lpthread
 *
 * Plain system calls only, so that one static program runs in the guest. UDP encapsulation
 * needs the host's side too: sysctl net.sctp.udp_port. */
#include "peer.h"
#ifndef MSG_FIN /* the kernel's header wants it, glibc's hides it without _GNU_SOURCE */
#define MSG_FIN 0x200
#endif
#include <linux/sctp.h>
/* It needs what is above. */
#include "exchange.h"

#ifndef SOL_SCTP
#define SOL_SCTP 132
#endif
#ifndef MSG_NOTIFICATION
#define MSG_NOTIFICATION 0x8000
#endif

static int shut_down, lost, restarted;

static const char *path_state(int state)
{
	switch (state) {
	case SCTP_ADDR_AVAILABLE: return "available";
	case SCTP_ADDR_UNREACHABLE: return "unreachable";
	case SCTP_ADDR_REMOVED: return "removed";
	case SCTP_ADDR_ADDED: return "added";
	case SCTP_ADDR_MADE_PRIM: return "made primary";
	case SCTP_ADDR_CONFIRMED: return "confirmed";
	case SCTP_ADDR_POTENTIALLY_FAILED: return "potentially failed";
	default: return "changed";
	}
}

static void on_association_change(const struct sctp_assoc_change *change)
{
	switch (change->sac_state) {
	case SCTP_COMM_UP:
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
	struct sctp_paddr_change path;

	switch (n->sn_header.sn_type) {
	case SCTP_ASSOC_CHANGE:
		on_association_change(&n->sn_assoc_change);
		break;
	case SCTP_PEER_ADDR_CHANGE:
		/* the structure is packed: a copy is aligned */
		memcpy(&path, data, sizeof(path));
		note("path %s %s, error %d", addr_name(&path.spc_aaddr), path_state(path.spc_state),
		     path.spc_error);
		break;
	case SCTP_SHUTDOWN_EVENT:
		/* The kernel ends the stream of data here, before the shutdown is complete. */
		shut_down = 1;
		note("the other end shuts down");
		break;
	default:
		note("notification %u", n->sn_header.sn_type);
	}
}

/* Reads until the association ends; writes messages to `out` if there is one. */
static uint64_t read_all(int s, FILE *out)
{
	static char buffer[1 << 20];
	uint64_t bytes = 0;

	for (;;) {
		struct iovec part = { .iov_base = buffer, .iov_len = sizeof(buffer) };
		struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t n = recvmsg(s, &message, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != ENOTCONN) { /* ENOTCONN: the association has ended */
			lost |= errno == ECONNRESET || errno == ETIMEDOUT || errno == ECONNABORTED;
			note("receiving: %s", strerror(errno));
		}
		if (n <= 0)
			return bytes;
		if (message.msg_flags & MSG_NOTIFICATION) {
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
	read_all(*(int *)s, NULL);
	return NULL;
}

static void set(int s, int option, const void *value, size_t length, const char *name)
{
	if (setsockopt(s, SOL_SCTP, option, value, (socklen_t)length) != 0)
		fail(name);
}
#define SET(s, option, value) set(s, option, &(value), sizeof(value), #option)

static void set_times(int s, const struct options *o)
{
	struct sctp_rtoinfo rto = { 0 };
	struct sctp_paddrparams path = { 0 };
	struct sctp_paddrthlds thresholds = { 0 };
	socklen_t length = sizeof(thresholds);

	/* 0 leaves a value as it is. */
	rto.srto_initial = o->rto_initial > 0 ? (uint32_t)o->rto_initial : 0;
	rto.srto_min = o->rto_min > 0 ? (uint32_t)o->rto_min : 0;
	rto.srto_max = o->rto_max > 0 ? (uint32_t)o->rto_max : 0;
	SET(s, SCTP_RTOINFO, rto);
	if (o->heartbeat >= 0) {
		path.spp_flags = SPP_HB_ENABLE;
		path.spp_hbinterval = (uint32_t)o->heartbeat;
		SET(s, SCTP_PEER_ADDR_PARAMS, path);
	}
	if (o->path_max_retrans < 0 && o->pf_threshold < 0)
		return;
	if (getsockopt(s, SOL_SCTP, SCTP_PEER_ADDR_THLDS, &thresholds, &length) != 0)
		fail("SCTP_PEER_ADDR_THLDS");
	if (o->path_max_retrans >= 0)
		thresholds.spt_pathmaxrxt = (uint16_t)o->path_max_retrans;
	if (o->pf_threshold >= 0)
		thresholds.spt_pathpfthld = (uint16_t)o->pf_threshold;
	SET(s, SCTP_PEER_ADDR_THLDS, thresholds);
}

static void set_buffers(int s, const struct options *o)
{
	int size = (int)o->buffer;

	if (size < 0)
		return;
	/* The forced variants pass net.core.*mem_max, and need root. */
	if (setsockopt(s, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) != 0 ||
	    setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) != 0)
		fail("socket buffers");
}

static size_t pack(const struct addr_list *list, char *packed)
{
	size_t length = 0;

	for (int i = 0; i < list->count; i++) {
		memcpy(packed + length, &list->at[i], addr_size(&list->at[i]));
		length += addr_size(&list->at[i]);
	}
	return length;
}

/* DATA of the other end must be authenticated by a shared key (RFC 4895). */
static void demand_auth(int s, const char *secret)
{
	struct sctp_authchunk chunk = { .sauth_chunk = 0 };
	struct sctp_authkeyid active = { .scact_keynumber = 1 };
	struct shared_key key;
	socklen_t length = shared_key(&key, secret);

	SET(s, SCTP_AUTH_CHUNK, chunk);
	set(s, SCTP_AUTH_KEY, &key, length, "SCTP_AUTH_KEY");
	SET(s, SCTP_AUTH_ACTIVE_KEY, active);
}

/* I-DATA is offered (RFC 8260 section 4.3.1). EPERM: net.sctp.intl_enable is 0. */
static void offer_interleaving(int s)
{
	int all_streams = 2;
	struct sctp_assoc_value on = { .assoc_id = SCTP_FUTURE_ASSOC, .assoc_value = 1 };

	SET(s, SCTP_FRAGMENT_INTERLEAVE, all_streams);
	SET(s, SCTP_INTERLEAVING_SUPPORTED, on);
}

static int open_socket(const struct options *o)
{
	struct sctp_initmsg init = { .sinit_num_ostreams = CONTROL + 1 };
	struct linger gone = { .l_onoff = 1, .l_linger = 0 };
	int v6 = o->local.has_v6 || o->remote.has_v6, one = 1;
	struct sctp_event_subscribe events = {
		.sctp_association_event = 1, .sctp_address_event = 1, .sctp_shutdown_event = 1,
	};
	struct sctp_udpencaps encaps = { .sue_port = htons((uint16_t)o->peer_udp_port) };
	char packed[sizeof(o->local.at)];
	int s = socket(v6 ? AF_INET6 : AF_INET, SOCK_STREAM, IPPROTO_SCTP);

	if (s < 0)
		fail("socket");
	encaps.sue_address.ss_family = v6 ? AF_INET6 : AF_INET;
	if (o->peer_udp_port > 0)
		SET(s, SCTP_REMOTE_UDP_ENCAPS_PORT, encaps);
	SET(s, SCTP_INITMSG, init);
	/* Of a peer that is killed the kernel keeps nothing: it sends ABORT and forgets the association. */
	if (o->verb >= VERB_CONNECT && setsockopt(s, SOL_SOCKET, SO_LINGER, &gone, sizeof(gone)) != 0)
		fail("SO_LINGER");
	if (o->auth_key != NULL)
		demand_auth(s, o->auth_key);
	if (o->interleave > 0)
		offer_interleaving(s);
	SET(s, SCTP_EVENTS, events);
	SET(s, SCTP_NODELAY, one);
	set_times(s, o);
	set_buffers(s, o);
	set(s, SCTP_SOCKOPT_BINDX_ADD, packed, pack(&o->local, packed), "SCTP_SOCKOPT_BINDX_ADD");
	return s;
}

/* A change of --at. The kernel takes a port of 0 for that of the socket where addresses are bound. */
static int change(void *socket, const struct options *o, const struct change *c)
{
	int s = *(int *)socket;
	union addr address = c->address, own, other;
	socklen_t size = addr_size(&address), length = sizeof(own);
	struct sctp_setpeerprim prefer = { 0 };
	struct sctp_prim primary = { 0 };
	struct sctp_udpencaps encaps = { 0 }; /* port 0: without UDP */

	(void)o;
	switch (c->kind) {
	case CHANGE_ADD:
		return setsockopt(s, SOL_SCTP, SCTP_SOCKOPT_BINDX_ADD, &address, size);
	case CHANGE_REM:
		return setsockopt(s, SOL_SCTP, SCTP_SOCKOPT_BINDX_REM, &address, size);
	case CHANGE_PREFER:
		if (getsockname(s, &own.sa, &length) != 0)
			return -1;
		address.v4.sin_port = own.v4.sin_port;
		memcpy(&prefer.sspp_addr, &address, size);
		return setsockopt(s, SOL_SCTP, SCTP_SET_PEER_PRIMARY_ADDR, &prefer, sizeof(prefer));
	default:
		if (getpeername(s, &other.sa, &length) != 0)
			return -1;
		address.v4.sin_port = other.v4.sin_port;
		if (c->kind == CHANGE_RAW) {
			memcpy(&encaps.sue_address, &address, size);
			return setsockopt(s, SOL_SCTP, SCTP_REMOTE_UDP_ENCAPS_PORT, &encaps, sizeof(encaps));
		}
		memcpy(&primary.ssp_addr, &address, size);
		return setsockopt(s, SOL_SCTP, SCTP_PRIMARY_ADDR, &primary, sizeof(primary));
	}
}

static int receive(const struct options *o)
{
	FILE *out = open_file(o);
	int listener = open_socket(o), s;
	struct changing changing = { o, &s, change };
	uint64_t bytes;

	if (listen(listener, 1) != 0)
		fail("listen");
	note("listening on port %ld", o->port);
	s = accept(listener, NULL, NULL);
	if (s < 0)
		fail("accept");
	note("accepted");
	start_changes(&changing);
	bytes = read_all(s, out);
	if (fclose(out) != 0)
		fail("closing the file");
	close(s);
	close(listener);
	if (lost || !shut_down) {
		note("the association ended without a shutdown, after %llu bytes", (unsigned long long)bytes);
		return 1;
	}
	printf("done %llu\n", (unsigned long long)bytes);
	return 0;
}

static uint64_t send_file(int s, const struct options *o, FILE *in)
{
	char *message = malloc((size_t)o->message);
	uint64_t bytes = 0, messages = 0;
	size_t n;

	if (message == NULL)
		fail("malloc");
	while ((n = fread(message, 1, (size_t)o->message, in)) > 0) {
		wait_for_message(o, messages++);
		if (send(s, message, n, MSG_NOSIGNAL) != (ssize_t)n)
			fail("send");
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
	int s = open_socket(o);
	struct changing changing = { o, &s, change };
	char packed[sizeof(o->remote.at)];
	pthread_t thread;
	uint64_t bytes;

	/* Blocks until the association is up; answers with its identifier. */
	if (setsockopt(s, SOL_SCTP, SCTP_SOCKOPT_CONNECTX, packed, (socklen_t)pack(&o->remote, packed)) < 0)
		fail("SCTP_SOCKOPT_CONNECTX");
	start_changes(&changing);
	if (pthread_create(&thread, NULL, reader, &s) != 0)
		fail("pthread_create");
	bytes = send_file(s, o, in);
	fclose(in);
	note("all handed to the stack, shutting down");
	/* The kernel sends SHUTDOWN once everything is acknowledged; the reader then sees the end. */
	if (shutdown(s, SHUT_WR) != 0)
		fail("shutdown");
	pthread_join(thread, NULL);
	close(s);
	if (lost || !shut_down) {
		note("the association ended without a shutdown");
		return 1;
	}
	printf("done %llu\n", (unsigned long long)bytes);
	return 0;
}

/* --- the exchange ------------------------------------------------------------------------- */

/* A message with SCTP_SNDINFO. */
static ssize_t send_with(int s, const struct sctp_sndinfo *info, const void *data, size_t length)
{
	union {
		struct cmsghdr head;
		char space[CMSG_SPACE(sizeof(*info))];
	} control = { .space = { 0 } };
	struct iovec part = { .iov_base = (void *)data, .iov_len = length };
	struct msghdr message = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control),
	};

	control.head.cmsg_level = IPPROTO_SCTP;
	control.head.cmsg_type = SCTP_SNDINFO;
	control.head.cmsg_len = CMSG_LEN(sizeof(*info));
	memcpy(CMSG_DATA(&control.head), info, sizeof(*info));
	return sendmsg(s, &message, MSG_NOSIGNAL);
}

static int carry(void *socket, uint16_t stream, uint32_t ppid, int unordered, const void *data, size_t length)
{
	struct sctp_sndinfo info = {
		.snd_sid = stream, .snd_ppid = htonl(ppid), .snd_flags = unordered ? SCTP_UNORDERED : 0,
	};

	if (send_with(*(int *)socket, &info, data, length) == (ssize_t)length)
		return 0;
	note("sending on stream %u: %s", stream, strerror(errno));
	return -1;
}

static void on_event(struct part *part, const void *data)
{
	on_notification(data);
	if (restarted)
		part->kind = PART_RESTARTED;
	else if (lost)
		part->kind = PART_LOST;
	restarted = 0;
}

static struct part take(void *socket, void *buffer, size_t size)
{
	struct part part = { .kind = PART_NOTHING };
	char control[256];
	struct iovec room = { .iov_base = buffer, .iov_len = size };
	struct msghdr message = {
		.msg_iov = &room, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control),
	};
	ssize_t n = recvmsg(*(int *)socket, &message, 0);
	struct cmsghdr *c;

	if (n < 0 && errno == EINTR)
		return part;
	if (n <= 0) {
		if (n < 0)
			note("receiving: %s", strerror(errno));
		part.kind = shut_down && !lost && (n == 0 || errno == ENOTCONN) ? PART_SHUT_DOWN : PART_LOST;
		return part;
	}
	if (message.msg_flags & MSG_NOTIFICATION) {
		on_event(&part, buffer);
		return part;
	}
	for (c = CMSG_FIRSTHDR(&message); c != NULL; c = CMSG_NXTHDR(&message, c)) {
		struct sctp_rcvinfo info;
		if (c->cmsg_level != IPPROTO_SCTP || c->cmsg_type != SCTP_RCVINFO)
			continue;
		memcpy(&info, CMSG_DATA(c), sizeof(info));
		part.kind = PART_DATA;
		part.stream = info.rcv_sid;
		part.ppid = ntohl(info.rcv_ppid);
		part.unordered = (info.rcv_flags & SCTP_UNORDERED) != 0;
		part.last = (message.msg_flags & MSG_EOR) != 0;
		part.length = (size_t)n;
	}
	if (part.kind != PART_DATA) {
		note("%zd bytes of data without a stream", n);
		exit(1);
	}
	return part;
}

static int end_gracefully(void *socket)
{
	return shutdown(*(int *)socket, SHUT_WR);
}

/* The kernel refuses SCTP_ABORT on a socket of this style. With SO_LINGER as it was set, the close that follows aborts. */
static int end_by_abort(void *socket)
{
	(void)socket;
	return 0;
}

static void end_softly(int s)
{
	struct linger soft = { .l_onoff = 0 };

	if (setsockopt(s, SOL_SOCKET, SO_LINGER, &soft, sizeof(soft)) != 0)
		fail("SO_LINGER");
}

static int exchange_once(const struct options *o, int *s, uint32_t *run)
{
	struct carrier carrier = { s, carry, take, end_gracefully, end_by_abort };
	static struct changing changing;
	int one = 1;

	changing = (struct changing){ o, s, change };
	SET(*s, SCTP_RECVRCVINFO, one);
	start_changes(&changing);
	return exchange_over(o, &carrier, run);
}

static int exchange(const struct options *o)
{
	int listener = o->verb == VERB_ACCEPT ? open_socket(o) : -1, s, status;
	char packed[sizeof(o->remote.at)];
	uint32_t run = (uint32_t)o->run;

	if (listener >= 0 && listen(listener, 1) != 0)
		fail("listen");
	for (long tries = 0;; tries++) {
		shut_down = lost = restarted = 0;
		if (listener >= 0) {
			if ((s = accept(listener, NULL, NULL)) < 0)
				fail("accept");
		} else {
			s = open_socket(o);
			if (setsockopt(s, SOL_SCTP, SCTP_SOCKOPT_CONNECTX, packed, (socklen_t)pack(&o->remote, packed)) < 0)
				fail("SCTP_SOCKOPT_CONNECTX");
		}
		status = exchange_once(o, &s, &run);
		if (status == 0 && !o->abort)
			end_softly(s);
		close(s);
		if (status == 0 || tries == o->again)
			return status == 0 ? 0 : 1;
	}
}

int main(int argc, char **argv)
{
	struct options o = parse_options(argc, argv);

	start_deadline(&o);
	switch (o.verb) {
	case VERB_SEND: return transmit(&o);
	case VERB_RECV: return receive(&o);
	default: return exchange(&o);
	}
}
