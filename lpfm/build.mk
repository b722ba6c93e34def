# SPDX-License-Identifier: MIT
# build.mk - texts that the module holds for LuaJIT: declarations, made from the headers, and the step of
# loops. Part of the top Makefile, whose variables it uses.

CDEF := $(BUILD)/gen/cdef.inc
INCLUDES += -I$(BUILD)/gen

$(CDEF): lpfm/ffi/cdef.h lpfm/ffi/objects.h lpfm/base/class.h lpfm/base/perfmon.h \
		lpfm/ffi/declare.lua lpfm/ffi/quote.lua $(wildcard kernel/include/perfmon/*.h)
	@mkdir -p $(@D)
	$(call say,gen $@)
	$(Q)set -o pipefail; $(CC) -E $(CSTD) -Ikernel/include -Ilpfm lpfm/ffi/cdef.h | $(LUA) lpfm/ffi/declare.lua | \
		$(LUA) lpfm/ffi/quote.lua >$@

$(LUAS:%=$(BUILD)/%/obj/lpfm/ffi/cdef.o): $(CDEF)

# What C files hold of Lua.
STEP := $(BUILD)/gen/step.inc
ROWS := $(BUILD)/gen/rows.inc

$(STEP): lpfm/ffi/step.lua
$(ROWS): lpfm/base/rows.lua
$(STEP) $(ROWS): lpfm/ffi/quote.lua
	@mkdir -p $(@D)
	$(call say,gen $@)
	$(Q)$(LUA) lpfm/ffi/quote.lua <$(filter-out %/quote.lua,$^) >$@

$(LUAS:%=$(BUILD)/%/obj/lpfm/samples/fields.o): $(STEP)
$(LUAS:%=$(BUILD)/%/obj/lpfm/base/rows.o): $(ROWS)
