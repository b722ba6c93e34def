# SPDX-License-Identifier: MIT
# build.mk - libperfctr.so: perfctr's virtual counters over libperfmon. The top Makefile includes
# this file, which uses variables of the top Makefile.

PERFCTR_OBJ := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard kernel/perfctr/*.c))
LIBPERFCTR  := $(BUILD)/libperfctr.so

$(PERFCTR_OBJ): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc $<)
	$(Q)$(CC) $(ALLCFLAGS) -c -o $@ $<

# The library stays loaded after dlclose(3) (nodelete), because a watcher thread may run in it.
$(LIBPERFCTR): $(PERFCTR_OBJ) $(LIBPERFMON) kernel/perfctr/libperfctr.map kernel/perfctr/build.mk
	$(call say,ld $@)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-soname,libperfctr.so.3 -Wl,-z,nodelete \
		-Wl,--version-script=kernel/perfctr/libperfctr.map $(if $(SAN),,-Wl$(,)--no-undefined) -o $@ $(PERFCTR_OBJ) \
		-L$(BUILD) -lperfmon -Wl,-rpath,'$$ORIGIN' -pthread
	@ln -sf libperfctr.so $@.3

-include $(PERFCTR_OBJ:.o=.d)
