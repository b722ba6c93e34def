# SPDX-License-Identifier: MIT
#
# The formats of spec/c/formats_*.c, linked with the core: make -f Makefile -f spec/c/formats.mk
# LPFM_READY=1 build/spec/formats. Objects and recipes are those of spec/fuzz/build.mk.

FORMATS_OBJ := $(patsubst %,build/spec/obj/spec/c/formats_%.o,calls life overflow restart)

build/spec/formats: $(LOAD_OBJ) $(FORMATS_OBJ)
	$(call load_link)

-include $(FORMATS_OBJ:.o=.d)
