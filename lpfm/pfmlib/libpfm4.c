// SPDX-License-Identifier: MIT
/* libpfm4.c - the only file that includes libpfm4's header and calls libpfm4. */
#include <dlfcn.h>
#include <perfmon/pfmlib.h>
#include <stdlib.h>
#include <string.h>

#include "libpfm4.h"

static __thread int last_error;

/*
 * The functions of libpfm4 that are called. dlsym() finds them in libpfm4, because libpfm.so and
 * libpfm.a have functions with some of these names.
 */
#define CALLS(X) X(initialize) X(terminate) X(strerror) X(get_pmu_info) X(get_event_info) X(get_event_next) \
	X(get_event_attr_info) X(get_os_event_encoding)
#define POINTER(name)	__typeof__(pfm_##name) *name;

static struct {
	CALLS(POINTER)
} l4;

#define FIND(name) \
	l4.name = (__typeof__(l4.name))dlsym(library, "pfm_" #name); \
	found = found && l4.name;

static bool find_libpfm4(void)
{
	void *library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
	bool found = library;

	if (library) {
		CALLS(FIND)
	}
	return found;
}

/*
 * Environment variables of libpfm 3 that libpfm4 would misunderstand, or that would make it print.
 */
static const char *const hidden[] = {
	"LIBPFM_FORCE_PMU", "LIBPFM_VERBOSE", "LIBPFM_DEBUG", "LIBPFM_DEBUG_STDOUT"
};

#define NUM_HIDDEN (sizeof(hidden) / sizeof(hidden[0]))

static void hide_environment(char *saved[NUM_HIDDEN])
{
	for (size_t i = 0; i < NUM_HIDDEN; i++) {
		const char *value = getenv(hidden[i]);

		saved[i] = value ? strdup(value) : NULL;
		unsetenv(hidden[i]);
	}
}

static void restore_environment(char *saved[NUM_HIDDEN])
{
	for (size_t i = 0; i < NUM_HIDDEN; i++) {
		if (saved[i])
			setenv(hidden[i], saved[i], 1);
		free(saved[i]);
	}
}

/*
 * Initializes libpfm4. It encodes events of absent models only if LIBPFM_ENCODE_INACTIVE is set
 * during its initialization.
 */
static int init_for_all_models(void)
{
	bool was_set = getenv("LIBPFM_ENCODE_INACTIVE") != NULL;
	char *saved[NUM_HIDDEN];
	int ret;

	hide_environment(saved);
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 0);
	ret = l4.initialize();
	if (!was_set)
		unsetenv("LIBPFM_ENCODE_INACTIVE");
	restore_environment(saved);
	return ret;
}

static bool pmu_info(int id, pfm_pmu_info_t *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return l4.get_pmu_info((pfm_pmu_t)id, info) == PFM_SUCCESS;
}

static bool event_info(int idx, pfm_event_info_t *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return l4.get_event_info(idx, PFM_OS_NONE, info) == PFM_SUCCESS;
}

static int try_first_event(const pfm_pmu_info_t *info)
{
	uint64_t codes[L4_MAX_CODES];
	pfm_event_info_t ev;
	unsigned int n;
	char name[256];

	if (!event_info(info->first_event, &ev))
		return 0;
	snprintf(name, sizeof(name), "%s::%s", info->name, ev.name);
	l4_encode(name, PFM_PLM3, codes, &n);
	return last_error;
}

/*
 * Returns true if libpfm4 refuses to encode events of absent models, because other code in the
 * process has already initialized it for the host's models only.
 */
static bool absent_models_refused(void)
{
	for (int id = 0; id < PFM_PMU_MAX; id++) {
		pfm_pmu_info_t info;

		if (pmu_info(id, &info) && info.type == PFM_PMU_TYPE_CORE && !info.is_present &&
		    info.nevents > 0)
			return try_first_event(&info) == PFM_ERR_NOTFOUND;
	}
	return false;
}

