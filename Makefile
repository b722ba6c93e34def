# SPDX-License-Identifier: MIT
#
# lpfm: perfmon2 for today's Linux, scriptable from Lua.
#
#   make repl      install what is missing, build, start the prompt
#   make check     install what is missing, build, run the tests, those of Lua under both interpreters
#   make help      all targets and variables

# --- yours to set -------------------------------------------------------------------------------

LUA     ?= luajit
PREFIX  ?= /usr/local
DESTDIR ?=
LIB     ?= lib
SAN     ?=
PARTS   ?= jobs fleet notebook oprofile perfctr
V       ?=
ifeq ($(origin CC),default)
CC      := gcc
endif
CLANG   ?= clang

# --- nothing to change below --------------------------------------------------------------------

LUAS    := luajit lua5.1
ifeq ($(filter $(LUA),$(LUAS)),)
$(error LUA is one of $(LUAS), not "$(LUA)")
endif

ifneq ($(filter-out jobs fleet notebook oprofile perfctr,$(PARTS)),)
$(error PARTS are of jobs, fleet, notebook, oprofile and perfctr, not "$(PARTS)")
endif

# make splits names of files at blanks.
ifneq ($(words x$(DESTDIR)x$(PREFIX)x$(LIB)),1)
$(error DESTDIR, PREFIX and LIB are without blanks, not "$(DESTDIR)", "$(PREFIX)" and "$(LIB)")
endif
ifneq ($(PREFIX:/%=),)
$(error PREFIX begins with /, not "$(PREFIX)")
endif

BUILD   := build$(if $(SAN),/san)
VERSION := 3.0
SHELL   := /bin/bash
MAKEFLAGS += --no-print-directory
Q       := $(if $(V),,@)
say      = $(if $(V),,@echo '  $(1)')
export CI

BUILD_DEPS := gcc libc6-dev pkg-config luajit libluajit-5.1-dev lua5.1 liblua5.1-0-dev libreadline-dev \
	libdw-dev libiberty-dev libzstd-dev zlib1g-dev libpfm4-dev lua-argparse lua-cjson lua-lpeg lua-posix lua-inspect lua-ldoc
CHECK_DEPS := lua-busted tmux util-linux procps gdb luarocks sqlite3 gnuplot-nox zsh fish man-db groff \
	python3-ipykernel python3-jupyter-client python3-jsonschema protobuf-compiler valgrind chromium \
	postgresql-client linux-perf
ENGINES    := openmpi-bin slurmctld slurmd slurm-client parallel postgresql
# Not every release has these packages: if apt does not know them, their tests are skipped.
OPTIONAL_ENGINES := clickhouse-server clickhouse-client
LINT_DEPS  := lua-check clang sparse nodejs linux-headers-$(shell dpkg --print-architecture 2>/dev/null)
BENCH_DEPS := linux-perf

, := ,
SANFLAGS := $(if $(SAN),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined)
CFLAGS   ?= -O2 -g
LDFLAGS  ?=
WARN     := -Wall -Wextra
CSTD     := -std=gnu11 -D_GNU_SOURCE
INCLUDES := -Ikernel/include -Ikernel/core -Ikernel/user -Ikernel -Ikernel/pmu -Ikernel/formats/host
ALLCFLAGS = $(CSTD) $(WARN) $(CFLAGS) $(SANFLAGS) $(INCLUDES) -fPIC -MMD -MP

PKG       = $(shell pkg-config $(1) $(2) 2>/dev/null)
LUA_INC   = $(call PKG,--cflags,$(1))
LUA_LIB   = $(call PKG,--libs,$(1))

.PHONY: all libraries repl check check-all check-built lint bench install install-core uninstall install-lua install-rock doc clean help deps-build deps-check deps-all deps-lint \
	deps-bench
.DELETE_ON_ERROR:

