# SPDX-License-Identifier: GPL-2.0
#
# perfmon.ko for the running kernel, or KDIR's; and the emulated machine of spec/vm to try it in.
# Kbuild writes where its sources lie: they are linked into build/module first.

KDIR    ?= /lib/modules/$(shell uname -r)/build
MODDIR  := $(BUILD)/module
MODULE_DIRS := core formats pmu include linux
# without pahole a module has no BTF, and needs none
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

# For the kernel of these headers; without its own keys nothing is signed.
SIGN     = $(if $(wildcard $(KDIR)/certs/signing_key.pem),,CONFIG_MODULE_SIG_ALL=)
RELEASE  = $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' $(KDIR)/include/generated/utsrelease.h)
module-install: module
	$(KMAKE) $(SIGN) INSTALL_MOD_PATH=$(DESTDIR) modules_install
	depmod -b $(DESTDIR)/ $(RELEASE)
	kernel/linux/device/access install $(DESTDIR)

# Its source where DKMS looks for it; built, and installed, for the running kernel and those that come.
DKMS_SRC := $(DESTDIR)/usr/src/perfmon-$(VERSION)
dkms:
	install -d $(DKMS_SRC)
	cp -R $(MODULE_DIRS:%=kernel/%) kernel/dkms.conf kernel/COPYING $(DKMS_SRC)/
	$(if $(DESTDIR),,dkms install perfmon/$(VERSION))

# A sampling format or PMU description from elsewhere: its Kbuild is in DIR, and finds perfmon_module.h.
module-of: module
	$(MAKE) -C $(KDIR) M=$(abspath $(DIR)) $(BTF) modules KBUILD_EXTRA_SYMBOLS=$(abspath $(MODDIR))/linux/Module.symvers \
		KCFLAGS='$(KCFLAGS) $(foreach d,linux include core pmu formats,-I$(abspath $(MODDIR))/$(d))'

vm:
	@FORMAT='$(FORMAT)' spec/vm/lpfm $(if $(LAB),lab $(LAB))

# Boots the machines again and again, with one processor and with four: some minutes. MORE=1: instead, what make
# check has no time for, other kernels among it; MORE=2: what takes longest, beside perf, on AMD's, by perf_event.
check-vm: deps-check
	@$(MAKE) LPFM_READY=1 all
	@$(if $(MORE),LPFM_VM_MORE=$(MORE)) spec/run --build $(BUILD) --all --lua luajit 'vm_a*'
