# SPDX-License-Identifier: GPL-2.0
#
# Makes perfmon.ko for the running kernel, or for the kernel of KDIR, and runs the emulated machines
# of spec/vm with it. Kbuild writes its output beside the sources, so the build is done in a tree of
# symbolic links to them, build/module.

KDIR    ?= /lib/modules/$(shell uname -r)/build
MODDIR  := $(BUILD)/module
MODULE_DIRS := core formats pmu include linux
# Without pahole(1) the modules are built without BTF, which they do not need.
BTF      = $(if $(shell command -v pahole),,CONFIG_DEBUG_INFO_BTF_MODULES=)
KMAKE    = $(MAKE) -C $(KDIR) M=$(abspath $(MODDIR))/linux $(BTF)

.PHONY: module module-of module-install dkms vm check-vm

$(MODDIR)/.linked: $(wildcard $(MODULE_DIRS:%=kernel/%) kernel/include/perfmon $(addprefix kernel/linux/,arch file modules target))
	@rm -rf $(MODDIR) && mkdir -p $(MODDIR)
	@cp -rs $(MODULE_DIRS:%=$(CURDIR)/kernel/%) $(MODDIR)/
	@touch $@

module: $(MODDIR)/.linked
	@[ -e $(KDIR)/Makefile ] || { \
		echo "make: no kernel headers at $(KDIR): install linux-headers, or set KDIR" >&2; exit 1; }
	$(KMAKE) modules

# Installs the modules for the kernel that KDIR belongs to. They are not signed if KDIR has no
# signing key.
SIGN     = $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)
RELEASE  = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)
module-install: module
	$(KMAKE) $(SIGN) INSTALL_MOD_PATH=$(DESTDIR) modules_install
	depmod -b $(DESTDIR)/ $(RELEASE)
	kernel/linux/device/access install $(DESTDIR)

# Copies the modules' source to the place where DKMS looks for it. DKMS builds and installs the
# modules for the running kernel, and for each kernel that is installed later.
DKMS_SRC := $(DESTDIR)/usr/src/perfmon-$(VERSION)
dkms:
	install -d $(DKMS_SRC)
	cp -R $(MODULE_DIRS:%=kernel/%) kernel/dkms.conf kernel/COPYING $(DKMS_SRC)/
	$(if $(DESTDIR),,dkms install perfmon/$(VERSION))

# Builds a module with a sampling format or PMU description that is not part of this tree. Its
# Kbuild is in DIR; the compiler finds perfmon_module.h.
module-of: module
	@[ -e '$(DIR)/Kbuild' ] || [ -e '$(DIR)/Makefile' ] || { \
		echo "make: no Kbuild in '$(DIR)': expected DIR=, the folder of a format or PMU description" >&2; \
		exit 1; }
	$(MAKE) -C $(KDIR) M=$(abspath $(DIR)) $(BTF) modules KBUILD_EXTRA_SYMBOLS=$(abspath $(MODDIR))/linux/Module.symvers \
		KCFLAGS='$(KCFLAGS) $(foreach d,linux include core pmu formats,-I$(abspath $(MODDIR))/$(d))'

vm:
	@FORMAT='$(FORMAT)' spec/vm/lpfm $(if $(LAB),lab $(LAB))

# Boots the emulated machines many times, with one and with four processors, which takes some
# minutes. With MORE=1 or MORE=2, runs only tests that make check leaves out: with 1, more tests of
# the same kind and tests on other kernels; with 2, tests while perf measures, on AMD's processors,
# and by perf_event.
check-vm: deps-check
	@$(MAKE) LPFM_READY=1 all
	@$(if $(MORE),LPFM_VM_MORE=$(MORE)) spec/run --build $(BUILD) --all --lua luajit 'vm_a*'
