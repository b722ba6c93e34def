# SPDX-License-Identifier: MIT
# Makes the documentation from the comments in the C module, the script library and the program: the
# texts of help() (build/lua/pfm/manual.lua, private modules too) and LDoc's pages (make doc, public
# modules only).

DOC_PUBLIC  := $(wildcard lpfm/*.c lpfm/*/*.c scripts/pfm/*.lua scripts/pfm/jobs/*.lua scripts/pfm/fleet/*.lua scripts/pfm/oprofile/*.lua)
DOC_PRIVATE := $(filter-out $(DOC_PUBLIC),$(wildcard scripts/pfm/*/*.lua)) $(wildcard repl/command/*.lua repl/parts/*/*.lua repl/prompt/*.lua repl/lab/*.lua scripts/labs/kit.lua)
DOC_DIR  := $(BUILD)/doc
DOC_DATA := $(BUILD)/lua/pfm/manual.lua

# Copies the sources without the line of the licence, as LDoc takes a file's first comment for its
# documentation, and puts modules before their submodules, as LDoc requires. Folders are
# prerequisites because their times change when a source file is removed.
$(DOC_DIR)/src/config.ld: lpfm/doc/config.ld $(DOC_PUBLIC) $(DOC_PRIVATE) $(wildcard lpfm/*/ scripts/pfm/ scripts/pfm/*/ repl/*/)
	@rm -rf $(@D) && mkdir -p $(@D)/files/{public,private}/{modules,submodules}
	@sort_into() { for f in "$${@:2}"; do \
		if grep -q '@submodule' $$f; then to=submodules; else to=modules; fi; \
		sed '1s/.*SPDX.*//' $$f >$(@D)/files/$$1/$$to/$${f//\//.} || exit; done; }; \
		sort_into public $(DOC_PUBLIC) && sort_into private $(DOC_PRIVATE)
	@cp $< $@

# $(call ldoc,FILES,OPTIONS) runs ldoc on the sorted files; its output is shown only if it fails
ldoc = (cd $(DOC_DIR)/src && ldoc --fatalwarnings -c ./config.ld $(2) $(1)) >$(DOC_DIR)/log 2>&1 || \
	{ cat $(DOC_DIR)/log >&2; exit 1; }

$(DOC_DATA): $(DOC_DIR)/src/config.ld lpfm/doc/filter.lua
	$(call say,ldoc $@)
	@mkdir -p $(@D)
	$(Q)export LUA_PATH="$$PWD/lpfm/doc/?.lua;;" REFERENCE="$$PWD/$@"; $(call ldoc,files,--filter filter.dump)

.PHONY: doc
doc: $(DOC_DIR)/src/config.ld
	@rm -rf $(DOC_DIR)/src/topics && mkdir $(DOC_DIR)/src/topics
	$(Q)LUA_PATH='scripts/?.lua;?.lua' $(LUA) repl/pages.lua $(DOC_DIR)/src/topics
	@{ cat lpfm/doc/config.ld && echo 'topics = "topics"'; } >$(DOC_DIR)/src/pages.ld
	$(Q)$(call ldoc,files/public,-c ./pages.ld --dir ../html)
	@sed -i 's/submodules\.//g' $(DOC_DIR)/html/*/*.html	# module names without the folder
	@echo "$(DOC_DIR)/html/index.html"
