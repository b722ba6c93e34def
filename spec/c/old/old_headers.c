// SPDX-License-Identifier: MIT
/*
 * old_headers.c - uses what sources for perfmon2 2.x expect in the headers; the format's header
 * includes perfmon.h. Prints the configuration's version: "interface MAJOR.MINOR".
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <perfmon/perfmon_dfl_smpl.h>

#define EXPECT(cond) do { \
	if (!(cond)) { \
		printf("line %d: %s (%s)\n", __LINE__, #cond, pfm_explain()); \
		failures++; \
	} \
} while (0)

typedef os_err_t (*create_fn)(pfarg_ctx_t *ctx, char *name, void *arg, size_t size);

/* The members in the order of the last 2.x; six words are reserved. */
static const pfarg_setdesc_t whole = { 0, 0, 0, 0, { 0, 0, 0, 0, 0, 0 } };

static create_fn create = pfm_create_context;
static uint64_t bits[PFM_BVSIZE(PFM_MAX_PMDS)];

int main(void)
{
	pfm_dfl_smpl_arg_t arg = { .buf_size = 4096 };
	pfarg_setdesc_t set = whole;
	pfarg_config_t cfg;
	pfarg_ctx_t ctx;
	int failures = 0, fd;

	EXPECT(sizeof(bits) == 40 && PFM_BVSIZE(1) == 1 && PFM_BVSIZE(65) == 2);
	EXPECT(PFM_VERSION_MAJ == 2 && PFM_VERSION_MAJOR(PFM_VERSION) == 2);
	memset(&cfg, 0, sizeof(cfg));
	EXPECT(!pfm_get_config(&cfg));
	EXPECT(cfg.cf_version == PFM_VERSION);
	memset(&ctx, 0, sizeof(ctx));
	fd = create(&ctx, "default", &arg, sizeof(arg));
	EXPECT(fd >= 0);
	EXPECT(!pfm_create_evtsets(fd, &set, 1));
	EXPECT(!close(fd));
	EXPECT(create(&ctx, "nonsense", &arg, sizeof(arg)) == -1);
	printf("interface %u.%u\n", PFM_VERSION_MAJOR(cfg.cf_version), PFM_VERSION_MINOR(cfg.cf_version));
	return failures != 0;
}
