/* SPDX-License-Identifier: MIT */
/*
 * mapped.c - what code processes had mapped, and when: a list of events for each process, sorted by
 * time.
 */
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "symbols/mapped.h"
#include "symbols/object.h"

enum { FIRST_BUCKETS = 256, FORKS_MAX = 64 };
#define BELOW_4G	(1ULL << 32)

enum kind { MAP, CLEAR, FORK };

struct event {
	struct symmapping	map;	/* map.time is valid for events of all kinds */
	/* for a FORK: the process from which the mappings are inherited */
	uint64_t		parent;
	enum kind		kind;
};

struct process {
	struct process	*next;		/* next process in its bucket */
	uint64_t	pid;
	struct event	*events;	/* sorted by time */
	size_t		n, room;
};

/* A file, with its identity. */
struct file {
	struct file	*next;
	dev_t		dev;
	ino_t		ino;
	struct timespec	mtime;
	struct symcfi	*cfi;		/* NULL: the file cannot be used */
};

/* A path, and the build id of the file that was mapped from it. */
struct identified {
	struct symcfi	*cfi;
	const char	*path;
	char		id[];		/* the build id in hexadecimal; the path follows */
};

struct symmapped {
	struct process	**buckets;
	size_t		num_buckets, num_processes, num_events;
	struct file	*files;
	void		*identified;	/* tree of struct identified */
	struct symcfi	*vdso[2];	/* the 64-bit one, and the 32-bit one */
};

struct symmapped *symmapped_new(void)
{
	struct symmapped *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->num_buckets = FIRST_BUCKETS;
	m->buckets = calloc(m->num_buckets, sizeof(struct process *));
	if (m->buckets)
		return m;
	free(m);
	return NULL;
}

void symmapped_free(struct symmapped *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->num_buckets; i++) {
		for (struct process *p = m->buckets[i], *next; p; p = next) {
			next = p->next;
			free(p->events);
			free(p);
		}
	}
	for (struct file *f = m->files, *next; f; f = next) {
		next = f->next;
		symcfi_close(f->cfi);
		free(f);
	}
	tdestroy(m->identified, free);
	free(m->buckets);
	free(m);
}

/* --- files ---------------------------------------------------------------------------------- */

/* Copies a 32-bit program's vdso from its memory, because lpfm's own vdso is the 64-bit one. */
static int copy_vdso(uint64_t pid, uint64_t start, uint64_t size)
{
	char path[64], bytes[4096];
	int fd, from;

	snprintf(path, sizeof(path), "/proc/%llu/mem", (unsigned long long)pid);
	from = open(path, O_RDONLY | O_CLOEXEC);
	fd = from >= 0 ? memfd_create("vdso", MFD_CLOEXEC) : -1;
	for (uint64_t at = 0; fd >= 0 && at < size;) {
		ssize_t n = pread(from, bytes, sizeof(bytes), (off_t)(start + at));

		if (n > 0 && write(fd, bytes, (size_t)n) == n) {
			at += (uint64_t)n;
			continue;
		}
		close(fd);
		fd = -1;
	}
	if (from >= 0)
		close(from);
	return fd;
}

