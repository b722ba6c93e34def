# SPDX-License-Identifier: MIT
# build.mk - texts that C files of the module include as strings: C declarations for LuaJIT, made
# from the headers, and Lua files. The top Makefile includes this file and sets its variables.

CDEF_INC := $(BUILD)/gen/cdef.inc
INCLUDES += -I$(BUILD)/gen

$(CDEF_INC): lpfm/ffi/cdef.h lpfm/ffi/objects.h lpfm/base/class.h lpfm/base/perfmon.h \
		lpfm/ffi/declare.lua lpfm/ffi/quote.lua $(wildcard kernel/include/perfmon/*.h)
	@mkdir -p $(@D)
	$(call say,gen $@)
	$(Q)set -o pipefail; $(CC) -E $(CSTD) -Ikernel/include -Ilpfm lpfm/ffi/cdef.h | $(LUA) lpfm/ffi/declare.lua | \
		$(LUA) lpfm/ffi/quote.lua >$@

$(LUAS:%=$(BUILD)/%/obj/lpfm/ffi/cdef.o): $(CDEF_INC)

# Lua files that C files include as strings.
STEP_INC := $(BUILD)/gen/step.inc
ROWS_INC := $(BUILD)/gen/rows.inc

$(STEP_INC): lpfm/ffi/step.lua
$(ROWS_INC): lpfm/base/rows.lua
$(STEP_INC) $(ROWS_INC): lpfm/ffi/quote.lua
	@mkdir -p $(@D)
	$(call say,gen $@)
	$(Q)$(LUA) lpfm/ffi/quote.lua <$(filter-out %/quote.lua,$^) >$@

$(LUAS:%=$(BUILD)/%/obj/lpfm/samples/fields.o): $(STEP_INC)
$(LUAS:%=$(BUILD)/%/obj/lpfm/base/rows.o): $(ROWS_INC)