help:
	@echo 'make repl            build and start the prompt'
	@echo 'make check           build, and run the tests, those of Lua under both, and one boot of perfmon.ko (8 minutes)'
	@echo 'make check-all       all under both, with all emulated machines, databases and launchers of jobs (35 minutes)'
	@echo 'make                 this text;  make all: build only'
	@echo 'make lint            warnings of gcc and clang, sparse, checkpatch, luacheck, house style'
	@echo 'make bench           costs, as ratios measured in one run'
	@echo 'make doc             the help topics and the reference, as pages'
	@echo 'make install         program, module, scripts, libraries, headers, completion, manual pages (uninstall: away again)'
	@echo 'make fuzz SECONDS=N  the coverage-guided fuzzer'
	@echo 'make fuzz-lua CALLS=N  the Lua module called at random, under ASan'
	@echo 'make module          perfmon.ko and its formats for the running kernel (module-install installs them)'
	@echo 'make dkms            the same by DKMS, for each kernel that comes'
	@echo 'make deb             packages for Debian, in build/deb (check-deb: built, installed, tried and removed in a bare Debian)'
	@echo 'make vm              a prompt in an emulated arm64 machine that runs perfmon.ko; LAB=NAME: a lab there;'
	@echo '                     FORMAT=DIR: with the sampling format of a folder like spec/vm/format'
	@echo 'make check-vm        the tests of perfmon.ko there; MORE=1, MORE=2: those that make check leaves out'
	@echo 'make check-debug     perfmon.ko on kernels that check: memory, locks, leaks, injected faults (FULL=1: races, real time)'
	@echo 'make clean           remove build/'
	@echo
	@echo 'README.md shows how to begin, lpfm help topics the rest; CONTRIBUTING.md says how to change lpfm.'
	@echo
	@echo 'LUA=luajit|lua5.1    interpreter of build/lpfm (now $(LUA))'
	@echo 'PREFIX=DIR           where to install (now $(PREFIX));  DESTDIR=DIR in front of it'
	@echo 'PARTS="NAME..."      of jobs, fleet, notebook, oprofile, perfctr those to build and install (now $(PARTS))'
	@echo 'SAN=1                build into build/san with ASan and UBSan'
	@echo 'SPEC="NAME..."       make check: only these specs, by name, room or file'
	@echo 'V=1                  show the commands'

# --- what must be there first -------------------------------------------------------------------

# install_missing PACKAGE...: installs missing packages by apt, through sudo if not run by root
define install_missing
	@missing=; for p in $(1); do \
		[ "$$(dpkg-query -W -f '$${db:Status-Status}' $$p 2>/dev/null)" = installed ] || missing="$$missing $$p"; \
	done; \
	[ -z "$$missing" ] || { \
		command -v apt-get >/dev/null || { echo "make: needs (Debian names):$$missing" >&2; exit 1; }; \
		echo "make: installing$$missing"; \
		install="spec/apt-get install -y --no-install-recommends -qq $$missing"; \
		$$install >/dev/null 2>&1 || { spec/apt-get update -qq && $$install >/dev/null; }; }
endef
# known_to_apt PACKAGE...: prints those of the packages that apt knows
known_to_apt = $$(apt-cache show --no-all-versions $(1) 2>/dev/null | sed -n 's/^Package: //p')

deps-build:
	$(call install_missing,$(BUILD_DEPS))
deps-check: deps-build
	$(call install_missing,$(CHECK_DEPS))
deps-all: deps-check
	$(call install_missing,$(ENGINES) $(call known_to_apt,$(OPTIONAL_ENGINES)))
deps-lint: deps-build
	$(call install_missing,$(LINT_DEPS))
deps-bench: deps-build
	$(call install_missing,$(BENCH_DEPS))

# The rules behind the else run pkg-config when make reads them, so they are for a second make,
# which starts after deps-build has installed the libraries.
ifndef LPFM_READY

# If make was not told how many jobs to run, as many as there are processors.
JOBS := $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

all: deps-build
	@$(MAKE) $(JOBS) LPFM_READY=1 all
repl: deps-build
	@$(MAKE) $(JOBS) LPFM_READY=1 all
	@exec $(BUILD)/lpfm
check: deps-check
	@$(MAKE) $(JOBS) LPFM_READY=1 all
	@$(MAKE) LPFM_READY=1 check-built
