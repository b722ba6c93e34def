# SPDX-License-Identifier: MIT
#
# Programs that put the library under load, linked with its objects: under ASan and UBSan in
# build/spec, optimized in build/bench, and the fuzzer of libFuzzer in build/fuzz. Specs and
# benchmarks make what they need.
#
#   make LPFM_READY=1 build/spec/stress && build/spec/stress SEED STEPS
#   make LPFM_READY=1 build/spec/concurrent-tsan && LPFM_SEED=1 build/spec/concurrent-tsan SECONDS
#   make fuzz SECONDS=600
#   make fuzz-lua CALLS=1000000        the Lua module, called at random

FUZZ_DEPS := clang libclang-rt-14-dev
SECONDS   ?= 600
CALLS     ?= 1000000

.PHONY: fuzz fuzz-lua deps-fuzz

deps-fuzz: deps-build
	$(call install_missing,$(FUZZ_DEPS))

fuzz-lua: deps-check
	@$(MAKE) LPFM_READY=1 SAN=1 all
	@nice spec/fuzz/calls $(CALLS)

ifndef LPFM_READY

fuzz: deps-fuzz
	@$(MAKE) LPFM_READY=1 fuzz SECONDS=$(SECONDS)

else

LOAD_SRC   := $(PERFMON_SRC)
LOAD_WRAPS := malloc calloc realloc free mmap munmap memfd_create socketpair close epoll_ctl
STRESS_WRAPS := pfm_overflow pfm_set_timeout pfm_reset_pmds pfm_reset_these pfm_reset_pmd pfm_ctxsw_in
SPEC_INC   := $(patsubst %,-Ispec/c/%,harness fuzz formats)
LOAD_SAN   := -fsanitize=address$(,)undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
LOAD_FLAGS := $(CSTD) $(WARN) -Og -g1 -ftrivial-auto-var-init=pattern -DPFM_RESETS_ARE_CALLS $(LOAD_SAN) $(INCLUDES) $(SPEC_INC) -MMD -MP

HARNESS    := spec/c/harness/harness.c spec/c/harness/harness_program.c spec/c/harness/harness_rules.c \
	spec/c/harness/harness_sets.c
