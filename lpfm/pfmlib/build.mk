# SPDX-License-Identifier: MIT
# build.mk - libpfmlib.so: events by name. Part of the top Makefile, whose variables it uses.

PFMLIB_SRC  := $(wildcard lpfm/pfmlib/*.c)
PFMLIB_OBJ  := $(PFMLIB_SRC:%.c=$(BUILD)/obj/%.o)
PFMLIB_SO   := $(BUILD)/libpfmlib.so
PFMLIB_LINK := -lpfmlib

$(filter-out %/libpfm4.o,$(PFMLIB_OBJ)): $(BUILD)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALLCFLAGS) -c -o $@ $<

# libpfm4's header has the name of ours, which this file must not find
$(BUILD)/obj/lpfm/pfmlib/libpfm4.o: lpfm/pfmlib/libpfm4.c
	@mkdir -p $(@D)
	$(CC) $(filter-out $(INCLUDES),$(ALLCFLAGS)) -c -o $@ $<

$(PFMLIB_SO): $(PFMLIB_OBJ) lpfm/pfmlib/pfmlib.map
	$(CC) $(SANFLAGS) -shared -Wl,-soname,libpfmlib.so -Wl,--version-script=lpfm/pfmlib/pfmlib.map \
		$(if $(SAN),,-Wl$(,)--no-undefined) -o $@ $(PFMLIB_OBJ) -lpfm -pthread -ldl

-include $(PFMLIB_OBJ:.o=.d)
