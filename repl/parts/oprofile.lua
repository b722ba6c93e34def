-- SPDX-License-Identifier: MIT
--- The part for OProfile's sampling buffers: `pfm.oprofile.oprofile`.
-- @module repl.parts.oprofile

return { extend = {} }
