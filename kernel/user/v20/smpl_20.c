// SPDX-License-Identifier: MIT
/*
 * smpl_20.c - perfmon 2.0's default sampling format, which differs from that of 2.x in the offsets
 * of two fields. Programs ask for it by the UUID that section 3.6 of the specification gives to a
 * format with another layout, so the format has a UUID of its own here.
 */
#include <pthread.h>
#include <stddef.h>

#include "desc.h"
#include "fmt.h"
#include "formats/formats.h"
#include "perfmon/perfmon_dfl_smpl.h"
#include "smpl_20.h"

#define VERSION		(2U << 16)
#define MAX_ENTRY	(sizeof(pfm_dfl_smpl_entry_t) + 64 * sizeof(uint64_t))

/* The buffer's header in perfmon 2.0. */
struct header {
	uint64_t	count, offs, reserved2, overflows, size;
	uint32_t	version, reserved1;
	uint64_t	reserved[10];
};

struct entry {
	int32_t		pid;
	uint8_t		reserved[3], ovfl_pmd;
};

static const unsigned char uuid_of_20[16] = PFM_DEFAULT_SMPL_UUID;

static int validate(uint32_t ctx_flags, uint16_t num_pmds, void *arg)
{
	const struct pfm_smpl_20_arg *a = arg;

	(void)ctx_flags, (void)num_pmds;
	return a->buf_size < sizeof(struct header) + MAX_ENTRY ? EINVAL : 0;
}

static int getsize(uint32_t ctx_flags, void *arg, size_t *size)
{
	(void)ctx_flags;
	*size = ((struct pfm_smpl_20_arg *)arg)->buf_size;
	return 0;
}

static int init(uint32_t ctx_flags, void *arg, void *buf)
{
	(void)ctx_flags;
	*(struct header *)buf = (struct header){ .offs = sizeof(struct header), .version = VERSION,
		.size = ((struct pfm_smpl_20_arg *)arg)->buf_size };
	return 0;
}

static void put_entry(struct header *h, void *at, const pfm_ovfl_arg_t *arg, uint64_t tstamp,
		      const struct pfm_where *where)
{
	struct entry e = { .pid = (int32_t)where->tid, .ovfl_pmd = (uint8_t)arg->ovfl_pmd };

	h->offs += pfm_dfl_put_sample(at, 0, arg, tstamp, where);
	memcpy(at, &e, sizeof(e));
	h->count++;
}

/*
 * The buffer is full when the largest sample would not fit any more. Then it waits for a restart.
 */
static int handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t tstamp, void *data)
{
	struct header *h = buf;

	if (h->size - h->offs >= MAX_ENTRY) {
		put_entry(h, (char *)buf + h->offs, arg, tstamp, data);
		h->overflows += h->size - h->offs < MAX_ENTRY;
	}
	if (h->size - h->offs >= MAX_ENTRY) {
		arg->ovfl_ctrl.reset_ovfl_pmds = 1;
		return 0;
	}
	arg->ovfl_ctrl.notify_user = arg->ovfl_ctrl.mask_monitoring = 1;
	arg->ovfl_ctrl.block_thread = arg->any_notify;
	return 0;
}

static int restart(void *buf, int is_active, pfm_ovfl_ctrl_t *ctrl)
{
	struct header *h = buf;

	(void)is_active;
	h->count = 0;
	h->offs = sizeof(*h);
	ctrl->reset_ovfl_pmds = 1;
	ctrl->mask_monitoring = 0;
	return 0;
}

static pfm_buffer_fmt_t format = {
	.fmt_name = "default-2.0-ia64",
	.fmt_uuid = { 0x51, 0x0e, 0x6c, 0x1f, 0x9a, 0x33, 0x4b, 0x7d, 0xa8, 0x20, 0x14, 0xd5, 0x6b, 0xe2, 0x97, 0x3c },
	.fmt_arg_size = sizeof(struct pfm_smpl_20_arg),
	.fmt_msgq_depth = 1,
	.fmt_version = VERSION,
	.fmt_validate = validate,
	.fmt_getsize = getsize,
	.fmt_init = init,
	.fmt_handler = handler,
	.fmt_restart = restart,
};

static void add(void)
{
	pfm_add_format(&format);
}

int pfm_smpl_20_choose(const unsigned char *asked, unsigned char *uuid)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	sigset_t saved;

	pfm_signals_block(&saved);
	pthread_once(&once, add);
	pfm_signals_restore(&saved);
	if (memcmp(asked, uuid_of_20, sizeof(uuid_of_20))) {
		pfm_refuse(0, "perfmon 2.0 has the default sampling format alone, not the one of this UUID");
		errno = EINVAL;
		return -1;
	}
	memcpy(uuid, format.fmt_uuid, sizeof(format.fmt_uuid));
	return 0;
}
