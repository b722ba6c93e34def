# SPDX-License-Identifier: MIT
#
# Debian's packages of this tree: lpfm and its parts lpfm-jobs, -fleet, -notebook and -oprofile; the libraries libperfmon3 and
# libperfctr3 with their -dev; perfmon-dkms; lpfm-doc. Part of the top Makefile.
DEB_DEPS := dpkg-dev debhelper dh-dkms chrpath fakeroot
DEBS     := $(BUILD)/deb

.PHONY: deb check-deb deps-deb
deps-deb: deps-build
	$(call install_missing,$(DEB_DEPS))

# What git knows of, or all where there is no git, with debian/ where its tools look for it.
deb: deps-deb
	@rm -rf $(DEBS)
	@mkdir -p $(DEBS)/lpfm
	@$(if $(wildcard .git),git ls-files -z,find . -path ./build -prune -o -type f -print0) | xargs -0 cp --parents -t $(DEBS)/lpfm
	@cp -R rockspec/debian $(DEBS)/lpfm/
	cd $(DEBS)/lpfm && env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL dpkg-buildpackage -us -uc -b >../log 2>&1 || \
		{ tail -n 30 ../log; exit 1; }
	@rm -rf $(DEBS)/lpfm
	@ls $(DEBS)/*.deb

check-deb: deb
	$(call install_missing,lintian debootstrap)
	@rockspec/check $(DEBS)
