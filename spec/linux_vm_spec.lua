-- SPDX-License-Identifier: MIT
-- perfmon.ko in the emulated machine of spec/vm: real counters, interrupts and context switches.

local function run(command)
   local pipe = assert(io.popen(command .. " 2>&1; echo \"status $?\""))
   local output = pipe:read("*a")
   pipe:close()
   return output, tonumber(output:match("status (%d+)%s*$"))
end

-- Why the machine cannot be had here; nil if it can. 125 is what vm says then: anything else is a fault of its own.
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

-- Lines "ok NAME" and "not ok NAME: why" of the guest.
local function results(output)
   local names, bad = {}, {}
   for line in output:gmatch("[^\n]+") do
      names[line:match("^ok (.+)$") or ""] = true
      bad[#bad + 1] = line:match("^not ok (.+)$")
   end
   return names, bad
end

-- Specs in the guest: their own closing line.
local function specs_pass(options, specs)
   local output, status = run("spec/vm/run " .. options .. " specs " .. table.concat(specs, " "))
   local passed, failed = output:match("\n(%d+) passed, (%d+) failed")
   assert.equal("0", failed, output)
   assert.is_true(tonumber(passed) > 2 * #specs, output)
   assert.equal(0, status, output)
end

local function passes(options, programs, expected)
   local output, status = run("spec/vm/run " .. options .. " " .. programs)
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
local sampling = {
   "notification", "notification_by_sigio", "notification_by_a_real_time_signal", "signal_without_message",
   "buffer_fills", "mapping_rules", "memory_limits", "profile_has_the_right_shares",
   "randomized_profile_has_the_right_shares", "four_threads_are_profiled_at_once",
   "bias_is_cured_by_randomization", "storms_are_throttled", "blocking", "blocked_thread_is_freed",
}
local sets = {
   "time_switched_sets_scale", "timeouts_run_with_the_thread", "overflow_switches_after_n", "cascade",
   "masked_sets_wait",
}
local security = {
   "kernel_level_needs_permission", "foreign_threads_are_refused", "set_uid_programs_are_not_monitored",
   "an_exec_keeps_the_context", "descriptors_can_be_passed_on", "reading_changes_only_results",
}

local rights = {
   "perf_event_paranoid_is_kept", "rights_are_those_of_who_loads", "a_namespace_gives_no_rights",
   "no_access_means_perf",
}
local charges = {
   "a_user_has_so_much", "no_limit_is_none", "perf_grants_more", "who_exits_leaves_the_charge",
   "who_execs_keeps_the_charge", "sets_are_charged", "contexts_are_charged",
}
local lifetime = {
   "each_end_is_told", "who_is_not_monitored_is_not_held", "commands_do_not_wait_for_memory",
   "a_message_that_cannot_be_had_stays", "a_counter_that_is_lost_is_told_of",
}

local limits = {
   "short_reads_are_refused", "vectors_are_limited", "long_vectors_are_whole", "rates_are_limited",
   "timers_are_throttled", "threads_and_cpus_go_together", "ids_are_those_of_the_namespace",
   "a_context_goes_to_another_process",
}
local limits_of_many = {
   "settings_do_not_undo_each_other", "each_cpu_has_its_context", "a_cpu_that_goes_takes_its_session",
   unpack(limits),
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
local of_x86 = { "what_perf_refuses_is_refused", "single_branches_are_not_traced", unpack(exact) }
local software = {
   "self_is_exact", "child_counts_what_it_counts_alone", "clocks_run_with_the_thread", "system_wide", "notification",
   "notification_by_signal", "blocking", "samples", "regions", "profile_by_the_clock", "overflow_switches_after_n",
   "time_switched_sets_share",
}
local modules = {
   "formats_come_when_wanted", "formats_are_told_of", "a_format_in_use_stays", "a_format_from_elsewhere",
   "a_description_comes_when_wanted", "a_failed_request_is_made_again",
   "contexts_keep_the_pmu_they_began_with", "modules_come_and_go_under_load", "nothing_is_left",
}
local torture = { "nothing_breaks", "nothing_is_left", "it_still_counts_right", "the kernel is content" }

local narrow = { "a_32_bit_program_counts", "a_32_bit_program_samples" }
local reload = { "threads_and_cpus_exclude_each_other" }

local function all(...)
   local names_of_all = {}
   for _, list in ipairs { ... } do
      for _, name in ipairs(list) do
         names_of_all[#names_of_all + 1] = name
      end
   end
   return names_of_all
end

-- Those that use the machine they find, and not the simulated one alone.
local specs = {}
for _, name in ipairs { "lpfm_args", "lpfm_buffer", "lpfm_context", "lpfm_message", "lpfm_proc",
   "lpfm_vector", "recording", "abi", "old_programs", "events_stat", "labs", "program" } do
   specs[#specs + 1] = "spec/" .. name .. "_spec.lua"
end

describe("perfmon.ko in an emulated machine", function()
   local obstacles = {}

   local more = false -- rows that make check leaves to make check-vm MORE=1

   local function vm_it(name, check, options, ...)
      local args = { ... }
      local arch, series = options:match("%-A (%w+)") or "arm64", options:match("%-K ([%w.-]+)")
      local only = os.getenv("LPFM_VM_ARCH") -- spec/run has one process for each
      if only and only ~= arch then return end
      if more ~= (os.getenv("LPFM_VM_MORE") ~= nil) then return end
      local kind = "-A " .. arch .. (series and " -K " .. series or "")
      it(("on %s%s%s %s"):format(arch, series and " with Linux " .. series or "",
         (options:find("-c 4", 1, true) and " with four processors" or "")
         .. (options:find("-p", 1, true) and " without a PMU" or ""), name), function()
         obstacles[kind] = obstacles[kind] or { why = obstacle(kind) }
         if obstacles[kind].why then
            return pending(obstacles[kind].why)
         end
         check(options, unpack(args))
      end)
   end

   vm_it("counts, samples and switches sets, exactly", passes, "-t 900", "exact counting sampling sets",
      all(exact, counting, sampling, sets))
   vm_it("knows events by name, as perf_event does, lets nobody see what is not theirs, and needs no PMU", passes,
      "-t 600", "names security software limits", all(names, security, software, limits))
   vm_it("begins a cascade's second stage at the n-th event, and estimates, and randomizes", passes, "-t 600",
      "measure", measure)
   vm_it("counts, samples and switches sets", passes, "-c 4 -t 600", "counting sampling sets security software limits",
      all(counting, sampling, sets, security, software, limits_of_many))
   vm_it("counts what software counts, and bears what is done to it", passes, "-p -t 600", "software torture:3",
      all(software, torture))
   vm_it("bears whatever is done to it", passes, "-t 600", "torture:5", torture)
   vm_it("bears it while they come and go, and modules too", passes, "-c 4 -t 600", "torture:3:2 modules",
      all(torture, modules))
   vm_it("lets nobody do or have more than is theirs, and keeps its targets apart", passes, "-t 600",
      "rights charges lifetime narrow reload", all(rights, charges, lifetime, narrow, reload))
   vm_it("passes the specs of real machines", specs_pass, "-t 900", specs)
   vm_it("loses nothing to an NMI", passes, "-A amd64 -t 900", "exact counting sampling sets names",
      all(of_x86, counting, sampling, sets, names))
   vm_it("loses nothing to an NMI, either", passes, "-A amd64 -c 4 -t 900",
      "exact counting software security modules torture:3", all(of_x86, counting, software, security, modules, torture))
   vm_it("lets nobody do or have more than is theirs", passes, "-A amd64 -t 600", "rights charges lifetime narrow",
      all(rights, charges, lifetime, narrow))
   vm_it("passes the specs of real machines", specs_pass, "-A amd64 -t 1500", specs)

   more = true
   vm_it("counts, samples and switches sets", passes, "-K 6.12 -t 600",
      "counting sampling sets security software limits", all(counting, sampling, sets, security, software, limits))
   vm_it("lets nobody do or have more than is theirs", passes, "-c 4 -t 600", "rights charges lifetime",
      all(rights, charges, lifetime))
   vm_it("lets nobody do or have more than is theirs", passes, "-K 6.12 -t 600", "rights charges lifetime narrow",
      all(rights, charges, lifetime, narrow))
   vm_it("passes the specs of real machines", specs_pass, "-c 4 -t 900", specs)
end)
