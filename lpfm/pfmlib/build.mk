# SPDX-License-Identifier: MIT
# build.mk - libpfmlib.so: events by name. Part of the top Makefile, whose variables it uses.
# LIBPFM4=no builds it without libpfm4, with the tables of this folder alone.

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

# libpfm4's header has the name of ours, which this file must not find
$(BUILD)/obj/$(PFMLIB_L4).o: $(PFMLIB_L4).c
	@mkdir -p $(@D)
	$(call say,cc $<)
	$(Q)$(CC) $(filter-out $(INCLUDES),$(ALLCFLAGS)) -c -o $@ $<

$(PFMLIB_SO): $(PFMLIB_OBJ) lpfm/pfmlib/pfmlib.map
	$(call say,ld $@)
	$(Q)$(CC) $(SANFLAGS) -shared -Wl,-soname,libpfmlib.so -Wl,--version-script=lpfm/pfmlib/pfmlib.map \
		$(if $(SAN),,-Wl$(,)--no-undefined) -o $@ $(PFMLIB_OBJ) $(if $(filter no,$(LIBPFM4)),,-lpfm) -pthread -ldl

-include $(PFMLIB_OBJ:.o=.d)