/* Opens only regular files: the mere opening of a device may have an effect. */
static int open_regular(const char *path)
{
	struct stat s;

	return stat(path, &s) || !S_ISREG(s.st_mode) ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

/*
 * Opens the file that the process has mapped, if the kernel permits; else the file at its path in
 * the process, or here.
 */
static int open_mapped(uint64_t pid, uint64_t start, uint64_t stop, const char *path)
{
	char from[64 + 4096];
	int fd = -1;

	if (path[0] != '/' || !strncmp(path, "//anon", 6))
		return -1;
	if (pid) {
		snprintf(from, sizeof(from), "/proc/%llu/map_files/%llx-%llx", (unsigned long long)pid,
			 (unsigned long long)start, (unsigned long long)stop);
		fd = open_regular(from);
	}
	if (fd < 0 && pid) {
		snprintf(from, sizeof(from), "/proc/%llu/root%s", (unsigned long long)pid, path);
		fd = open_regular(from);
	}
	return fd < 0 ? open_regular(path) : fd;
}

static struct file *find_file(const struct symmapped *m, const struct stat *s)
{
	for (struct file *f = m->files; f; f = f->next)
		if (f->dev == s->st_dev && f->ino == s->st_ino && f->mtime.tv_sec == s->st_mtim.tv_sec &&
		    f->mtime.tv_nsec == s->st_mtim.tv_nsec)
			return f;
	return NULL;
}

/* Returns the call frame information of the open file, and takes over fd; NULL if there is none. */
static struct symcfi *cfi_of(struct symmapped *m, int fd)
{
	struct stat s;
	struct file *f;

	if (fstat(fd, &s)) {
		close(fd);
		return NULL;
	}
	f = find_file(m, &s);
	if (f) {
		close(fd);
		return f->cfi;
	}
	f = malloc(sizeof(*f));
	if (!f) {
		close(fd);
		return NULL;
	}
	*f = (struct file){ m->files, s.st_dev, s.st_ino, s.st_mtim, symcfi_open(fd) };
	m->files = f;
	return f->cfi;
}

/*
 * Returns the call frame information of the vdso; NULL if there is none. The 64-bit vdso and the
 * 32-bit one are each the same in all processes of a machine, so one copy of each is enough.
 */
static struct symcfi *vdso_of(struct symmapped *m, uint64_t pid, uint64_t start, uint64_t stop)
{
	struct symcfi **known = &m->vdso[start < BELOW_4G];
	char why[SYMOBJ_ERROR_LEN];
	int fd;

	if (*known)
		return *known;
	fd = start < BELOW_4G ? copy_vdso(pid, start, stop - start) : symobj_vdso(why);
	if (fd >= 0)
		*known = cfi_of(m, fd);
	return *known;
}

static int compare_identified(const void *a, const void *b)
{
	const struct identified *x = a, *y = b;
	int order = strcmp(x->id, y->id);

	return order ? order : strcmp(x->path, y->path);
}

/* Returns NULL if there is no memory. The file is not known yet. */
static struct identified *identify(const char *path, const char *id)
{
	size_t size = strlen(id) + 1, more = strlen(path) + 1;
	struct identified *i = malloc(sizeof(*i) + size + more);

	if (!i)
		return NULL;
	i->cfi = NULL;
	memcpy(i->id, id, size);
	i->path = memcpy(i->id + size, path, more);
	return i;
}

/*
 * Returns the call frame information of the file with that build id. Once such a file was found at
 * a path, it is not looked for again: a machine that compiles maps the same libraries thousands of
 * times. A file at the path that has another build id was not the one that was mapped.
 */
static struct symcfi *find_identified(struct symmapped *m, uint64_t pid, uint64_t start, uint64_t stop,
				      const char *path, const char *id)
{
	struct identified *key = identify(path, id);
	struct identified **at = key ? tsearch(key, &m->identified, compare_identified) : NULL;
	int fd;

	if (!at || *at != key) {
		free(key);
		return at ? (*at)->cfi : NULL;
	}
	fd = open_mapped(pid, start, stop, path);
	key->cfi = fd >= 0 ? cfi_of(m, fd) : NULL;
	if (key->cfi && symcfi_has_id(key->cfi, id))
		return key->cfi;
	tdelete(key, &m->identified, compare_identified);
	free(key);
	return NULL;
}

static struct symcfi *find_cfi(struct symmapped *m, uint64_t pid, uint64_t start, uint64_t stop, const char *path,
			       const char *id)
{
	int fd;

	if (!strcmp(path, "[vdso]"))
		return vdso_of(m, pid, start, stop);
	if (id)
		return find_identified(m, pid, start, stop, path, id);
	fd = open_mapped(pid, start, stop, path);
	return fd >= 0 ? cfi_of(m, fd) : NULL;
}

/* --- processes ------------------------------------------------------------------------------ */

static struct process **bucket_of(struct process **buckets, size_t n, uint64_t pid)
{
	return &buckets[pid % n];
}

static struct process *find(const struct symmapped *m, uint64_t pid)
{
	struct process *p = *bucket_of(m->buckets, m->num_buckets, pid);

	while (p && p->pid != pid)
		p = p->next;
	return p;
}

static void enter(struct process **buckets, size_t n, struct process *p)
{
	struct process **at = bucket_of(buckets, n, p->pid);

	p->next = *at;
	*at = p;
}

/* Adds buckets, if there is memory for them. */
static void spread(struct symmapped *m)
{
	size_t n = m->num_buckets * 4;
	struct process **buckets = calloc(n, sizeof(struct process *));

	for (size_t i = 0; buckets && i < m->num_buckets; i++) {
		for (struct process *p = m->buckets[i], *next; p; p = next) {
			next = p->next;
			enter(buckets, n, p);
		}
	}
	if (!buckets)
		return;
	free(m->buckets);
	m->buckets = buckets;
	m->num_buckets = n;
}

static struct process *process(struct symmapped *m, uint64_t pid)
{
	struct process *p = find(m, pid);

	if (p)
		return p;
	if (m->num_processes > m->num_buckets)
		spread(m);
	p = calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->pid = pid;
	m->num_processes++;
	enter(m->buckets, m->num_buckets, p);
	return p;
}

/* Returns how many events are not later than that time. */
static size_t count_until(const struct process *p, uint64_t time)
{
	size_t low = 0, high = p->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (p->events[mid].map.time <= time)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * Inserts an event. Most events come in the order of time, but those that were read from several
 * buffers do not. Returns false if there is no memory.
 */
static bool insert(struct symmapped *m, uint64_t pid, const struct event *e)
{
	struct process *p = process(m, pid);
	size_t at;

	if (p && p->n == p->room) {
		size_t room = p->room ? 2 * p->room : 16;
		struct event *more = realloc(p->events, room * sizeof(*more));

		if (!more)
			return false;
		p->events = more;
		p->room = room;
	}
	if (!p)
		return false;
	at = count_until(p, e->map.time);
	memmove(p->events + at + 1, p->events + at, (p->n - at) * sizeof(*e));
	p->events[at] = *e;
	p->n++;
	m->num_events++;
	return true;
}

bool symmapped_add(struct symmapped *m, uint64_t pid, uint64_t time, uint64_t start, uint64_t stop, uint64_t offset,
		   const char *path, const char *id)
{
	struct event e = { .kind = MAP, .map = { .time = time, .start = start, .stop = stop } };

	e.map.file = find_cfi(m, pid, start, stop, path, id);
	if (e.map.file && !symcfi_bias(e.map.file, start, offset, &e.map.bias))
		e.map.file = NULL;
	return insert(m, pid, &e);
}

bool symmapped_clear(struct symmapped *m, uint64_t pid, uint64_t time)
{
	return insert(m, pid, &(struct event){ .kind = CLEAR, .map.time = time });
}

bool symmapped_fork(struct symmapped *m, uint64_t pid, uint64_t parent, uint64_t time)
{
	return insert(m, pid, &(struct event){ .kind = FORK, .map.time = time, .parent = parent });
}

bool symmapped_knows(const struct symmapped *m, uint64_t pid)
{
	return find(m, pid);
}

struct symversion symmapped_version(const struct symmapped *m, uint64_t pid, uint64_t time)
{
	const struct process *p = find(m, pid);

	return (struct symversion){ pid, m->num_events, p ? count_until(p, time) : 0 };
}

/*
 * Narrows the span, which contains the address. If the mapping covers the address, the span keeps
 * what the mapping covers, else what is on the address' side of the mapping. Returns true if the
 * mapping covers the address.
 */
static bool narrow(struct symspan *span, const struct symmapping *map, uint64_t addr)
{
	bool below = map->stop <= addr, above = !below && map->start > addr;
	uint64_t low = below ? map->stop : above ? 0 : map->start;
	uint64_t high = below ? UINT64_MAX : above ? map->start : map->stop;

	if (low > span->low)
		span->low = low;
	if (high < span->high)
		span->high = high;
	return !below && !above;
}

struct symspan symmapped_find(const struct symmapped *m, uint64_t pid, uint64_t time, uint64_t addr)
{
	const struct process *p = find(m, pid);
	struct symspan span = { 0, UINT64_MAX, NULL };

	for (int forks = 0; p && forks < FORKS_MAX; forks++) {
		size_t i = count_until(p, time);
		const struct event *e = NULL;

		for (; i; i--) {
			e = &p->events[i - 1];
			if (e->kind != MAP)
				break;
			if (!narrow(&span, &e->map, addr))
				continue;
			span.map = &e->map;
			return span;
		}
		if (!i || e->kind == CLEAR)
			break;
		time = e->map.time;
		p = find(m, e->parent);
	}
	return span;
}
