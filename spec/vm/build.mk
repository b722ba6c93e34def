# SPDX-License-Identifier: MIT
#
# Tests perfmon.ko on kernels with debug checks. The first run builds a kernel in ten CPU minutes;
# the default rows take as long. FULL=1: all rows; ROWS="NAME...": these; SEED=N: the torture's.
.PHONY: check-debug
check-debug: deps-build
	@spec/vm/debug $(if $(SEED),-s $(SEED)) $(if $(ROWS),$(ROWS),$(if $(FULL),full))