STRESS_SRC := $(wildcard spec/c/harness/stress*.c) spec/c/harness/harness_alloc.c
# The core alone, called by several threads: built twice, since ASan and TSan exclude each other.
CONCURRENT_SRC := $(wildcard kernel/core/*.c kernel/formats/*.c spec/c/concurrent/concurrent*.c) \
	spec/c/harness/harness.c spec/c/harness/harness_sets.c
TSAN_FLAGS := $(CSTD) $(WARN) -Wno-tsan -O1 -g1 -fsanitize=thread $(INCLUDES) $(SPEC_INC) -MMD -MP
ALLOC_SRC  := spec/c/harness/alloc.c spec/c/harness/alloc_calls.c spec/c/harness/harness_alloc.c
BPF_SRC    := kernel/formats/bpf_check.c kernel/formats/bpf_run.c
BPF_FUZZ_SRC := $(BPF_SRC) $(patsubst %,spec/c/fuzz/%.c,fuzz_bpf bpf_rules bpf_random)
FUZZ_SRC   := spec/c/fuzz/fuzz.c spec/c/fuzz/fuzz_calls.c spec/c/fuzz/fuzz_06.c
LOAD_OBJ   := $(LOAD_SRC:%.c=build/spec/obj/%.o) $(HARNESS:%.c=build/spec/obj/%.o)
FUZZ_OBJ   := $(patsubst %.c,build/fuzz/obj/%.o,$(LOAD_SRC) $(HARNESS) $(FUZZ_SRC))

# Without LD_PRELOAD: specs may run with a preloaded sanitizer, with which compilers fail.
build/spec/obj/%.o: %.c
	@mkdir -p $(@D)
	@LD_PRELOAD= $(CC) $(LOAD_FLAGS) -c -o $@ $<

# load_link FUNCTION...: links a program; calls of these functions go to __wrap_FUNCTION
load_link = @LD_PRELOAD= $(CC) $(LOAD_SAN) $(patsubst %,-Wl$(,)--wrap=%,$(1)) -o $@ $(filter %.o,$^) -pthread

build/spec/stress: $(LOAD_OBJ) $(STRESS_SRC:%.c=build/spec/obj/%.o)
	$(call load_link,$(LOAD_WRAPS) $(STRESS_WRAPS))

build/spec/concurrent: $(CONCURRENT_SRC:%.c=build/spec/obj/%.o)
	$(call load_link)

build/spec/tsan/%.o: %.c
	@mkdir -p $(@D)
	@LD_PRELOAD= $(CC) $(TSAN_FLAGS) -c -o $@ $<

build/spec/concurrent-tsan: $(CONCURRENT_SRC:%.c=build/spec/tsan/%.o)
	@LD_PRELOAD= $(CC) -fsanitize=thread -o $@ $^ -pthread

# libperfmon, called by several threads of a program.
build/spec/clients-tsan: $(PERFMON_SRC:%.c=build/spec/tsan/%.o) build/spec/tsan/spec/c/concurrent/clients.o
	@LD_PRELOAD= $(CC) -fsanitize=thread -o $@ $^ -pthread

build/spec/alloc: $(LOAD_OBJ) $(ALLOC_SRC:%.c=build/spec/obj/%.o)
	$(call load_link,$(LOAD_WRAPS))

build/spec/module_faults: $(LOAD_OBJ) build/spec/obj/spec/c/calls/module_faults.o \
		build/spec/obj/spec/c/harness/harness_alloc.o
	$(call load_link,$(LOAD_WRAPS) open ioctl)

build/spec/fuzz_replay: $(LOAD_OBJ) $(patsubst %.c,build/spec/obj/%.o,$(FUZZ_SRC) spec/c/fuzz/fuzz_replay.c)
	$(call load_link)

# The format "program": its verifier under ASan, and its interpreter compared with the kernel's.
build/spec/fuzz_bpf_random: $(patsubst %.c,build/spec/obj/%.o,$(BPF_FUZZ_SRC) spec/c/fuzz/fuzz_bpf_random.c)
	$(call load_link)

build/spec/bpf_oracle: spec/c/fuzz/bpf_oracle.c spec/c/fuzz/bpf_random.c spec/c/fuzz/bpf_random.h $(BPF_SRC) kernel/formats/bpf.h
	@mkdir -p $(@D)
	@LD_PRELOAD= $(CC) $(CSTD) $(WARN) -O2 $(INCLUDES) $(SPEC_INC) -o $@ $(filter %.c,$^)

# Random names for the demangler.
MANGLED_SRC := $(addprefix lpfm/demangle/,demangle.c dlang.c) spec/c/fuzz/mangled_random.c

build/spec/mangled_random: $(MANGLED_SRC) lpfm/demangle/demangle.h
	@mkdir -p $(@D)
	@LD_PRELOAD= $(CC) $(CSTD) $(WARN) -O2 -g $(LOAD_SAN) -Ilpfm -o $@ $(MANGLED_SRC) -liberty

build/fuzz/fuzz_bpf: $(patsubst %.c,build/fuzz/obj/%.o,$(BPF_FUZZ_SRC))
	@$(CLANG) -fsanitize=fuzzer $(LOAD_SAN) -o $@ $^

build/fuzz/obj/%.o: %.c
	@mkdir -p $(@D)
	@$(CLANG) $(LOAD_FLAGS) -fsanitize=fuzzer-no-link -c -o $@ $<

build/fuzz/fuzz: $(FUZZ_OBJ)
	@$(CLANG) -fsanitize=fuzzer $(LOAD_SAN) -o $@ $^ -pthread

# Starts from the corpus; inputs that reach new code stay in build/fuzz/found. BPF gets a tenth.
fuzz: build/fuzz/fuzz build/fuzz/fuzz_bpf
	@mkdir -p build/fuzz/found build/fuzz/found_bpf
	@nice build/fuzz/fuzz_bpf -max_total_time=$$(($(SECONDS) / 10 + 1)) -max_len=4096 -timeout=5 \
		-print_final_stats=1 -artifact_prefix=build/fuzz/ build/fuzz/found_bpf
	@nice build/fuzz/fuzz -max_total_time=$(SECONDS) -max_len=1024 -timeout=25 -rss_limit_mb=4096 \
		-print_final_stats=1 -artifact_prefix=build/fuzz/ build/fuzz/found spec/fuzz/corpus

-include $(patsubst %.c,build/spec/obj/%.d,$(LOAD_SRC) $(HARNESS) $(STRESS_SRC) $(ALLOC_SRC) $(FUZZ_SRC) \
	$(CONCURRENT_SRC))
-include build/spec/obj/spec/c/calls/module_faults.d
-include $(patsubst %,build/spec/obj/spec/c/fuzz/%.d,fuzz_bpf fuzz_bpf_random bpf_rules bpf_random)
-include $(patsubst %.c,build/spec/tsan/%.d,$(sort $(CONCURRENT_SRC) $(PERFMON_SRC) spec/c/concurrent/clients.c))
-include $(FUZZ_OBJ:.o=.d)

endif
