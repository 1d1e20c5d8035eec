"""What of the image's tests cannot hold under gVisor, and why. `TANDEM_RUNTIME` runs the rest there: docs/install.md."""

from collections.abc import Mapping

BOX = "there is no box, so no undo and no suspension: this kernel cannot enter a process's user and process namespaces"
SUDO = "nobody becomes root: this kernel starts every program without new privileges"
EGRESS = "the network policy is not enforced: this kernel has neither nftables nor a network namespace that a process may enter"
ISOLATION = "one command cannot be isolated: this kernel has no Landlock"
WEIGHT = "no program has more weight than another: the host schedules all as threads of one process"
LIMITS = "the agent has no limits of its own: this kernel has no control groups to make"
ENVIRONMENT = "this kernel shows every process's environment to everybody, which is why no secret is in one"
DATAGRAMS = "the stream goes over its WebSocket: its UDP port was not seen to connect in this kernel"
FORKED = "each kernel starts by itself: a process here forks no child for its parent"
NAMES = "the engine's resolver is not reached from this kernel's network: no name is looked up, its own ones neither"
LOCKS = "without a box profiles are on another volume, and a lock of this kernel reaches no other sandbox"
WAITS = "this kernel does not say which process reads a terminal"
SIZES = "this kernel does not say which memory of a process is its own, nor how much it had at most"
RESTART = "files outside of volumes end with the container's run: runsc keeps them in its own memory"
ITSELF = "it chooses the engine's runtime, or starts no sandbox"

