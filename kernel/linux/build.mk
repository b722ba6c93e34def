# SPDX-License-Identifier: GPL-2.0
#
# perfmon.ko for the running kernel, or KDIR's; and the emulated machine of spec/vm to try it in.
# Kbuild writes where its sources lie: they are linked into build/module first.

KDIR    ?= /lib/modules/$(shell uname -r)/build
MODDIR  := $(BUILD)/module
MODULE_DIRS := core formats pmu include linux

.PHONY: module module-install vm check-vm

$(MODDIR)/.linked: $(wildcard $(MODULE_DIRS:%=kernel/%) kernel/include/perfmon)
	@rm -rf $(MODDIR) && mkdir -p $(MODDIR)
	@cp -rs $(MODULE_DIRS:%=$(CURDIR)/kernel/%) $(MODDIR)/
	@touch $@

module: $(MODDIR)/.linked
	@[ -e $(KDIR)/Makefile ] || { \
		echo "make: no kernel headers at $(KDIR): install linux-headers, or set KDIR" >&2; exit 1; }
	$(MAKE) -C $(KDIR) M=$(abspath $(MODDIR))/linux modules

module-install: module
	$(MAKE) -C $(KDIR) M=$(abspath $(MODDIR))/linux modules_install
	depmod -a

vm:
	@spec/vm/lpfm

# Boots the machine again and again, with one processor and with four: some minutes.
check-vm: deps-check
	@$(MAKE) LPFM_READY=1 all
	@spec/run --build $(BUILD) --lua luajit spec/linux_vm_spec.lua
