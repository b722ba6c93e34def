-- SPDX-License-Identifier: MIT
--- Tests perfmon.ko in the emulated machines of spec/vm: with real counters, interrupts and context
-- switches. Returns a function that declares the tests of an architecture ("arm64 smp": those with
-- four processors, which run beside the others) or, for "smoke", those of the one boot of make
-- check.
local busted = require "busted"
local assert = require "luassert"
local describe, it, pending = busted.describe, busted.it, busted.pending

local function run(command)
   local pipe = assert(io.popen(command .. " 2>&1; echo \"status $?\""))
   local output = pipe:read("*a")
   pipe:close()
   return output, tonumber(output:match("status (%d+)%s*$"))
end

-- Returns why no emulated machine can run here (spec/vm/vm exits with 125); nil if one can. With
-- any other exit status spec/vm/vm has failed.
local function obstacle(kind)
   if os.getenv("LPFM_BUILD") == nil or io.open("/dev/perfmon") then
      return "inside such a machine already, or not started by spec/run"
   end
   local output, status = run("spec/vm/vm " .. kind .. " prepare")
   assert(status == 0 or status == 125, output)
   if status == 125 then
      return (output:gsub("%s*status %d+%s*$", ""))
   end
end

-- Returns the set of NAMEs in the guest's lines "ok NAME", and the list of what follows "not ok ".
local function results(output)
   local names, bad = {}, {}
   for line in output:gmatch("[^\n]+") do
      names[line:match("^ok (.+)$") or ""] = true
      bad[#bad + 1] = line:match("^not ok (.+)$")
   end
   return names, bad
end

local MIB = 1280 -- MiB of memory; the labs use 700

-- Runs specs in the guest, on perfmon.ko or the machine perf, and checks their line of totals.
local function specs_pass(options, specs, kind)
   local output, status = run(("spec/vm/run -m %d %s %s %s"):format(MIB, options, kind or "specs",
      table.concat(specs, " ")))
   local passed, failed = output:match("\n(%d+) passed, (%d+) failed")
   assert.equal("0", failed, output)
   assert.is_true(tonumber(passed) > 2 * #specs, output)
   assert.equal(0, status, output)
end

local function passes(options, programs, expected, environment)
   local output, status = run((environment or "") .. " spec/vm/run " .. options .. " " .. programs)
   local names, bad = results(output)
   assert.equal("", table.concat(bad, "\n"))
   for _, name in ipairs(expected) do
      assert.is_true(names[name], name .. " did not run:\n" .. output)
   end
   assert.equal(0, status, output)
end

local counting = {
   "self_is_exact", "all_counters_agree", "child_counts_what_it_counts_alone", "commands_reach_a_running_thread",
   "errors", "software_counters", "system_wide", "threads_can_be_left_out", "each_set_leaves_out_its_own",
}
local labs = {
   "lab_periods_is_whole", "lab_periods_is_exact", "lab_bias_is_whole", "lab_bias_is_exact", "lab_multiplex_is_whole",
   "lab_sets_is_whole", "lab_sets_is_exact", "lab_stacks_is_whole", "lab_costs_is_whole", "lab_formats_is_whole",
}
local sampling = {
   "notification", "notification_by_sigio", "notification_by_a_real_time_signal", "signal_without_message",
   "buffer_fills", "mapping_rules", "memory_limits", "profile_has_the_right_shares",
   "randomized_profile_has_the_right_shares", "four_threads_are_profiled_at_once",
   "bias_is_cured_by_randomization", "storms_are_throttled", "blocking", "own_thread_is_held",
   "blocked_thread_is_freed",
}
local sets = {
   "time_switched_sets_scale", "timeouts_run_with_the_thread", "a_start_continues_a_timeout",
   "overflow_switches_after_n", "cascade", "masked_sets_wait",
}
local sets_of_intel = {
   "each_set_has_counters_that_count_its_events", "overflows_switch_to_such_counters", "a_write_moves_an_event",
   "two_events_for_one_counter_are_refused", unpack(sets),
}
local security = {
   "kernel_level_needs_permission", "foreign_threads_are_refused", "set_uid_programs_are_not_monitored",
   "an_exec_keeps_the_context", "descriptors_can_be_passed_on", "reading_changes_only_results",
}

local rights = {
   "perf_event_paranoid_is_kept", "rights_are_those_of_who_loads", "refused_loads_take_no_addresses",
   "a_namespace_gives_no_rights", "no_access_means_perf", "a_refused_call_takes_no_counter",
}
local inherit = {
   "a_tree_is_counted", "living_ones_are_commanded", "the_last_one_ends_it", "they_come_and_go_under_commands",
   "hardware_counts_in_children", "each_has_a_timeout", "memory_is_the_creators", "an_exec_starts",
   "a_stop_before_the_exec_undoes_the_start", "without_an_exec_nothing_counts", "combinations_are_refused",
}
local inherit_samples = {
   "all_of_a_tree_are_sampled", "full_parts_hold_those_who_come", "a_restart_gives_back_what_was_read",
   "short_ones_share_a_period", "records_of_all", "hardware_samples_children",
   "families_come_and_go_under_commands", "other_combinations_are_refused",
}
local charges = {
   "a_user_has_so_much", "no_limit_is_none", "perf_grants_more", "who_exits_leaves_the_charge",
   "who_execs_keeps_the_charge", "sets_are_charged", "contexts_are_charged", "records_are_charged",
}
local lifetime = {
   "each_end_is_told", "waiters_are_woken_at_each_end", "a_close_ends_self_monitoring",
   "a_close_does_not_end_it_for_others", "who_is_not_monitored_is_not_held", "commands_do_not_wait_for_memory",
   "a_message_that_cannot_be_had_stays",
   "a_counter_that_is_lost_is_told_of", "a_counter_is_lost_and_the_thread_ends",
   "it_is_told_how_long_a_counter_was_lost", "a_counter_of_a_child_is_lost", "nothing_is_told_where_nothing_is_lost",
}

local sharing = {
   "what_others_close_stays_mapped", "threads_with_descriptors_of_their_own", "a_close_of_shared_descriptors_unmaps",
}

local limits = {
   "short_reads_are_refused", "vectors_are_limited", "long_vectors_are_whole", "rates_are_limited",
   "timers_are_throttled", "threads_and_cpus_go_together", "ids_are_those_of_the_namespace",
   "a_context_goes_to_another_process", "an_exec_gives_a_thread_another_number",
   "a_number_is_anothers_after_its_thread",
}
local limits_of_many = {
   "settings_do_not_undo_each_other", "each_cpu_has_its_context", "a_cpu_that_goes_takes_its_session",
   "who_waits_for_a_cpu_that_goes_is_told", unpack(limits),
}
local names = {
   "the_manual_page_on_linux", "counts_by_name_on_linux", "samples_by_name_on_linux", "the_manual_page_on_perf",
   "counts_by_name_on_perf", "samples_by_name_on_perf",
}

local measure = {
   "second_stage_begins_at_instruction_50000", "second_stage_begins_at_instruction_500000",
   "second_stage_begins_at_instruction_4000000", "nothing_is_lost_after_500000", "cycles_are_twice_500000",
   "it_knows_when_500000", "a_stage_that_is_not_reached", "how_far_it_got", "a_stage_that_counts_nothing",
   "whichever_comes_first", "half_the_instructions", "until_the_nth", "many_events_take_turns", "estimate_1",
   "estimate_2", "estimate_3", "estimate_4", "randomized_by_the_tool",
   "randomized_by_the_interface", "a_cpu_counts_what_ran_there",
}
local exact = {
   "fixed_periods_are_exact", "no_overflow_is_lost_in_commands", "commands_end_at_tiny_periods",
   "sets_switched_in_the_interrupt_lose_nothing", "timers_and_the_pmu_at_once", "context_switches_lose_nothing",
   "perf_counts_beside", "no_counter_is_left", "a_throttled_counter_goes_on",
}
local of_arm64 = { "overflows_of_others_are_not_counted" }
local of_x86 = { "branches_are_exact", "the_watchdog_is_on", "single_branches_are_not_traced" }
local of_intel = { "what_perf_refuses_is_refused", unpack(exact) }
local of_amd = {
   "fixed_periods_are_exact", "commands_end_at_tiny_periods", "sets_switched_in_the_interrupt_lose_nothing",
   "context_switches_lose_nothing", "perf_counts_beside", "no_counter_is_left", "a_throttled_counter_goes_on",
}
local beside = { "perf_stat_beside", "perf_record_beside", "perf_counts_all_cpus_beside" }
local fallback = {
   "with_the_device", "in_a_container", "in_a_users_own_container", "as_a_user_without_access",
   "as_a_user_who_may_nothing", "as_a_user_with_access",
}
local software = {
   "self_is_exact", "child_counts_what_it_counts_alone", "clocks_run_with_the_thread", "system_wide", "notification",
   "notification_by_signal", "blocking", "samples", "regions", "profile_by_the_clock", "overflow_switches_after_n",
   "time_switched_sets_share",
}
local modules = {
   "formats_come_when_wanted", "formats_are_told_of", "a_format_in_use_stays", "a_format_from_elsewhere",
   "a_description_comes_when_wanted", "a_failed_request_is_made_again",
   "contexts_keep_the_pmu_they_began_with", "all_that_ask_at_once_get_it", "modules_come_and_go_under_load",
   "nothing_is_left",
}
local torture = { "nothing_breaks", "nothing_is_left", "it_still_counts_right", "the kernel is content" }

local narrow = { "a_32_bit_program_counts", "a_32_bit_program_samples" }
local reload = {
   "threads_and_cpus_exclude_each_other", "what_needs_the_threads_help_is_refused", "ends_are_noticed_without_it",
}

local view = {
   "a_read_is_exact", "upper_bits_are_there", "what_stands_still_is_read", "what_is_not_in_a_register_takes_a_call",
   "where_it_is_forbidden_it_takes_a_call", "sets_tell_which_is_active", "sets_that_switch_lose_nothing",
   "one_set_is_active_whatever_interrupts", "writing_is_refused", "a_child_of_a_fork_reads_by_call",
   "another_thread_reads_by_call",
   "a_childs_counters_are_read_by_call", "another_users_mapping_is_refused", "ends_come_in_any_order",
   "an_exec_keeps_the_kernel_content", "busy_threads_read_right", "threads_that_migrate_read_right",
   "a_move_is_seen_at_once", "counters_of_others_move_ours_and_all_is_right", "commands_of_others_come_in_between",
   "counters_that_overflow_are_read_right", "the_same_on_perf_event",
}

local stacks = {
   "user_frames_by_frame_pointers", "kernel_frames_then_the_users", "leaves_levels_out", "copies_registers_and_stack",
   "others_stacks_are_not_copied", "of_the_pmu_too",
}

local programs = {
   "counts_in_buckets", "keeps_what_it_is_told", "has_each_base", "masks_stops_and_notifies",
   "judges_the_pmus_overflows", "refuses_other_loads", "programs_are_charged",
}

local verdicts = { "the_kernel_decides_as_the_interpreter" }

local records = {
   "a_process_is_told_from_fork_to_exit", "a_thread_that_names_itself_is_told",
   "who_was_there_before_is_told_with_the_first_sample", "what_is_mapped_later_is_told_once",
   "others_mappings_are_not_told", "what_set_uid_programs_do_is_not_told", "who_hides_is_not_told",
   "all_samples_of_many_short_programs_are_known", "listeners_may_go_at_any_time",
   "what_takes_anothers_place_is_told", "sleepers_leave_others_their_mappings",
   "many_samples_in_a_call_lose_nothing",
}

local offline = { "a_count_ends_with_its_cpu", "what_was_counted_is_told", "a_recording_ends_with_its_cpu" }
local taken = {}
for _, machine in ipairs { "linux", "perf" } do
   for _, name in ipairs { "whole_counts_are_numbers", "nothing_is_a_word", "the_reason_is_told", "json_has_a_state",
      "a_part_has_its_share", "a_part_is_not_to_be_trusted", "json_has_the_share" } do
      taken[#taken + 1] = name .. "_on_" .. machine
   end
end

local function all(...)
   local names_of_all = {}
   for _, list in ipairs { ... } do
      for _, name in ipairs(list) do
         names_of_all[#names_of_all + 1] = name
      end
   end
   return names_of_all
end

-- The specs that use the real machine; others only use the simulated computer.
local specs = {}
for _, name in ipairs { "lpfm_args", "lpfm_buffer", "lpfm_context", "lpfm_message", "lpfm_proc",
   "lpfm_vector", "recording", "abi", "old_programs", "events_stat", "program" } do
   specs[#specs + 1] = name
end
-- Most labs run on the simulated computer, which takes minutes in an emulated machine.
local specs_and_labs = { "labs", unpack(specs) }

local LIMIT = 1750 -- seconds of the host after which a boot has hung; spec/run waits 1800
local MORE = tonumber(os.getenv("LPFM_VM_MORE") or 0)

local function tests(only)
   local obstacles = {}
   local more = 0 -- the rows that follow run only under "make check-vm MORE=more"; 0: always

   local function vm_it(name, check, options, ...)
      local args = { ... }
      local arch, series = options:match("%-A (%w+)") or "arm64", options:match("%-K ([%w.-]+)")
      local file = arch == "arm64" and options:find("-c 4", 1, true) and "arm64 smp" or arch
      if (only == "smoke") ~= (more == "smoke") or only ~= "smoke" and (only ~= file or more ~= MORE) then return end
      local kind = "-A " .. arch .. (series and " -K " .. series or "")
      it(("on %s%s%s %s"):format(arch, series and " with Linux " .. series or "",
         (options:find("-c 4", 1, true) and " with four processors" or "")
         .. (options:find("-p", 1, true) and " without a PMU" or ""), name), function()
         obstacles[kind] = obstacles[kind] or { why = obstacle(kind) }
         if obstacles[kind].why then
            return pending(obstacles[kind].why)
         end
         check("-t " .. LIMIT .. " " .. options, unpack(args))
      end)
   end

   more = "smoke"
   vm_it("counts, samples, switches sets, counts children and walks stacks", passes, "-c 4",
      "counting sampling sets inherit stacks lifetime", all(counting, sampling, sets, inherit, stacks, lifetime))

   more = 0
   vm_it("counts, samples and switches sets, exactly", passes, "", "exact counting sampling sets",
      all(exact, counting, sampling, sets))
   vm_it("knows events by name, as perf_event does, lets nobody see what is not theirs, and needs no PMU", passes,
      "", "names security software limits", all(names, security, of_arm64, software, limits))
   vm_it("shows the labs' effects, begins a cascade's second stage at the n-th event, estimates, and randomizes",
      passes, "", "labs measure", all(labs, measure), "FORMAT=spec/vm/halves")
   vm_it("counts, samples and switches sets", passes, "-K newest -c 4",
      "counting sampling sets security software limits",
      all(counting, sampling, sets, security, software, limits_of_many))
   vm_it("counts what software counts, and bears what is done to it", passes, "-p", "software torture:3",
      all(software, torture))
   vm_it("says what was not counted, lets CPUs go, and reads running counters without a call, whatever moves them",
      passes, "-c 4", "taken offline view", all(taken, offline, view))
   vm_it("reads running counters without a call, whatever moves them", passes, "-A amd64 -K newest", "view", view)
   vm_it("bears it while they come and go, and modules too", passes, "-c 4", "torture:3:2 modules",
      all(torture, modules))
   vm_it("bears whatever is done to it, lets nobody do or have more than is theirs, and keeps its targets apart",
      passes, "", "torture:5 rights charges lifetime sharing narrow reload",
      all(torture, rights, charges, lifetime, sharing, narrow, reload))
   for _, options in ipairs { "-c 4", "-A amd64 -c 4" } do
      vm_it("counts children, walks stacks, tells what programs do, and runs programs of the tool's", passes, options,
         "inherit inherit_samples stacks records programs verdicts",
         all(inherit, inherit_samples, stacks, records, programs, verdicts))
   end
   vm_it("passes the specs of real machines", specs_pass, "", specs)
   vm_it("keeps what specs of sections say of it", specs_pass, "",
      { "--filter", "on.linux", "sec_3_1_13_getinfo_registers", "sec_3_3_messages", "sec_5_itanium", "perfctr" })
   vm_it("loses nothing to an NMI", passes, "-A amd64", "exact counting sampling sets names",
      all(of_x86, of_intel, counting, sampling, sets_of_intel, names))
   vm_it("loses nothing to an NMI, either", passes, "-A amd64 -c 4",
      "torture:3 exact counting software security modules",
      all(of_x86, of_intel, counting, software, security, modules, torture))
   vm_it("lets nobody do or have more than is theirs", passes, "-A amd64",
      "rights charges lifetime sharing narrow fallback",
      all(rights, charges, lifetime, sharing, narrow, fallback))

   more = 1
   vm_it("counts, samples and switches sets", passes, "-c 4", "counting sampling sets security software limits",
      all(counting, sampling, sets, security, software, limits_of_many))
   vm_it("keeps targets apart, and tells what programs do", passes, "-K newest -c 4", "rights lifetime records",
      all(rights, lifetime, records))
   vm_it("passes the specs of real machines", specs_pass, "-A amd64", specs_and_labs)
   vm_it("keeps threads apart whose ids are used again", passes, "-c 4",
      "few_ids:400 counting sampling sets security rights lifetime sharing inherit inherit_samples programs torture:3",
      all({ "ids_are_used_again" }, counting, sampling, sets, security, rights, lifetime, sharing, inherit,
         inherit_samples, programs, torture))
   vm_it("counts exactly, with NMIs", passes, "-A amd64 -K newest", "exact counting view stacks programs",
      all(of_x86, of_intel, counting, view, stacks, programs))
   vm_it("keeps limits, and counts children", passes, "-K newest -c 4", "limits inherit charges sharing reload",
      all(limits_of_many, inherit, charges, sharing, reload))
   for _, options in ipairs { "", "-A amd64", "-A amd64 -c 4" } do
      vm_it("reads running counters without a call, whatever moves them", passes, options, "view", view)
   end
   vm_it("counts, samples and switches sets", passes, "-K 6.12",
      "counting sampling sets security software limits", all(counting, sampling, sets, security, software, limits))
   vm_it("lets nobody do or have more than is theirs", passes, "-c 4", "rights charges lifetime",
      all(rights, charges, lifetime))
   vm_it("lets nobody do or have more than is theirs", passes, "-K 6.12", "rights charges lifetime sharing narrow",
      all(rights, charges, lifetime, sharing, narrow))
   vm_it("reads running counters without a call", passes, "-K 6.12", "view", view)
   vm_it("counts children, walks stacks, tells what programs do, and runs programs of the tool's", passes, "-K 6.12",
      "inherit inherit_samples stacks records programs verdicts",
      all(inherit, inherit_samples, stacks, records, programs, verdicts))
   vm_it("judges a million records as the interpreter does", passes, "", "verdicts:1000000:2", verdicts)
   vm_it("passes the specs of real machines", specs_pass, "-c 4", specs_and_labs)
   vm_it("has virtual counters, as perfctr had them", specs_pass, "", { "perfctr" })
   vm_it("measures the regions of programs", specs_pass, "", { "regions" })

   more = 2
   vm_it("counts beside perf, and whatever else is done there", passes, "-A amd64 -c 4 -e",
      "beside sampling sets limits rights charges lifetime reload names",
      all(beside, sampling, sets, limits_of_many, rights, charges, lifetime, reload, names))
   vm_it("measures by perf_event where it is not to be had", passes, "-A amd64 -e",
      "fallback beside security software limits reload",
      all(fallback, beside, security, software, limits, reload))
   vm_it("counts, samples and switches sets", passes, "-A amd64 -K 6.12", "exact counting sets rights narrow",
      all(of_x86, of_intel, counting, sets_of_intel, rights, narrow))
   vm_it("walks stacks, and runs programs of the tool's, in NMIs", passes, "-A amd64 -K 6.12",
      "stacks records programs verdicts", all(stacks, records, programs, verdicts))
   vm_it("counts AMD's events, of family 17h", passes, "-A amd64 -P zen -e",
      "exact counting sets names beside", all(of_x86, of_amd, counting, sets, names, beside))
   vm_it("counts AMD's events, of family 10h", passes, "-A amd64 -P k10", "names narrow", all(names, narrow))
   vm_it("counts and samples tracepoints by perf_event", specs_pass, "-A amd64 -e",
      { "named_events" }, "perf-specs")
   vm_it("passes the specs of real machines by perf_event", specs_pass, "-A amd64", specs_and_labs, "perf-specs")
   vm_it("passes the specs of real machines", specs_pass, "-A amd64 -c 4", specs_and_labs)
end

return function(only)
   describe("perfmon.ko in an emulated machine", function() tests(only) end)
end
