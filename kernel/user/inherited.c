// SPDX-License-Identifier: MIT
/*
 * inherited.c - finds out which children of fork() still have a context's descriptor; see
 * inherited.h.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#define PFM_NO_MMAP_REDIRECT
#include "user.h"
#include <sys/mman.h>

#include "inherited.h"
#include "interpose.h"

#define CHILDREN	512
#define CLOSED		1536
#define MOST_FDS	4096	/* most descriptors of a process that are looked at */
#define PF_FORKNOEXEC	0x40	/* a bit of the flags in /proc/PID/stat */

/*
 * A note is the id of a process and a serial. In "children" it is the highest serial that existed
 * when the process was forked; in "closed" it is the serial of a context of which the process has
 * closed the descriptor. 0 marks a free entry.
 */
struct notes {
	atomic_uint	serial;
	atomic_ullong	children[CHILDREN];
	atomic_ullong	closed[CLOSED];
};

static struct notes *notes;
static unsigned long long own_note;	/* this process's note in notes->children; 0: it has none */

static struct pfm_inherited *inherited;

static unsigned long long note(uint32_t pid, uint32_t serial)
{
	return (unsigned long long)pid << 32 | serial;
}

static uint32_t pid_of(unsigned long long n)
{
	return (uint32_t)(n >> 32);
}

