# SPDX-License-Identifier: MIT
# build.mk - libpfmregions.so: regions of programs, over libperfmon. The top Makefile includes this
# file, which uses the Makefile's variables.

REGIONS_OBJ   := $(patsubst %.c,$(BUILD)/obj/%.o,$(wildcard kernel/regions/*.c))
LIBPFMREGIONS := $(BUILD)/libpfmregions.so

$(REGIONS_OBJ): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc $<)
	$(Q)$(CC) $(ALLCFLAGS) -c -o $@ $<

# nodelete: threads call finish() in this library when they end, so it must stay loaded.
$(LIBPFMREGIONS): $(REGIONS_OBJ) $(LIBPERFMON) kernel/regions/libpfmregions.map kernel/regions/build.mk
	$(call say,ld $@)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-soname,libpfmregions.so.3 -Wl,-z,nodelete \
		-Wl,--version-script=kernel/regions/libpfmregions.map $(if $(SAN),,-Wl$(,)--no-undefined) -o $@ $(REGIONS_OBJ) \
		-L$(BUILD) -lperfmon -Wl,-rpath,'$$ORIGIN' -pthread
	@ln -sf libpfmregions.so $@.3

-include $(REGIONS_OBJ:.o=.d)
