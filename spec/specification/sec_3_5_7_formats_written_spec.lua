-- SPDX-License-Identifier: MIT
-- Specification 3.5.7 - 3.5.15: the kernel's side of sampling formats. The cases in spec/c/formats,
-- linked with the core under ASan and UBSan, each have a format of their own.
local formats = require "support.formats"

local SECTIONS = {
   { "3.5.7 Kernel level interface overview", {
      noset = "PFM_FMTFL_NOSET: 'Any attempt to create an event set, different from set0 returns an error'",
      queue_depth = "fmt_msgq_depth: 'If the value in this field is less than 1, it will be forced to 1'",
      unknown_flags = "fmt_flags: 'The bits which are not defined are reserved and must be cleared'",
      argument_sizes =
         "fmt_arg_size: 'When no parameters are needed, this field must be zero'; else they 'must be provided'",
      listed = "3.5.2: 'For each format, the UUID and logical name must be listed', to any user",
   } },
   { "3.5.8 The pfm_register_buffer_fmt() function", {
      required_fields = "'EINVAL: some of the required fields ... are not provided': name, UUID, handler",
      once = "'A format can only be registered once': EBUSY, 'a format with the same UUID is already registered'",
      usable_at_once = "'Upon successful return from this function, the format is usable by applications'",
   } },
   { "3.5.9 The pfm_unregister_buffer_fmt() function", {
      unregister = "'EINVAL: the format is not registered'; EBUSY while a context uses it",
   } },
   { "3.5.10 The fmt_validate() function", {
      arguments =
         "gets ctx_flags as passed, the number of PMDs, a copy of the argument; so do fmt_getsize and fmt_init",
      refusals =
         "'must return 0 when successful, otherwise a valid errno': that of PFM_CREATE_CONTEXT, and nothing stays",
      only_the_handler = "'This function is optional', like all but the handler",
      argument_limit = "3.5.3: the argument 'is checked against the argument size limit', cf_arg_size_max",
   } },
   { "3.5.11 The fmt_getsize() function", {
      without_getsize =
         "'If the format does not use the perfmon buffer allocation service, then fmt_getsize must be NULL'",
      size_zero = "'If the returned size is 0, this is equivalent to not' using the service",
      getsize_limit = "'If the size is too big, the PFM_CREATE_CONTEXT command fails': cf_smpl_buf_size_max",
   } },
   { "3.5.12 The fmt_init() function", {
      all_zeroes =
         "without it 'the interface guarantees that the buffer will be set to all zeroes', aligned to 16 bytes (3.5.6)",
      initialized =
         "3.5.5: 'the buffer is guaranteed to be initialized upon return from the PFM_CONTEXT_CREATE command'",
   } },
   { "3.5.13 The fmt_exit() function", {
      at_exit =
         "'when the last controlling thread close the file descriptor', 'just before the physical memory ... is freed'",
      closed_while_loaded = "is the last call, also of a context that was loaded and counted",
   } },
   { "3.5.14 The fmt_handler() function", {
      fields = "pfm_ovfl_arg_t: all fields; 'The values are stored contiguously in increasing PMD index'",
      value_past_zero = "pmd_value: 'this value may not necessarily be 0'",
      notify_field =
         "ovfl_notify: 'is set to 1 when ... PFM_REGFL_OVFL_NOTIFY flag set. Otherwise, this field is set to 0'",
      random_last_reset = "pmd_last_reset: 'the last pseudo-random value that was used for the counter'",
      active_set = "active_set: 'the set to which the overflowed PMD register belongs'",
      only_64_bits = "is not called when the hardware wraps, only when 'a 64-bit overflow is declared'",
      simultaneous =
         "'called for each overflowed counter ... in increasing index ... The time stamp is identical', else unique",
      first_error = "'The calls to the handler stop when the first error is reported'",
      defaults = "control bits: 'The default value is 0', and nothing is done",
      notify_user =
         "notify_user: 'happens only if the controlling PMC register has the PFM_REGFL_OVFL_NOTIFY flag set'",
      notify_once = "notify_user, several at once: 'if the bit is set once', one notification names all",
      reset_ovfl_pmds = "reset_ovfl_pmds: with reset_pmds, to reg_short_reset, 'right upon return from the handler'",
      reset_is_random =
         "reset_ovfl_pmds: 'A new pseudo-random value is generated for each PMD register which requested'",
      reset_each =
         "reset_ovfl_pmds, several at once: 'on a per overflowed PMD basis', not reset again by PFM_RESTART",
      block_thread =
         "block_thread: 'honored only for ... a context with the PFM_FL_OVFL_BLOCK flag set, otherwise ... ignored'",
      block_system_wide = "block_thread: ignored system-wide",
      block_self = "block_thread: ignored when self-monitoring",
      block_at_user_level =
         "block_thread: 'guarantees that the monitored thread cannot go back to user level execution unless'",
      mask_monitoring =
         "mask_monitoring: 'cancels any reset_ovfl_pmds'; 'all resets will take place during PFM_RESTART'",
      mask_once = "mask_monitoring, several at once: 'if the bit is set once, monitoring is masked'",
      mask_and_block =
         "'it is masked upon return from the handler ... regardless of the thread going to block or not'",
   } },
   { "3.5.15 The pfm_restart() function", {
      restart_is_active = "is_active: 0 when masked, 1 when active; buf is the buffer",
      restart_defaults = "'The default value for this field is 0': nothing is reset, monitoring resumes",
      restart_reset_ovfl_pmds =
         "reset_ovfl_pmds: to reg_long_reset, 'right upon return from the call-back', reset_pmds too",
      restart_reset_is_random = "reset_ovfl_pmds: 'new pseudo-random values are generated'",
      restart_reset_once = "reset_ovfl_pmds: those 'which were not immediately reset', and only once",
      restart_last_overflow_was_reset = "... of a PMD that overflowed twice it is the last overflow that counts",
      restart_mask_monitoring = "mask_monitoring: 'when set to 1, monitoring is masked', stays so or becomes so",
      restart_ignored = "notify_user, block_thread: 'this field is ignored for this function'",
      restart_refused = "'otherwise a valid errno value is expected': that of PFM_RESTART, which does nothing else",
      restart_refused_of_a_family = "... with PFM_FL_INHERIT, 'there is one message' until one that is not refused",
      restart_refused_of_a_part = "... where the buffer has parts, it is refused to the threads of that part alone",
      restart_without = "is optional: without it what overflowed is reset and monitoring resumes",
   } },
}

describe("the kernel's side of formats", function()
   setup(formats.make)

   for _, section in ipairs(SECTIONS) do
      describe(section[1], function()
         for case, sentence in pairs(section[2]) do
            it(sentence, function() formats.run(case) end)
         end
      end)
   end

   it("each case there is has its sentence here", function()
      local known = { pm_bit = true } -- sec_5_itanium_spec.lua runs it, for 5.2
      for _, section in ipairs(SECTIONS) do
         for case in pairs(section[2]) do
            known[case] = true
         end
      end
      for case in formats.run():gmatch("%S+") do
         assert.is_true(known[case], case)
      end
   end)
end)
