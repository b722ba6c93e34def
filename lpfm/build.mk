# SPDX-License-Identifier: MIT
# build.mk - the declarations that cdef.c holds for LuaJIT, made from the headers. Part of the top
# Makefile, whose variables it uses.

CDEF := $(BUILD)/gen/cdef.inc
INCLUDES += -I$(BUILD)/gen

$(CDEF): lpfm/ffi/cdef.h lpfm/ffi/objects.h lpfm/base/class.h lpfm/base/perfmon.h lpfm/ffi/declare.lua $(wildcard kernel/include/perfmon/*.h)
	@mkdir -p $(@D)
	$(call say,gen $@)
	$(Q)set -o pipefail; $(CC) -E $(CSTD) -Ikernel/include -Ilpfm lpfm/ffi/cdef.h | $(LUA) lpfm/ffi/declare.lua >$@

$(LUAS:%=$(BUILD)/%/obj/lpfm/ffi/cdef.o): $(CDEF)
