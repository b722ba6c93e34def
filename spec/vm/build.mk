# SPDX-License-Identifier: MIT
#
# perfmon.ko on kernels that check what it does. The first time builds a kernel, ten minutes of a processor; then the
# rows that tell most take about as long. FULL=1: all of them; ROWS="NAME...": these; SEED=N: of the torture.
.PHONY: check-debug
check-debug: deps-build
	@spec/vm/debug $(if $(SEED),-s $(SEED)) $(if $(ROWS),$(ROWS),$(if $(FULL),full))
