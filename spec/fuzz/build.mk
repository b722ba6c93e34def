# SPDX-License-Identifier: MIT
#
# Programs that put the library under load, linked with its objects: always under ASan and UBSan, in
# build/spec, and the fuzzer of libFuzzer in build/fuzz. The specs make what they need.
#
#   make build/spec/stress && build/spec/stress SEED STEPS
#   make fuzz SECONDS=600

LOAD_SRC   := $(wildcard kernel/core/*.c kernel/formats/*.c kernel/pmu/*.c kernel/perf/*.c kernel/sim/*.c \
	kernel/user/*.c)
LOAD_WRAPS := malloc calloc realloc free mmap munmap memfd_create socketpair close
STRESS_WRAPS := pfm_overflow pfm_set_timeout pfm_reset_pmds pfm_ctxsw_in
LOAD_OPT   ?= -O1
LOAD_SAN   := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer

ifdef LPFM_READY

HARNESS    := harness harness_program harness_rules
LOAD_OBJ   := $(LOAD_SRC:%.c=build/spec/obj/%.o) $(HARNESS:%=build/spec/obj/spec/c/%.o)
STRESS_OBJ := $(patsubst %,build/spec/obj/spec/c/%.o,stress stress_ledger stress_hooks stress_calls harness_alloc)
ALLOC_OBJ  := $(patsubst %,build/spec/obj/spec/c/%.o,alloc harness_alloc)

build/spec/obj/%.o: %.c
	@mkdir -p $(@D)
	@LD_PRELOAD= $(CC) $(CSTD) $(WARN) $(LOAD_OPT) -g $(LOAD_SAN) $(INCLUDES) -Ispec/c -idirafter kernel/linux -MMD -MP -c -o $@ $<

LOAD_LINK = LD_PRELOAD= $(CC) $(LOAD_SAN) $(patsubst %,-Wl$(,)--wrap=%,$(1)) -o $@ $(filter %.o,$^) -pthread

build/spec/stress: $(LOAD_OBJ) $(STRESS_OBJ)
	@$(call LOAD_LINK,$(LOAD_WRAPS) $(STRESS_WRAPS))

-include $(LOAD_OBJ:.o=.d) $(STRESS_OBJ:.o=.d)

endif
