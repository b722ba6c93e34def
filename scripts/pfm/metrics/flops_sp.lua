-- SPDX-License-Identifier: MIT
return require "pfm.metrics.flops_by" "SINGLE"
