/* Lets Debian's user-mode Linux run on processors with more state than it has room for.
 *
 * UML 6.1 keeps the vector registers of a guest's process in a buffer of fixed size (2696 bytes:
 * up to AVX-512 and PKRU) and restores them by PTRACE_SETREGSET of NT_X86_XSTATE. The host's
 * kernel takes nothing but a whole XSAVE area there (EFAULT), and with AMX that is 11008 bytes:
 * the guest would end at its first process, in put_fp_registers.
 *
 * Loaded before libc (LD_PRELOAD), this `ptrace` hands over a whole area: what the caller gave,
 * and behind it what the process has there now. That part UML does not keep apart for threads that
 * share a process of the host, and need not: it is AMX's, which Linux lets no process use that has
 * not asked for it (arch_prctl), and UML does not pass that request on. Reading needs no help: the
 * kernel gives as much of the area as there is room for.
 *
 * Where the caller's size is right, the kernel's first answer says so, and nothing is changed.
 */
#include <elf.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* As libc's: it leaves the word for PEEK requests, and puts it in the result. */
static long plain(long request, pid_t pid, void *address, void *data)
{
	long word, result;
	int peek = request >= PTRACE_PEEKTEXT && request <= PTRACE_PEEKUSER;

	result = syscall(SYS_ptrace, request, pid, address, peek ? &word : data);
	if (peek && result >= 0) {
		errno = 0;
		result = word;
	}
	return result;
}

/* Static, as UML's stacks are small; UML is one thread, and no signal handler of its restores
 * vector registers. */
static unsigned char area[65536] __attribute__((aligned(64)));

static long set_state(pid_t pid, const struct iovec *given)
{
	struct iovec whole = { area, sizeof area };

	if (plain(PTRACE_GETREGSET, pid, (void *)NT_X86_XSTATE, &whole) < 0)
		return -1;
	if (given->iov_len >= whole.iov_len) {
		errno = EFAULT; /* the size was not the reason */
		return -1;
	}
	memcpy(area, given->iov_base, given->iov_len);
	return plain(PTRACE_SETREGSET, pid, (void *)NT_X86_XSTATE, &whole);
}

long ptrace(enum __ptrace_request request, ...)
{
	static int short_of_room; /* has the kernel refused the caller's size? */
	va_list more;
	pid_t pid;
	void *address, *data;
	long result;

	va_start(more, request);
	pid = va_arg(more, pid_t);
	address = va_arg(more, void *);
	data = va_arg(more, void *);
	va_end(more);

	if (request != PTRACE_SETREGSET || (long)address != NT_X86_XSTATE)
		return plain(request, pid, address, data);
	if (!short_of_room) {
		result = plain(request, pid, address, data);
		if (result == 0 || errno != EFAULT)
			return result;
		short_of_room = 1;
	}
	return set_state(pid, data);
}