bool l4_init(void)
{
	if (!find_libpfm4() || init_for_all_models() != PFM_SUCCESS)
		return false;
	if (absent_models_refused()) {
		l4.terminate();
		return init_for_all_models() == PFM_SUCCESS;
	}
	return true;
}

int l4_max_id(void)
{
	return PFM_PMU_MAX;
}

static bool attr_info(int idx, unsigned int a, pfm_event_attr_info_t *info)
{
	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	return l4.get_event_attr_info(idx, a, PFM_OS_NONE, info) == PFM_SUCCESS;
}

static void read_event(int id, struct l4_event *ev)
{
	pfm_event_info_t info;
	pfm_event_attr_info_t attr;

	ev->name = "?";
	if (!event_info(id, &info))
		return;
	ev->name = info.name;
	ev->desc = info.desc;
	ev->code = info.code;
	ev->nattrs = info.nattrs;
	while (ev->nmasks < ev->nattrs && attr_info(id, ev->nmasks, &attr) &&
	       attr.type == PFM_ATTR_UMASK)
		ev->nmasks++;
}

static bool list_events(struct l4_pmu *pmu)
{
	unsigned int n = 0;

	pmu->ids = calloc(pmu->nevents, sizeof(*pmu->ids));
	if (!pmu->ids)
		return false;
	for (int id = pmu->first_event; id != -1 && n < pmu->nevents; id = l4.get_event_next(id))
		pmu->ids[n++] = id;
	pmu->nevents = n;
	return true;
}

static struct l4_event *read_events(const struct l4_pmu *pmu)
{
	struct l4_event *events = calloc(pmu->nevents, sizeof(*events));

	for (unsigned int i = 0; events && i < pmu->nevents; i++)
		read_event(pmu->ids[i], &events[i]);
	return events;
}

/*
 * Reads the events at the first call. If several threads read them at the same time, the result of
 * the first to finish is used.
 */
