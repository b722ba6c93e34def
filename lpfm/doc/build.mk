# SPDX-License-Identifier: MIT
# The documentation, of the comments in the C module and the script library: what help() says
# (build/lua/pfm/manual.lua) and the pages of LDoc (make doc).

DOC_SRC  := $(wildcard lpfm/*.c lpfm/*/*.c scripts/pfm/*.lua scripts/pfm/*/*.lua \
	repl/command/*.lua repl/prompt/*.lua)
DOC_DIR  := $(BUILD)/doc
DOC_DATA := $(BUILD)/lua/pfm/manual.lua

# LDoc takes a file's first comment for its documentation, which the licence's line is not, and wants a
# module before its submodules.
# The folders stand for files that went.
$(DOC_DIR)/src/config.ld: lpfm/doc/config.ld $(DOC_SRC) $(wildcard lpfm/*/ scripts/pfm/ scripts/pfm/*/ repl/*/)
	@rm -rf $(@D) && mkdir -p $(@D)/files/{modules,submodules}
	@for f in $(DOC_SRC); do \
		if grep -q '@submodule' $$f; then to=submodules; else to=modules; fi; \
		sed '1s/.*SPDX.*//' $$f >$(@D)/files/$$to/$${f//\//.} || exit; done
	@cp $< $@

# ldoc OPTION...: over the sorted files; what it says matters only when it fails
ldoc = (cd $(DOC_DIR)/src && ldoc --fatalwarnings $(1) .) >$(DOC_DIR)/log 2>&1 || { cat $(DOC_DIR)/log >&2; exit 1; }

$(DOC_DATA): $(DOC_DIR)/src/config.ld lpfm/doc/filter.lua
	$(call say,ldoc $@)
	@mkdir -p $(@D)
	$(Q)export LUA_PATH="$$PWD/lpfm/doc/?.lua;;" REFERENCE=$(abspath $@); $(call ldoc,--filter filter.dump)

.PHONY: doc
doc: $(DOC_DIR)/src/config.ld
	$(Q)$(call ldoc,--dir ../html)
	@sed -i 's/submodules\.//g' $(DOC_DIR)/html/*/*.html	# where build.mk sorted a file is no name
	@echo "$(DOC_DIR)/html/index.html"