MODULES: Mapping[str, str] = {
    "test_abuse": LIMITS,
    "test_attacks": BOX,
    "test_box": BOX,
    "test_box_attacks": BOX,
    "test_box_ports": BOX,
    "test_busy": WEIGHT,
    "test_egress": EGRESS,
    "test_egress_api": EGRESS,
    "test_egress_attacks": EGRESS,
    "test_egress_failures": EGRESS,
    "test_egress_ipv6": EGRESS,
    "test_egress_levels": EGRESS,
    "test_egress_load": EGRESS,
    "test_egress_programs": EGRESS,
    "test_egress_secrets": EGRESS,
    "test_egress_secret_levels": EGRESS,
    "test_egress_secret_users": EGRESS,
    "test_egress_smuggling": EGRESS,
    "test_engines": ITSELF,
    "test_gvisor": ITSELF,
    "test_isolation": ISOLATION,
    "test_isolation_levels": ISOLATION,
    "test_live_checkpoint": BOX,
    "test_live_checkpoint_attacks": BOX,
    "test_person_gets_in": LIMITS,
    "test_plain_run": ITSELF,
    "test_rebinding": NAMES,
    "test_release": ITSELF,
    "test_undo": BOX,
}
"""By module, of which no test can hold."""
TESTS: Mapping[str, str] = {
    "test_bash::test_a_command_can_become_root": SUDO,
    "test_boot::test_the_agent_may_become_root_unless_the_settings_forbid_it": SUDO,
    "test_boot::test_with_our_profile_the_agent_can_make_a_user_namespace": BOX,
    "test_browser::test_root_in_the_box_reaches_neither_its_pipe_nor_its_profile": BOX,
    "test_browser::test_a_suspended_browser_goes_on_for_whoever_asks_it": BOX,
    "test_browser::test_the_browser_comes_back_with_a_new_box": BOX,
    "test_browser::test_without_namespaces_and_landlock_it_does_not_start_and_says_why": ITSELF,
    "test_browser::test_the_browser_shows_the_agents_files_and_saves_where_the_agent_sees": BOX,
    "test_browser_chaos::test_after_a_death_the_next_try_works_and_the_tabs_are_there[the box's first process]": BOX,
    "test_cli::test_the_owner_undoes_what_the_agent_did_from_outside": BOX,
    "test_client_python::test_an_error_goes_back_to_the_checkpoint": BOX,
    "test_client_typescript::test_what_an_attempt_throws_goes_back_to_the_checkpoint": BOX,
    "test_contract::test_no_wrong_request_makes_the_api_fail[GET /v1/egress/connections]": EGRESS,
    "test_contract::test_no_wrong_request_makes_the_api_fail[POST /v1/egress/grants]": EGRESS,
    "test_contract::test_no_wrong_request_makes_the_api_fail[GET /v1/egress/policy]": EGRESS,
    "test_contract::test_no_wrong_request_makes_the_api_fail[PUT /v1/egress/policy]": EGRESS,
    "test_contract::test_no_wrong_request_makes_the_api_fail[PATCH /v1/egress/policy]": EGRESS,
    "test_contract::test_no_wrong_request_makes_the_api_fail[GET /v1/egress/proposal]": EGRESS,
    "test_contract::test_no_wrong_request_makes_the_api_fail[POST /v1/egress/requests]": EGRESS,
    "test_failures::test_without_its_supervisor_a_busy_container_ends_and_starts_again_with_its_files": RESTART,
    "test_failures::test_an_emptied_volume_is_called_so_and_a_restart_makes_a_new_box": BOX,
    "test_failures::test_with_a_damaged_volume_the_container_does_not_start_and_says_why": BOX,
    "test_files::test_the_api_reads_as_the_agent_and_with_sudo_as_root": SUDO,
    "test_files::test_a_gibibyte_goes_up_and_down_with_flat_memory": SIZES,
    "test_folders::test_a_folder_is_in_its_store_after_a_checkpoint_and_after_the_end": BOX,
    "test_folders::test_an_undo_is_a_change_like_any_other_and_the_store_keeps_what_was_undone": BOX,
    "test_folders::test_a_folder_in_a_directory_outlives_its_container_with_a_volume[box]": BOX,
    "test_folders::test_a_hostile_folder_is_kept_as_far_as_it_has_regular_files_and_never_leaves_the_agents_rights": SUDO,
    "test_gateway::test_authentication_off_is_said_aloud": NAMES,
    "test_hooks::test_hooks_run_and_walk_into_what_an_earlier_run_left[box]": BOX,
    "test_hooks::test_what_an_earlier_run_left_runs_as_nobody_but_the_agent[box]": BOX,
    "test_hooks::test_what_hooks_are_for_works_in_the_box": BOX,
    "test_identity::test_a_restored_checkpoint_changes_nothing_of_the_identity": BOX,
    "test_identity::test_root_in_the_box_changes_none_of_the_files": BOX,
    "test_identity::test_root_in_the_box_finds_the_private_key_nowhere": BOX,
    "test_identity::test_programs_in_the_box_get_one_without_a_key": SUDO,
    "test_identity::test_the_owner_s_key_makes_one_issuer_of_a_fleet_and_is_not_in_the_box": SUDO,
    "test_identity::test_git_gets_the_placeholder_of_a_secret_that_is_bound_to_the_host": EGRESS,
    "test_jupyter::test_a_restarted_box_has_the_sessions_with_new_kernels": BOX,
    "test_jupyter::test_a_suspended_box_goes_on_with_what_its_kernels_knew": BOX,
    "test_jupyter::test_a_fork_bomb_leaves_the_server_answering_and_is_over_with_its_timeout": LIMITS,
    "test_jupyter::test_a_fork_bomb_that_outlives_its_kernel_is_over_with_it": LIMITS,
    "test_jupyter::test_a_memory_hog_is_an_error_of_its_own": LIMITS,
    "test_jupyter::test_a_kernel_of_each_call_s_own_is_forked_and_knows_nothing_of_the_one_before": FORKED,
    "test_jupyter::test_a_forked_kernel_that_is_isolated_is_kept_from_what_its_policy_says": ISOLATION,
    "test_jupyter::test_who_uses_up_the_memory_is_ended_and_nobody_else": LIMITS,
    "test_processes::test_a_program_is_the_supervisors_own_and_shares_what_it_imported": SIZES,
    "test_profiles::test_a_login_outlives_the_container_is_copied_and_signed_out_of": LOCKS,
    "test_profiles::test_two_sandboxes_with_one_volume_never_have_one_profile": LOCKS,
    "test_profiles::test_damage_and_a_newer_chromium_are_told_and_nothing_is_lost": LOCKS,
    "test_proxy::test_the_password_is_nowhere_that_the_agent_or_a_caller_looks": SUDO,
    "test_proxy::test_the_upstream_is_changed_while_the_browser_runs": NAMES,
    "test_scenarios::test_what_an_agent_cannot_do_alone_it_does_with_a_person": SUDO,
    "test_shell::test_a_root_process_can_be_killed": SUDO,
    "test_shell_sessions::test_after_the_container_starts_again_a_session_is_opened_again_where_it_was": RESTART,
    "test_shell_sessions::test_however_often_the_container_starts_again_commands_without_a_session_use_the_same": RESTART,
    "test_snapshot::test_the_agent_can_do_none_of_it": SUDO,
    "test_stream::test_by_datagrams_too_what_is_seen_is_the_screen_bit_for_bit_and_input_arrives_once": DATAGRAMS,
    "test_stream::test_a_browser_sees_it_by_datagrams_on_a_page_that_is_not_secure": DATAGRAMS,
    "test_stream::test_a_page_that_is_not_secure_is_shown_a_video_as_a_track_and_the_exact_picture_after_it": DATAGRAMS,
    "test_stream::test_firefox_shows_the_desktop_bit_for_bit_and_a_video_by_datagrams_and_a_person_acts_there": DATAGRAMS,
    "test_stream::test_a_desktop_that_dies_comes_back_to_the_same_viewers_by_either_way": DATAGRAMS,
    "test_stream::test_every_size_is_followed_by_either_way_and_shown_bit_for_bit": DATAGRAMS,
    "test_util::test_a_file_is_read_with_the_agents_rights[/proc/1/environ]": ENVIRONMENT,
    "test_windows::test_a_view_of_a_shell_says_what_waits_for_input": WAITS,
    "test_worst::test_root_in_the_box_gets_nothing_past_the_door_to_the_display": BOX,
}
"""By module and test, or case of a test."""


def reason(node: str) -> str | None:
    """Why a test cannot hold, by pytest's name of it; None where it can."""
    module, _, test = node.rpartition("tests/image/")[2].partition("::")
    module = module.removesuffix(".py")
    return MODULES.get(module) or TESTS.get(f"{module}::{test.partition('[')[0]}") or TESTS.get(f"{module}::{test}")