check-all: deps-all
	@$(MAKE) $(JOBS) LPFM_READY=1 all
	@$(MAKE) LPFM_READY=1 check-built ALL=--all
lint: deps-lint
	@$(MAKE) LPFM_READY=1 lint
bench: deps-bench
	@$(MAKE) LPFM_READY=1 bench
install uninstall install-rock install-core $(PARTS:%=install-%) doc: deps-build
	@$(MAKE) LPFM_READY=1 $@

else

# --- libperfmon.so: the core over the machines of user space ------------------------------------

PERFMON_SRC := $(wildcard kernel/core/*.c kernel/formats/*.c kernel/pmu/*.c kernel/perf/*.c \
	kernel/sim/*.c kernel/sim/models/*.c kernel/sim/cache/*.c kernel/sim/sampling/*.c kernel/user/*.c kernel/user/v20/*.c)
PERFMON_OBJ := $(PERFMON_SRC:%.c=$(BUILD)/obj/%.o)
LIBPERFMON  := $(BUILD)/libperfmon.so

$(PERFMON_OBJ): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc $<)
	$(Q)$(CC) $(ALLCFLAGS) -c -o $@ $<

# The library stays loaded after dlclose(3) (nodelete), because its threads may run in it.
$(LIBPERFMON): $(PERFMON_OBJ) kernel/user/libperfmon.map
	$(call say,ld $@)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-soname,libperfmon.so.3 -Wl,-z,nodelete \
		-Wl,--version-script=kernel/user/libperfmon.map $(if $(SAN),,-Wl$(,)--no-undefined) -o $@ $(PERFMON_OBJ) -pthread
	@ln -sf libperfmon.so $(BUILD)/libperfmon.so.3

# --- perfctr's virtual counters -----------------------------------------------------------------

ifneq ($(filter perfctr,$(PARTS)),)
include kernel/perfctr/build.mk
endif

# --- regions of programs ------------------------------------------------------------------------

include kernel/regions/build.mk

# --- events by name -----------------------------------------------------------------------------

-include lpfm/pfmlib/build.mk

# --- documentation ------------------------------------------------------------------------------

include lpfm/doc/build.mk

# --- the Lua module and the program, for each interpreter ---------------------------------------

MODULE_SRC := $(filter-out lpfm/pfmlib/%,$(wildcard lpfm/*.c lpfm/*/*.c))
include lpfm/build.mk
PROGRAM_SRC := $(wildcard repl/*.c)

# The file has the LIB of the last build. The program has LIB compiled in, so it is built again if
# LIB is another one.
$(BUILD)/given: FORCE
	@mkdir -p $(@D); echo '$(LIB)' | cmp -s - $@ || { rm -f $@; echo '$(LIB)' >$@; }
FORCE:
$(LUAS:%=$(BUILD)/%/obj/repl/main.o) $(LUAS:%=$(BUILD)/%/lpfm): $(BUILD)/given

# per_lua NAME: objects, lpfm.so and lpfm in $(BUILD)/NAME
define per_lua
$(BUILD)/$(1)/obj/%.o: %.c
	@mkdir -p $$(@D)
	$$(call say,cc $$< ($(1)))
	$(Q)$(CC) -Ilpfm $(ALLCFLAGS) $(call LUA_INC,$(1)) -DLPFM_PREFIX='"$(PREFIX)"' -DLPFM_LIB='"$(LIB)"' \
		-DLPFM_VERSION='"$(VERSION)"' -c -o $$@ $$<

$(BUILD)/$(1)/lpfm.so: $(MODULE_SRC:%.c=$(BUILD)/$(1)/obj/%.o) $(LIBPERFMON) $(LIBPFMREGIONS) $(PFMLIB_SO) lpfm/lpfm.map
	$$(call say,ld $$@)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -shared -Wl,--version-script=lpfm/lpfm.map -o $$@ $$(filter %.o,$$^) -L$(BUILD) -lperfmon -lpfmregions $(PFMLIB_LINK) -ldw -lelf -liberty -lzstd -lz \
		-Wl,-rpath,'$$$$ORIGIN:$$$$ORIGIN/..' -pthread

$(BUILD)/$(1)/lpfm: $(PROGRAM_SRC:%.c=$(BUILD)/$(1)/obj/%.o) $(BUILD)/$(1)/lpfm.so
	$$(call say,ld $$@)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -rdynamic -o $$@ $$(filter %.o,$$^) $(call LUA_LIB,$(1)) -lreadline -lm -ldl \
		-L$(BUILD) -Wl,--no-as-needed -lperfmon -Wl,-rpath,'$$$$ORIGIN/..:$$$$ORIGIN/../$(LIB)'

-include $(MODULE_SRC:%.c=$(BUILD)/$(1)/obj/%.d) $(PROGRAM_SRC:%.c=$(BUILD)/$(1)/obj/%.d)
endef
$(foreach l,$(LUAS),$(eval $(call per_lua,$(l))))
-include $(PERFMON_OBJ:.o=.d)

libraries: $(LIBPERFMON) $(LIBPERFCTR) $(LIBPFMREGIONS) $(PFMLIB_SO)
all: libraries $(LIBPFM3) $(LUAS:%=$(BUILD)/%/lpfm) $(DOC_DATA)
	@ln -sfn $(LUA)/lpfm $(BUILD)/lpfm

# --- tests --------------------------------------------------------------------------------------

check-built: all
	@spec/run --build $(BUILD) $(LUAS:%=--lua %) $(ALL) $(SPEC)

lint:
	@spec/lint '$(CC)' '$(CLANG)'

bench: all
	@spec/bench/run --build $(BUILD)

# --- installing ---------------------------------------------------------------------------------

LIBDIR  := $(DESTDIR)$(PREFIX)/$(LIB)
INCDIR  := $(DESTDIR)$(PREFIX)/include/lpfm/perfmon
DATADIR := $(DESTDIR)$(PREFIX)/share/lpfm

# install_pc FILE...: installs files for pkg-config, made from FILE.pc.in
install_pc = umask 022 && for pc in $(1); do \
	sed 's|@PREFIX@|$(PREFIX)|; s|@LIB@|$(LIB)|; s|@VERSION@|$(VERSION)|' $$pc.pc.in \
		>$(LIBDIR)/pkgconfig/$${pc\#\#*/}.pc || exit; done

