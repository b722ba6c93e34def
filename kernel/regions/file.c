// SPDX-License-Identifier: MIT
/* file.c - the file of regions: how a measured program uses it, and how lpfm makes it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "regions.h"
#include "user.h"

int pfm_regions_on;
struct plan regions_plan;

static char file_path[256];
static struct head *head;

/* --- the plan --------------------------------------------------------------------------------- */

/*
 * Reads a line of the plan. Returns false if the line is invalid, or if there are too many
 * registers.
 */
static bool read_line(struct plan *plan, const char *line)
{
	char value[32];
	unsigned int num;

	if (sscanf(line, "pmc %u %31s", &num, value) == 2 && num < PFM_MAX_PMCS &&
	    plan->num_pmcs < (int)(sizeof(plan->pmcs) / sizeof(plan->pmcs[0]))) {
		plan->pmcs[plan->num_pmcs].reg_num = (uint16_t)num;
		plan->pmcs[plan->num_pmcs++].reg_value = strtoull(value, NULL, 10);
		return true;
	}
	if (sscanf(line, "pmd %u", &num) == 1 && num < PFM_MAX_PMDS && plan->num_pmds < REGIONS_COUNTERS) {
		plan->pmds[plan->num_pmds++] = (uint16_t)num;
		return true;
	}
	return false;
}

static bool read_plan(struct plan *plan, const char *text)
{
	memset(plan, 0, sizeof(*plan));
	while (*text) {
		if (!read_line(plan, text))
			return false;
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return plan->num_pmds > 0;
}

/* --- the file in use -------------------------------------------------------------------------- */

/*
 * Opens the file, which must belong to the user. Returns -1 with errno on failure. The descriptor
 * is closed after the mapping, because a program may close descriptors that are not its own.
 */
static int open_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_size >= (off_t)FILE_HEAD)
		return fd;
	close(fd);
	errno = EINVAL;
	return -1;
}

static void *map_file(const char *path, uint64_t offset, size_t size)
{
	int fd = open_file(path);
	void *at;
	int err;

	if (fd < 0)
		return NULL;
	err = offset < FILE_HEAD ? 0 :
	      !pfm_file_may_have(offset + size) ? errno : posix_fallocate(fd, (off_t)offset, (off_t)size);
	at = err ? MAP_FAILED : mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)offset);
	if (!err)
		err = errno;
	close(fd);
	errno = err;
	return at == MAP_FAILED ? NULL : at;
}

static bool is_good(const struct head *h)
{
	return !memcmp(h->magic, REGIONS_MAGIC, sizeof(h->magic)) && h->plan[sizeof(h->plan) - 1] == '\0' &&
	       read_plan(&regions_plan, h->plan);
}

int pfm_regions_use(const char *path)
{
	struct head *h;

	if (head && !strcmp(path, file_path))
		return 0;
	if (head) {
		errno = EBUSY;
		return -1;
	}
	h = strlen(path) < sizeof(file_path) ? map_file(path, 0, FILE_HEAD) : NULL;
	if (!h)
		return -1;
	if (!is_good(h)) {
		munmap(h, FILE_HEAD);
		errno = EINVAL;
		return -1;
	}
	strcpy(file_path, path);
	head = h;
	pfm_regions_on = 1;
	return 0;
}

int pfm_regions_end(void)
{
	if (!head) {
		errno = EINVAL;
		return -1;
	}
	regions_finish(true);
	regions_enter();
	pfm_regions_on = 0;
	munmap(head, FILE_HEAD);
	head = NULL;
	regions_retire();
	regions_leave();
	return 0;
}

/*
 * Begins to measure into the file that the environment names. secure_getenv(3) returns NULL in a
 * program with more rights than its user, which is therefore not measured.
 */
static __attribute__((constructor)) void begin(void)
{
	const char *path = secure_getenv(REGIONS_ENV);

	if (path && *path)
		pfm_regions_use(path);
}

struct block *regions_take_block(uint64_t owner)
{
	uint64_t at = head ? __atomic_fetch_add(&head->next, BLOCK_SIZE, __ATOMIC_RELAXED) : 0;
	struct block *block;

	if (at < FILE_HEAD || at % BLOCK_SIZE || at + BLOCK_SIZE > FILE_MAX) {
		errno = ENOSPC;
		return NULL;
	}
	block = map_file(file_path, at, BLOCK_SIZE);
	if (block)
		block->owner = owner ? owner : at;
	return block;
}

void regions_drop_block(struct block *block)
{
	munmap(block, BLOCK_SIZE);
}

void regions_lose(const char *why)
{
	uint32_t no = 0;

	if (!head)
		return;
	__atomic_fetch_add(&head->lost, 1, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(&head->said, &no, 1, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		snprintf(head->why, sizeof(head->why), "%s", why);
}

/* --- making the file -------------------------------------------------------------------------- */

/*
 * Makes the file in memory (/dev/shm) if possible, because the kernel would write a file on a disk
 * back from time to time.
 */
static int make_file(char *path, unsigned int size)
{
	static const char *const folders[] = { "/dev/shm", "/tmp" };
	int fd = -1;

	for (int i = 0; i < 2 && fd < 0; i++) {
		if ((unsigned int)snprintf(path, size, "%s/lpfm-regions-XXXXXX", folders[i]) >= size) {
			errno = ENAMETOOLONG;
			return -1;
		}
		fd = mkostemp(path, O_CLOEXEC);
	}
	return fd;
}

int pfm_regions_create(const char *plan, char *path, unsigned int size)
{
	struct head h = { .next = FILE_HEAD };
	struct plan parsed;
	int fd, err;

	memcpy(h.magic, REGIONS_MAGIC, sizeof(h.magic));
	if (strlen(plan) >= sizeof(h.plan) || !read_plan(&parsed, plan)) {
		errno = EINVAL;
		return -1;
	}
	strcpy(h.plan, plan);
	fd = make_file(path, size);
	if (fd < 0)
		return -1;
	err = write(fd, &h, sizeof(h)) == (ssize_t)sizeof(h) ? 0 : errno ? errno : EIO;
	close(fd);
	if (err)
		unlink(path);
	errno = err;
	return err ? -1 : 0;
}
