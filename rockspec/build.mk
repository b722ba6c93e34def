# SPDX-License-Identifier: MIT
#
# Makes Debian's packages of this tree: lpfm and its parts lpfm-jobs, lpfm-fleet, lpfm-notebook and
# lpfm-oprofile; the libraries libperfmon3 and libperfctr3 with their -dev packages; perfmon-dkms;
# lpfm-doc. The top Makefile includes this file.
DEB_DEPS := dpkg-dev debhelper dh-dkms chrpath fakeroot
DEBS     := $(BUILD)/deb

.PHONY: deb check-deb deps-deb
deps-deb: deps-build
	$(call install_missing,$(DEB_DEPS))

# Builds from a copy of the files that git tracks (without git, of all files), in which debian/ is
# at the top, where Debian's tools look for it.
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