# install_files WHERE...,TEST...: installs the files that find(1) finds by these arguments; all users
# can read them, whatever the umask is
install_files = find $(1) -type f $(2) -print0 | xargs -0 -I{} install -D -m 644 {} $(DATADIR)/{}

# install_completion FILE,TEXT: installs TEXT, by which a shell takes its completion from the
# program, which knows the parts that are installed
install_completion = printf '%b\n' '$(2)' | install -D -m 644 /dev/stdin $(DESTDIR)$(PREFIX)/share/$(1)

install: install-core $(PARTS:%=install-%)
install-core: all install-lua
	install -d $(DESTDIR)$(PREFIX)/bin $(LIBDIR)/lpfm $(LIBDIR)/pkgconfig $(INCDIR) $(DATADIR)
	install -m 755 $(BUILD)/$(LUA)/lpfm $(DESTDIR)$(PREFIX)/bin/lpfm
	install -m 755 $(BUILD)/$(LUA)/lpfm.so $(LIBDIR)/lpfm/lpfm.so
	install -m 755 $(LIBPERFMON) $(LIBDIR)/libperfmon.so.3
	ln -sf libperfmon.so.3 $(LIBDIR)/libperfmon.so
	install -m 755 $(LIBPFMREGIONS) $(LIBDIR)/libpfmregions.so.3
	ln -sf libpfmregions.so.3 $(LIBDIR)/libpfmregions.so
	install -m 755 $(PFMLIB_SO) $(LIBDIR)/libpfmlib.so.3
	ln -sf libpfmlib.so.3 $(LIBDIR)/libpfmlib.so
	install -m 755 $(filter %.so.3,$(LIBPFM3)) $(LIBDIR)/lpfm/
	install -m 644 $(filter %.a,$(LIBPFM3)) $(LIBDIR)/lpfm/
	ln -sf libpfm.so.3 $(LIBDIR)/lpfm/libpfm.so
	install -m 644 kernel/include/perfmon/*.h $(INCDIR)/
	install -d $(INCDIR)/../ia64/perfmon
	install -m 644 kernel/include/ia64/perfmon/*.h $(INCDIR)/../ia64/perfmon/
	$(call install_pc,kernel/user/perfmon kernel/regions/pfmregions lpfm/pfmlib/pfmlib lpfm/pfmlib/libpfm3/libpfm3)
	install -m 644 $(DOC_DATA) $(DATADIR)/scripts/pfm/
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	umask 022 && LPFM_PARTS= $(BUILD)/$(LUA)/lpfm repl/man.lua $(VERSION) $(DESTDIR)$(PREFIX)/share/man/man1
	$(call install_completion,bash-completion/completions/lpfm,source <($(PREFIX)/bin/lpfm completion bash))
	$(call install_completion,fish/vendor_completions.d/lpfm.fish,$(PREFIX)/bin/lpfm completion fish | source)
	$(call install_completion,zsh/site-functions/_lpfm,#compdef lpfm\nsource <($(PREFIX)/bin/lpfm completion zsh)\n_lpfm "$$@")

# Installs a part that is written in Lua: its library, its commands and their manual pages.
SCRIPT_PARTS := jobs fleet notebook oprofile
$(SCRIPT_PARTS:%=install-%): install-%: all
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	$(call install_files,repl/parts/$*.lua $(wildcard scripts/pfm/$* repl/parts/$*))
	umask 022 && $(BUILD)/$(LUA)/lpfm repl/man.lua $(VERSION) $(DESTDIR)$(PREFIX)/share/man/man1 $*

install-perfctr: all
	install -d $(LIBDIR)/pkgconfig $(INCDIR)/../perfctr
	install -m 755 $(LIBPERFCTR) $(LIBDIR)/libperfctr.so.3
	ln -sf libperfctr.so.3 $(LIBDIR)/libperfctr.so
	install -m 644 kernel/include/perfctr/*.h $(INCDIR)/../perfctr/
	$(call install_pc,kernel/perfctr/perfctr)

# Removes the files that an install into an empty folder makes there, and the folders that are then
# empty.
UNINSTALL := $(BUILD)/uninstall
uninstall: all
	@rm -rf $(UNINSTALL)
	@$(MAKE) LPFM_READY=1 DESTDIR=$(UNINSTALL) install >/dev/null
	find $(UNINSTALL)$(PREFIX) ! -type d -printf '$(DESTDIR)$(PREFIX)/%P\0' | xargs -0 rm -f
	@find $(UNINSTALL)$(PREFIX) -mindepth 1 -depth -type d -printf '$(DESTDIR)$(PREFIX)/%P\0' | \
		xargs -0 rmdir --ignore-fail-on-non-empty 2>/dev/null || :
	@rm -rf $(UNINSTALL)

# Installs what the program reads when it runs: the script library, and repl/ without the makers of
# pages. Parts are left out.
install-lua:
	$(call install_files,scripts,$(SCRIPT_PARTS:%=! -path 'scripts/pfm/%/*'))
	$(call install_files,repl,-name '*.lua' ! -path 'repl/parts/*' ! -name man.lua ! -name pages.lua)

# Installs into a rock's tree: the module with its libraries beside it, and the script library.
install-rock: all
	install -d $(ROCK_LIBDIR) $(ROCK_LUADIR)
	install -m 755 $(BUILD)/$(LUA)/lpfm.so $(LIBPERFMON) $(BUILD)/libperfmon.so.3 $(LIBPFMREGIONS) $(LIBPFMREGIONS).3 \
		$(PFMLIB_SO) $(PFMLIB_SO).3 $(ROCK_LIBDIR)/
	cp -R scripts/pfm $(ROCK_LUADIR)/
	cp $(DOC_DATA) $(ROCK_LUADIR)/pfm/

endif

# --- perfmon.ko and the machine to try it in; packages; the fuzzer ------------------------------

-include kernel/linux/build.mk
-include rockspec/build.mk
-include spec/vm/build.mk
-include spec/fuzz/build.mk

clean:
	rm -rf build
