# SPDX-License-Identifier: MIT
#
# Programs that put the library under load, linked with its objects: always under ASan and UBSan, in
# build/spec, and the fuzzer of libFuzzer in build/fuzz. The specs make what they need.
#
#   make build/spec/stress && build/spec/stress SEED STEPS
#   make fuzz SECONDS=600

LOAD_SRC   := $(wildcard kernel/core/*.c kernel/formats/*.c kernel/pmu/*.c kernel/perf/*.c kernel/sim/*.c \
	kernel/user/*.c)
LOAD_WRAPS := malloc calloc realloc free mmap munmap memfd_create socketpair close epoll_ctl
STRESS_WRAPS := pfm_overflow pfm_set_timeout pfm_reset_pmds pfm_ctxsw_in
LOAD_OPT   ?= -O1
LOAD_SAN   := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

ifdef LPFM_READY

HARNESS    := harness harness_program harness_rules
LOAD_OBJ   := $(LOAD_SRC:%.c=build/spec/obj/%.o) $(HARNESS:%=build/spec/obj/spec/c/%.o)
STRESS_OBJ := $(patsubst %,build/spec/obj/spec/c/%.o,stress stress_ledger stress_hooks stress_calls harness_alloc)
FORMATS_OBJ := $(patsubst %,build/spec/obj/spec/c/%.o,formats_calls formats_life formats_overflow formats_restart)
ALLOC_OBJ  := $(patsubst %,build/spec/obj/spec/c/%.o,alloc alloc_calls harness_alloc)

build/spec/obj/%.o: %.c
	@mkdir -p $(@D)
	@LD_PRELOAD= $(CC) $(CSTD) $(WARN) $(LOAD_OPT) -g $(LOAD_SAN) $(INCLUDES) -Ispec/c -idirafter kernel/linux -MMD -MP -c -o $@ $<

LOAD_LINK = LD_PRELOAD= $(CC) $(LOAD_SAN) $(patsubst %,-Wl$(,)--wrap=%,$(1)) -o $@ $(filter %.o,$^) -pthread

build/spec/stress: $(LOAD_OBJ) $(STRESS_OBJ)
	@$(call LOAD_LINK,$(LOAD_WRAPS) $(STRESS_WRAPS))

build/spec/alloc: $(LOAD_OBJ) $(ALLOC_OBJ)
	@$(call LOAD_LINK,$(LOAD_WRAPS))

build/spec/formats: $(LOAD_OBJ) $(FORMATS_OBJ)
	@$(call LOAD_LINK)

-include $(FORMATS_OBJ:.o=.d) $(ALLOC_OBJ:.o=.d) $(LOAD_OBJ:.o=.d) $(STRESS_OBJ:.o=.d)

endif