const struct l4_event *l4_event(const struct l4_pmu *pmu, unsigned int i)
{
	static const struct l4_event nothing = { .name = "?" };
	struct l4_event **place = &((struct l4_pmu *)pmu)->events;
	struct l4_event *events = __atomic_load_n(place, __ATOMIC_ACQUIRE), *theirs = NULL;

	if (!events) {
		events = read_events(pmu);
		if (!events)
			return &nothing;
		if (!__atomic_compare_exchange_n(place, &theirs, events, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			free(events);
			events = theirs;
		}
	}
	return &events[i];
}

bool l4_core_pmu(int id, struct l4_pmu *pmu)
{
	pfm_pmu_info_t info;

	if (!pmu_info(id, &info) || info.type != PFM_PMU_TYPE_CORE || info.nevents <= 0)
		return false;
	pmu->name = info.name;
	pmu->desc = info.desc;
	pmu->id = id;
	pmu->first_event = info.first_event;
	pmu->nevents = info.nevents;
	pmu->counters = info.num_cntrs;
	pmu->fixed = info.num_fixed_cntrs;
	pmu->present = info.is_present;
	return list_events(pmu);
}

enum l4_family l4_family(const struct l4_pmu *pmu)
{
	if (pmu->id == PFM_PMU_INTEL_NETBURST || pmu->id == PFM_PMU_INTEL_NETBURST_P)
		return L4_NETBURST;
#if defined(__x86_64__) || defined(__i386__)
	return L4_X86;
#elif defined(__aarch64__) || defined(__arm__)
	return L4_ARM;
#else
	return L4_OTHER;
#endif
}

int l4_old_type(int id)
{
	static const struct { int id, type; } map[] = {
		{ PFM_PMU_I386_P6, 32 }, { PFM_PMU_INTEL_NETBURST, 33 }, { PFM_PMU_COREDUO, 34 },
		{ PFM_PMU_I386_PM, 35 }, { PFM_PMU_INTEL_CORE, 36 }, { PFM_PMU_INTEL_PPRO, 37 },
		{ PFM_PMU_INTEL_PII, 38 }, { PFM_PMU_INTEL_ATOM, 39 }, { PFM_PMU_INTEL_NHM, 40 },
		{ PFM_PMU_INTEL_WSM, 41 }, { PFM_PMU_INTEL_X86_ARCH, 63 }, { PFM_PMU_AMD64_K7, 16 },
		{ PFM_PMU_AMD64_K8_REVB, 16 }, { PFM_PMU_AMD64_K8_REVC, 16 },
		{ PFM_PMU_AMD64_K8_REVD, 16 }, { PFM_PMU_AMD64_K8_REVE, 16 },
		{ PFM_PMU_AMD64_K8_REVF, 16 }, { PFM_PMU_AMD64_K8_REVG, 16 },
		{ PFM_PMU_AMD64_FAM10H_BARCELONA, 16 }, { PFM_PMU_AMD64_FAM10H_SHANGHAI, 16 },
		{ PFM_PMU_AMD64_FAM10H_ISTANBUL, 16 }, { PFM_PMU_AMD64_FAM11H_TURION, 16 },
		{ PFM_PMU_AMD64_FAM12H_LLANO, 16 }, { PFM_PMU_AMD64_FAM14H_BOBCAT, 16 },
		{ PFM_PMU_AMD64_FAM15H_INTERLAGOS, 16 }, { PFM_PMU_AMD64_FAM16H, 16 },
	};

	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (map[i].id == id)
			return map[i].type;
	return -1;
}

bool l4_precise(const struct l4_pmu *pmu, unsigned int i, int a)
{
	pfm_event_attr_info_t attr;
	pfm_event_info_t info;

	if (a < 0)
		return event_info(pmu->ids[i], &info) && info.is_precise;
	return attr_info(pmu->ids[i], (unsigned int)a, &attr) && attr.is_precise;
}

void l4_attr(const struct l4_pmu *pmu, unsigned int i, unsigned int a, struct l4_attr *attr)
{
	pfm_event_attr_info_t info;

	memset(attr, 0, sizeof(*attr));
	attr->name = "?";
	if (!attr_info(pmu->ids[i], a, &info))
		return;
	attr->name = info.name;
	attr->desc = info.desc;
	attr->code = info.code;
	attr->dflt = info.is_dfl;
	attr->kind = info.type == PFM_ATTR_UMASK ? L4_MASK :
		info.type == PFM_ATTR_MOD_BOOL ? L4_BOOLEAN : L4_INTEGER;
}

/* Converts PFM_ERR_* into PFMLIB_ERR_*, which pfmlib.h defines. */
static int map_error(int err)
{
	switch (err) {
	case PFM_SUCCESS:	return 0;
	case PFM_ERR_NOTSUPP:	return -1;
	case PFM_ERR_NOTFOUND:	return -4;
	case PFM_ERR_FEATCOMB:	return -9;
	case PFM_ERR_UMASK:	return -22;
	case PFM_ERR_ATTR:	return -22;
	case PFM_ERR_NOMEM:	return -23;
	case PFM_ERR_TOOMANY:	return -12;
	default:		return -2;
	}
}

int l4_encode(const char *str, unsigned int plm, uint64_t *codes, unsigned int *n)
{
	pfm_pmu_encode_arg_t arg;

	memset(&arg, 0, sizeof(arg));
	arg.size = sizeof(arg);
	arg.codes = codes;
	arg.count = L4_MAX_CODES;
	last_error = l4.get_os_event_encoding(str, plm, PFM_OS_NONE, &arg);
	*n = last_error == PFM_SUCCESS ? (unsigned int)arg.count : 0;
	return map_error(last_error);
}

const char *l4_error(void)
{
	return l4.strerror(last_error);
}