static void share_notes(void)
{
	/* called now, because its result is stored and cannot be found out after a fork */
	pfm_sees_closes();
	notes = mmap(NULL, sizeof(*notes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (notes == MAP_FAILED)
		notes = NULL;	/* without notes END is sent for all targets */
}

void pfm_user_want_inherited(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, share_notes);
}

uint32_t pfm_inherited_serial(void)
{
	return notes ? atomic_fetch_add(&notes->serial, 1) + 1 : 0;
}

/* --- notes ---------------------------------------------------------------------------------- */

static bool take(atomic_ullong *list, size_t n, unsigned long long new)
{
	for (size_t i = 0; i < n; i++) {
		unsigned long long old = atomic_load(&list[i]);

		/* the entry of a process that has ended may be replaced */
		if (old && (kill((pid_t)pid_of(old), 0) == 0 || errno != ESRCH))
			continue;
		if (atomic_compare_exchange_strong(&list[i], &old, new))
			return true;
	}
	return false;
}

static bool has_closed(uint32_t pid, uint32_t serial)
{
	for (size_t i = 0; i < CLOSED; i++)
		if (atomic_load(&notes->closed[i]) == note(pid, serial))
			return true;
	return false;
}

/*
 * Removes the note that the process exists. This is also done if a close cannot be noted: then the
 * process counts as having no descriptors.
 */
static void leave(uint32_t pid)
{
	for (size_t i = 0; i < CHILDREN; i++) {
		unsigned long long old = atomic_load(&notes->children[i]);

		if (pid_of(old) == pid)
			atomic_compare_exchange_strong(&notes->children[i], &old, 0);
	}
}

bool pfm_inherited_holds(uint32_t pid, uint32_t serial)
{
	if (!notes || !serial)
		return false;
	for (size_t i = 0; i < CHILDREN; i++) {
		unsigned long long n = atomic_load(&notes->children[i]);

		if (pid_of(n) == pid && (uint32_t)n >= serial)
			return !has_closed(pid, serial);
	}
	return false;
}

bool pfm_inherited_forked(uint32_t pid)
{
	char path[32], text[1024];
	unsigned int flags;
	const char *at;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	at = pfm_os_read(path, text, sizeof(text)) ? strrchr(text, ')') : NULL;
	return at && sscanf(at, ") %*c %*d %*d %*d %*d %*d %u", &flags) == 1 && flags & PF_FORKNOEXEC;
}

/* Returns true if name, an entry of /proc/PID/fd, links to "wanted". */
static bool leads_to(int dir, const char *name, const char *wanted)
{
	char text[64];
	ssize_t n = readlinkat(dir, name, text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = 0;
	return !strcmp(text, wanted);
}

/*
 * opendir(3) cannot be used, because it allocates and a signal handler may close a descriptor. The
 * descriptor of /proc/PID/fd is closed past interpose.c, because the caller may hold locks that a
 * close takes.
 */
int pfm_inherited_number(uint32_t pid, ino_t ino)
{
	_Alignas(struct dirent64) char entries[2048];
	char path[32], wanted[64];
	int dir, found = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%u/fd", pid);
	snprintf(wanted, sizeof(wanted), "socket:[%llu]", (unsigned long long)ino);
	dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (dir >= 0 && found < 0 && (n = getdents64(dir, entries, sizeof(entries))) > 0) {
		const struct dirent64 *e = (const void *)entries;

		for (; found < 0 && (const char *)e < entries + n; e = (const void *)((const char *)e + e->d_reclen))
			if (leads_to(dir, e->d_name, wanted))
				found = atoi(e->d_name);
	}
	if (dir >= 0)
		pfm_libc_close(dir);
	return found;
}

/* --- called in the child -------------------------------------------------------------------- */

void pfm_inherited_inherit(struct pfm_inherited *i)
{
	i->next = inherited;
	inherited = i;
}

/*
 * Notes that this process, a child, exists. If the library does not see closes in it, no note is
 * made, because it would claim descriptors that the child has closed.
 */
void pfm_inherited_register(void)
{
	uint32_t pid = (uint32_t)getpid();

	if (!notes || !inherited || !pfm_sees_closes())
		return;
	/* removes the notes of closes by an earlier process that had the same id */
	for (size_t i = 0; i < CLOSED; i++) {
		unsigned long long old = atomic_load(&notes->closed[i]);

		if (pid_of(old) == pid)
			atomic_compare_exchange_strong(&notes->closed[i], &old, 0);
	}
	leave(pid);
	own_note = note(pid, atomic_load(&notes->serial));
	if (take(notes->children, CHILDREN, own_note))
		pfm_inherited_look();
	else
		own_note = 0;
}

void pfm_inherited_before_exec(void)
{
	if (pid_of(own_note) == (uint32_t)getpid())
		leave((uint32_t)getpid());
}

void pfm_inherited_after_exec(void)
{
	if (pid_of(own_note) == (uint32_t)getpid())
		take(notes->children, CHILDREN, own_note);
}

bool pfm_inherited_any(void)
{
	return notes && inherited;
}

static const struct pfm_inherited *find(int fd)
{
	const struct pfm_inherited *i = inherited;
	struct stat st;

	if (!i || fstat(fd, &st) || !S_ISSOCK(st.st_mode))
		return NULL;
	while (i && i->ino != st.st_ino)
		i = i->next;
	return i;
}

bool pfm_inherited_concerns(int fd)
{
	const struct pfm_inherited *i = find(fd);

	return i && i->serial;
}

unsigned int pfm_inherited_message(int fd)
{
	const struct pfm_inherited *i = find(fd);

	return i ? i->message : 0;
}

static void find_open(void)
{
	struct rlimit most = { MOST_FDS, 0 };
	struct stat st;

	for (struct pfm_inherited *i = inherited; i; i = i->next)
		i->open = false;
	getrlimit(RLIMIT_NOFILE, &most);
	for (int fd = 0; fd < MOST_FDS && (rlim_t)fd < most.rlim_cur; fd++) {
		if (fstat(fd, &st) || !S_ISSOCK(st.st_mode))
			continue;
		for (struct pfm_inherited *i = inherited; i; i = i->next)
			i->open = i->open || i->ino == st.st_ino;
	}
}

void pfm_inherited_look(void)
{
	uint32_t pid = (uint32_t)getpid();
	int saved = errno;

	find_open();
	for (struct pfm_inherited *i = inherited; i; i = i->next)
		if (i->serial && !i->open && !has_closed(pid, i->serial) &&
		    !take(notes->closed, CLOSED, note(pid, i->serial))) {
			leave(pid);
			own_note = 0;
		}
	errno = saved;
}
