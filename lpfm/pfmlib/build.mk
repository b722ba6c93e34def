# SPDX-License-Identifier: MIT
# build.mk - libpfmlib.so: events by name; libpfm.so and libpfm.a: all of libpfm 3, under its names.
# The top Makefile includes this file and sets its variables. LIBPFM4=no builds the libraries
# without libpfm4, with the tables of this folder alone.

LIBPFM4     ?= yes
PFMLIB_SRC  := $(filter-out %/libpfm4.c,$(wildcard lpfm/pfmlib/*.c lpfm/pfmlib/models/*.c))
PFMLIB_L4   := lpfm/pfmlib/$(if $(filter no,$(LIBPFM4)),none/)libpfm4
PFMLIB_OBJ  := $(PFMLIB_SRC:%.c=$(BUILD)/obj/%.o) $(BUILD)/obj/$(PFMLIB_L4).o
PFMLIB_SO   := $(BUILD)/libpfmlib.so
PFMLIB_LINK := -lpfmlib

$(PFMLIB_SRC:%.c=$(BUILD)/obj/%.o): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(call say,cc $<)
	$(Q)$(CC) $(ALLCFLAGS) -Ilpfm/pfmlib -c -o $@ $<

# This file includes libpfm4's pfmlib.h, and must not find ours, which has the same name.
$(BUILD)/obj/$(PFMLIB_L4).o: $(PFMLIB_L4).c
	@mkdir -p $(@D)
	$(call say,cc $<)
	$(Q)$(CC) $(filter-out $(INCLUDES),$(ALLCFLAGS)) -c -o $@ $<

$(PFMLIB_SO): $(PFMLIB_OBJ) lpfm/pfmlib/pfmlib.map lpfm/pfmlib/build.mk
	$(call say,ld $@)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-soname,libpfmlib.so.3 -Wl,--version-script=lpfm/pfmlib/pfmlib.map \
		$(if $(SAN),,-Wl$(,)--no-undefined) -o $@ $(PFMLIB_OBJ) $(if $(filter no,$(LIBPFM4)),,-Wl$(,)--no-as-needed -lpfm) -pthread -ldl
	@ln -sf libpfmlib.so $@.3

# --- libpfm 3 by its names: in a folder of its own, as elsewhere -lpfm means libpfm4 --------------

LIBPFM3_OBJ := $(PERFMON_OBJ) $(PFMLIB_OBJ) $(BUILD)/obj/lpfm/pfmlib/libpfm3/names.o
LIBPFM3     := $(BUILD)/libpfm3/libpfm.so.3 $(BUILD)/libpfm3/libpfm.a
LIBPFM3_MAP := kernel/user/libperfmon.map lpfm/pfmlib/pfmlib.map

$(BUILD)/obj/lpfm/pfmlib/libpfm3/names.o: lpfm/pfmlib/libpfm3/names.c
	@mkdir -p $(@D)
	$(call say,cc $<)
	$(Q)$(CC) $(ALLCFLAGS) -c -o $@ $<

# The exported names, also of the functions that are called in place of libc's
# (kernel/user/interpose.c).
$(BUILD)/libpfm3/names: $(LIBPFM3_MAP) lpfm/pfmlib/libpfm3/names.c lpfm/pfmlib/build.mk
	@mkdir -p $(@D)
	@{ sed -n 's/^\t\([a-z0-9_]*\*\{0,1\}\);$$/\1/p' $(LIBPFM3_MAP); \
		sed -n 's/.*LINK_NAME(\([a-z_]*\));$$/\1/p' lpfm/pfmlib/libpfm3/names.c; } >$@

$(BUILD)/libpfm3/libpfm.map: $(BUILD)/libpfm3/names
	@{ echo '{'; echo 'global:'; sed 's/$$/;/' $<; echo 'local: *;'; echo '};'; } >$@

$(BUILD)/libpfm3/libpfm.so.3: $(LIBPFM3_OBJ) $(BUILD)/libpfm3/libpfm.map
	$(call say,ld $@)
	$(Q)$(CC) $(SANFLAGS) $(LDFLAGS) -shared -Wl,-soname,libpfm.so.3 -Wl,--version-script=$(BUILD)/libpfm3/libpfm.map \
		-Wl,-Bsymbolic $(if $(SAN),,-Wl$(,)--no-undefined) -o $@ $(LIBPFM3_OBJ) -pthread -ldl
	@ln -sf libpfm.so.3 $(@D)/libpfm.so

# libpfm.a has a single object, in which all names but the exported ones are local.
$(BUILD)/libpfm3/libpfm.a: $(LIBPFM3_OBJ) $(BUILD)/libpfm3/names
	$(call say,ar $@)
	$(Q)$(CC) -r -nostdlib -o $(@D)/libpfm.o $(LIBPFM3_OBJ)
	$(Q)$$($(CC) -print-prog-name=objcopy) --wildcard --keep-global-symbols=$(@D)/names $(@D)/libpfm.o
	$(Q)rm -f $@ && $$($(CC) -print-prog-name=ar) rcs $@ $(@D)/libpfm.o

-include $(PFMLIB_OBJ:.o=.d) $(BUILD)/obj/lpfm/pfmlib/libpfm3/names.d
