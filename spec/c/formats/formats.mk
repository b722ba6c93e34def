# SPDX-License-Identifier: MIT
#
# Links the formats of spec/c/formats with the core: make -f Makefile -f spec/c/formats/formats.mk
# LPFM_READY=1 build/spec/formats. Objects and recipes are those of spec/fuzz/build.mk.

FORMATS_OBJ := $(patsubst %,build/spec/obj/spec/c/formats/formats_%.o,calls life overflow restart)

build/spec/formats: $(LOAD_OBJ) $(FORMATS_OBJ)
	$(call load_link)

-include $(FORMATS_OBJ:.o=.d)
