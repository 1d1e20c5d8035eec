"""Which tests the ring that lands leaves out, and which it adds for a change (`scripts/test`; `scripts/test --all` runs every test).

Names are files and functions below `tests`, by file.
"""

from collections.abc import Collection
from functools import cache
from pathlib import PurePath

TIMING: dict[str, tuple[str, ...]] = {
    "cdp/test_command_effects.py": (
        "test_a_look_that_never_ends_leaves_the_page_to_the_person",
        "test_no_expression_and_no_query_of_a_program_is_matched_in_the_page_of_a_person",
    ),
    "cdp/test_redaction.py": ("test_the_time_it_takes_grows_as_the_message_does",),
    "composition/test_handoff.py": (
        "test_a_receipt_that_is_asked_for_too_early_is_waited_for",
        "test_who_came_by_a_link_is_out_and_drives_no_more",
    ),
    "composition/test_late.py": ("test_whoever_waits_has_it_as_soon_as_another_thread_made_it_even_after_one_gave_up",),
    "core/test_tasks.py": ("test_a_started_task_is_kept_until_it_has_ended",),
    "core/test_unknown_fields.py": ("test_a_hint_takes_little_time_whatever_was_sent",),
    "drivers/box/test_layer_store.py": ("test_a_million_names_are_not_read_to_tell_that_there_is_a_change",),
    "drivers/box/test_live_job.py": ("test_the_box_stands_still_between_what_the_worker_says_and_the_length_of_it_is_told",),
    "drivers/box/test_processes.py": ("test_what_forks_without_end_stands_still_as_a_whole_in_seconds_and_goes_on",),
    "drivers/box/test_tar_reader.py": ("test_what_is_malformed_is_refused_at_once",),
    "drivers/devtools/test_request_gate.py": ("test_without_a_connection_a_change_waits_for_nothing",),
    "drivers/egress/test_network_namespace.py": ("test_packets_that_are_not_dns_are_refused_at_once",),
    "drivers/egress/test_policy.py": ("test_ten_thousand_rules_take_as_long_as_ten",),
    "drivers/kernels/test_execution.py": (
        "test_an_interrupt_that_loses_the_reply_loses_no_kernel",
        "test_code_that_takes_too_long_is_interrupted",
    ),
    "drivers/kernels/test_outputs.py": ("test_what_is_shown_is_put_together_in_time_that_grows_with_what_was_put_out",),
    "drivers/nodes/test_script.py": ("test_a_program_ends_with_its_time_whatever_it_does",),
    "drivers/ports/test_container_names.py": (
        "test_a_name_that_is_ours_stays_so_while_the_resolver_is_busy",
        "test_a_resolver_that_hangs_holds_nobody_up_for_long",
    ),
    "drivers/x11/test_window_focus.py": ("test_a_window_manager_that_does_not_answer_holds_a_click_up_for_a_moment_only",),
    "egress/test_app.py": (
        "test_it_stays_small_with_many_rules_and_ends_when_it_is_told_to",
        "test_ten_thousand_half_open_connections_take_little_and_keep_nobody_out_for_long",
    ),
    "egress/test_egress_flow.py": ("test_what_comes_just_when_the_server_is_given_the_word_is_not_lost",),
    "features/bash/test_commands.py": ("test_a_hundred_megabytes_of_output_do_not_grow_the_server",),
    "features/bash/test_streams.py": ("test_a_stream_ends_with_running_after_a_soft_timeout",),
    "features/browser/page/test_forms.py": ("test_a_form_that_cannot_be_filled_says_which_item",),
    "features/browser/page/test_input.py": ("test_what_is_not_there_is_not_found_and_what_is_covered_is_a_conflict",),
    "features/browser/page/test_waiting.py": ("test_a_download_is_waited_for_and_put_where_it_is_wanted",),
    "features/handoff/test_sign_in_links.py": ("test_with_the_end_of_the_request_who_came_by_its_links_is_out",),
    "features/shell/test_commands.py": (
        "test_a_stream_ends_with_the_status_when_its_time_is_over",
        "test_a_tool_that_takes_longer_says_where_to_look",
    ),
    "features/shell/test_limits.py": (
        "test_a_command_waits_for_a_session_no_longer_than_for_its_end_and_is_told_when_to_try_again",
        "test_what_was_spent_on_waiting_for_a_session_is_taken_from_the_time_of_the_command",
    ),
    "features/shell/test_text.py": ("test_the_time_for_a_text_grows_with_its_length",),
    "features/shell/test_timeouts.py": ("test_no_change_timeout_counts_from_the_last_output",),
    "image/test_bash.py": ("test_a_soft_timeout_leaves_the_command_running_and_a_hard_one_ends_it",),
    "image/test_browser.py": ("test_what_is_typed_is_what_a_page_gets",),
    "image/test_busy.py": ("test_a_command_and_a_person_who_takes_control_are_served_while_loops_take_every_processor",),
    "image/test_egress.py": ("test_a_denied_name_is_refused_at_once_and_says_why",),
    "image/test_egress_failures.py": ("test_nothing_passes_while_a_process_is_killed_fifty_times_and_it_is_soon_back",),
    "image/test_egress_load.py": (),
    "image/test_failures.py": ("test_without_its_supervisor_a_busy_container_ends_and_starts_again_with_its_files",),
    "image/test_files.py": ("test_a_gibibyte_goes_up_and_down_with_flat_memory",),
    "image/test_live_checkpoint.py": ("test_a_pause_is_brief",),
    "image/test_live_checkpoint_attacks.py": (),
    "image/test_person_floods.py": (),
    "image/test_person_gets_in.py": (),
    "image/test_shell.py": ("test_a_hundred_megabytes_of_output_leave_the_server_as_small_as_it_was",),
    "image/test_shell_sessions.py": (
        "test_a_hard_timeout_ends_the_command_and_not_the_session",
        "test_a_soft_timeout_leaves_the_command_running",
        "test_silence_is_told_and_the_command_goes_on_until_it_is_killed",
    ),
    "image/test_terminal.py": ("test_who_comes_to_a_full_screen_program_sees_its_screen",),
    "image/test_worst.py": ("test_strangers_at_the_udp_port_get_no_answer_and_hold_up_nobody",),
    "mcp/servers/test_http_transport.py": ("test_a_stream_that_hangs_up_and_asks_for_no_pause_is_opened_once_a_second_at_most",),
    "pages/test_connection.py": (
        "test_a_connection_that_never_comes_back_is_replaced_by_a_new_one",
        "test_a_stalled_connection_is_told_and_what_is_typed_meanwhile_is_never_sent",
    ),
    "pages/test_recorder.py": (
        "test_it_opens_at_the_last_recording_and_plays_from_any_row",
        "test_private_time_is_a_band_and_the_picture_of_before_is_covered",
    ),
    "pages/test_requests.py": ("test_who_types_is_told_that_the_request_is_gone",),
    "pages/test_terminal.py": ("test_a_new_session_is_made_by_its_button_and_goes_unused_with_the_page",),
    "test_growth.py": (),
}
"""What a time, a rate or a size decides, by the test's own bound or by one of the product's: functions by file, and whole files."""

FULL = (
    "contract/test_generated_clients.py",
    "examples/",
    "scripts/test_release_inside.py",
)
"""What is built, or run, beside the image and its tests: folders and files."""

BUILDS = (
    "image/test_custom_image.py",
    "image/test_engines.py",
    "image/test_release.py",
    "image/test_variants.py",
)
"""What needs more images than the one that every run builds. No change brings these with it."""

LONG = (
    "clients/typescript/test_typescript.py",
    "drivers/box/test_live_checkpoint.py",
    "drivers/box/test_paused_programs.py",
    "drivers/box/test_store_restore.py",
    "drivers/documents/test_document_program.py",
    "drivers/egress/test_x509_signing.py",
    "drivers/spawn/test_busy_groups.py",
    "image/test_client_python.py",
    "image/test_client_typescript.py",
    "pages/test_access.py",
)
"""What takes a minute or more together, and is about one part of the product: files that are run for a change of it."""

PURE = (
    "cdp/test_browser_connection.py",
    "cdp/test_client_overrides.py",
    "cdp/test_command_effects.py",
    "cdp/test_command_rules.py",
    "cdp/test_lane_rules.py",
    "cdp/test_multiplexer.py",
    "cdp/test_override_suspension.py",
    "cdp/test_private_mode.py",
    "cdp/test_redaction.py",
    "cdp/test_request_decisions.py",
    "cdp/test_tabs.py",
    "cli/",
    "clients/python/test_",
    "contract/test_compare.py",
    "core/",
    "drivers/clients/",
    "drivers/credentials/",
    "drivers/devtools/test_bodies.py",
    "drivers/devtools/test_console.py",
    "drivers/devtools/test_cookies.py",
    "drivers/devtools/test_globs.py",
    "drivers/devtools/test_headers.py",
    "drivers/devtools/test_interception.py",
    "drivers/devtools/test_traffic.py",
    "drivers/documents/test_web_reach.py",
    "drivers/egress/",
    "drivers/fence/",
    "drivers/files/test_message_frames.py",
    "drivers/files/test_modes.py",
    "drivers/files/test_operations.py",
    "drivers/folders/",
    "drivers/forks/",
    "drivers/ipc/",
    "drivers/ports/",
    "drivers/profiles/",
    "drivers/recorder/",
    "drivers/secrets/",
    "drivers/shells/test_command_effects.py",
    "drivers/shells/test_risky_commands.py",
    "drivers/shells/test_shell_lexer.py",
    "drivers/shells/test_unwrapped_commands.py",
    "drivers/snapshots/",
    "drivers/storage/",
    "drivers/test_nginx.py",
    "drivers/test_session_table.py",
    "drivers/vnc/",
    "drivers/watches/",
    "drivers/workload_identity/",
    "features/approvals/",
    "features/auth/",
    "features/box/",
    "features/browser/computer_use/",
    "features/control/",
    "features/egress/",
    "features/file/test_edits.py",
    "features/file/test_text_encoding.py",
    "features/folders/",
    "features/handoff/",
    "features/mcp/",
    "features/observe/",
    "features/ports/",
    "features/profiles/",
    "features/recorder/",
    "features/secrets/",
    "features/shell/test_text.py",
    "features/snapshots/",
    "features/workload_identity/",
    "mcp/",
    "plugins/",
    "settings/",
    "stream/congestion/",
    "stream/transport/",
    "stream/wire/",
    "test_ambiguity.py",
    "test_custom_tools.py",
    "test_patience.py",
    "test_patterns.py",
    "test_prose.py",
    "test_rings.py",
    "test_settings.py",
    "test_style_warnings.py",
    "test_tables.py",
)
"""What needs neither root nor a screen, a browser, tmux or the image's paths: folders and files, and how the names of files begin."""

IMPURE = (
    "cli/test_git_credential.py",
    "cli/test_main.py",
    "clients/python/test_engine.py",
    "drivers/credentials/test_tickets.py",
    "drivers/egress/test_certificate_authority.py",
    "drivers/egress/test_container_rules.py",
    "drivers/egress/test_enforcement_probe.py",
    "drivers/egress/test_network_namespace.py",
    "drivers/egress/test_socket_owner.py",
    "drivers/egress/test_x509_signing.py",
    "drivers/fence/test_fence.py",
    "drivers/fence/test_main.py",
    "drivers/folders/test_agent_tree.py",
    "drivers/folders/test_s3_store.py",
    "drivers/folders/test_synchronisation.py",
    "drivers/folders/test_tar_store.py",
    "drivers/ipc/test_unix_listener.py",
    "drivers/ports/test_holders.py",
    "drivers/profiles/test_store.py",
    "drivers/profiles/test_tree.py",
    "drivers/vnc/test_server.py",
    "drivers/watches/test_watches.py",
    "drivers/workload_identity/test_token_endpoint.py",
    "drivers/workload_identity/test_token_socket.py",
    "features/browser/computer_use/test_operations.py",
    "features/control/test_lease_state_machine.py",
    "features/control/test_revocation_hooks.py",
    "features/egress/test_approvals.py",
    "features/egress/test_connection_operations.py",
    "features/egress/test_policy_operations.py",
    "features/handoff/test_discord_answers.py",
    "features/handoff/test_slack_answers.py",
    "features/profiles/test_logins.py",
    "features/recorder/test_snapshot.py",
    "mcp/servers/test_built_in.py",
    "mcp/servers/test_connection.py",
    "mcp/servers/test_hostile_servers.py",
    "mcp/servers/test_stdio_transport.py",
    "mcp/tasks/test_methods.py",
    "mcp/test_internal_api.py",
    "mcp/tools/test_human_in_the_loop.py",
    "mcp/transport/test_streamable_http.py",
    "plugins/test_route_checks.py",
    "settings/test_components.py",
    "stream/transport/test_channel.py",
    "stream/transport/test_client_channel.py",
    "stream/transport/test_private_names.py",
    "stream/transport/test_rtp_track.py",
    "stream/wire/test_operations.py",
)
"""What needs one of these, a program or file system of a kind, or seconds, of the folders of `PURE`."""

CONTAINERS = ("image/", "pages/")
"""Whose tests start containers. One that uses other containers than the shared ones is in the full ring."""

SHARED = {"sandbox", "mended"}
"""The fixtures of the shared containers."""

OWN = {"start_sandbox", "sandbox_with", "egress_hosts", "configured"}
"""The fixtures that start other ones."""

LANDING = (
    "image/test_attacks.py",
    "image/test_box.py",
    "image/test_box_attacks.py",
    "image/test_contract.py",
    "image/test_egress_levels.py",
    "pages/test_undo.py",
)
"""What has a container for all tests of a file, and lands."""

AREAS: dict[str, tuple[str, ...]] = {
    "Dockerfile": ("image/test_boot", "image/test_failures", "image/test_plain_run"),
    "clients/": ("clients/", "contract/test_generated_clients", "image/test_client_", "image/test_integrations"),
    "custom_tools/": ("image/test_mcp",),
    "deploy/seccomp/": ("image/test_box", "image/test_isolation", "image/test_plain_run"),
    "examples/": ("examples/",),
    "nginx/": ("image/test_box_ports", "image/test_ports", "image/test_proxy", "image/test_rebinding", "image/test_smuggling"),
    "requirements/": ("image/test_agent_frameworks", "image/test_editors", "image/test_jupyter"),
    "sandbox_server/boot/": ("image/test_boot", "image/test_hooks", "image/test_isolation", "image/test_plain_run", "image/test_failures"),
    "sandbox_server/cdp/": ("image/test_browser", "image/test_network", "image/test_approvals_browser", "image/test_lanes"),
    "sandbox_server/drivers/box/": (
        "image/test_box",
        "image/test_isolation",
        "image/test_live_checkpoint",
        "image/test_undo",
        "image/test_busy",
    ),
    "sandbox_server/drivers/browser/": ("image/test_browser", "image/test_network", "pages/test_network"),
    "sandbox_server/drivers/credentials/": ("image/test_gateway", "image/test_identity", "image/test_handoff"),
    "sandbox_server/drivers/devtools/": ("image/test_browser", "image/test_approvals_browser"),
    "sandbox_server/drivers/egress/": ("image/test_egress",),
    "sandbox_server/drivers/fence/": ("image/test_isolation", "image/test_plain_run"),
    "sandbox_server/drivers/folders/": ("image/test_folders",),
    "sandbox_server/drivers/forks/": ("image/test_fork",),
    "sandbox_server/drivers/kernels/": ("image/test_jupyter",),
    "sandbox_server/drivers/ports/": ("image/test_ports", "image/test_box_ports", "pages/test_ports"),
    "sandbox_server/drivers/profiles/": ("image/test_profiles",),
    "sandbox_server/drivers/proxy/": ("image/test_proxy",),
    "sandbox_server/drivers/recorder/": ("image/test_recording", "pages/test_recorder"),
    "sandbox_server/drivers/secrets/": ("image/test_secrets", "image/test_egress_secrets"),
    "sandbox_server/drivers/shells/": ("image/test_shell", "image/test_terminal"),
    "sandbox_server/drivers/snapshots/": ("image/test_snapshot", "image/test_fork"),
    "sandbox_server/drivers/sound/": ("image/test_microphone",),
    "sandbox_server/drivers/spawn/": ("image/test_box", "image/test_busy", "image/test_failures", "image/test_processes"),
    "sandbox_server/drivers/vnc/": ("image/test_vnc",),
    "sandbox_server/drivers/workload_identity/": ("image/test_identity",),
    "sandbox_server/drivers/x11/": ("image/test_desktop",),
    "sandbox_server/egress/": ("image/test_egress",),
    "sandbox_server/features/approvals/": ("image/test_approvals", "image/test_chats", "pages/test_approvals"),
    "sandbox_server/features/auth/": ("image/test_identity", "image/test_handoff", "image/test_rebinding", "pages/test_access"),
    "sandbox_server/features/box/": ("image/test_box", "image/test_undo"),
    "sandbox_server/features/browser/": ("image/test_browser",),
    "sandbox_server/features/control/": ("image/test_control", "image/test_private", "image/test_worst"),
    "sandbox_server/features/egress/": ("image/test_egress_api", "image/test_egress_programs", "image/test_egress_secrets"),
    "sandbox_server/features/folders/": ("image/test_folders",),
    "sandbox_server/features/handoff/": ("image/test_handoff", "image/test_chats"),
    "sandbox_server/features/jupyter/": ("image/test_jupyter",),
    "sandbox_server/features/profiles/": ("image/test_profiles",),
    "sandbox_server/features/recorder/": ("image/test_recording",),
    "sandbox_server/features/secrets/": ("image/test_secrets", "image/test_egress_secrets"),
    "sandbox_server/features/snapshots/": ("image/test_snapshot", "image/test_fork", "image/test_live_checkpoint"),
    "sandbox_server/features/workload_identity/": ("image/test_identity",),
    "sandbox_server/mcp/": ("image/test_mcp",),
    "sandbox_server/openapi.json": ("clients/", "contract/test_generated_clients"),
    "sandbox_server/stream/": ("image/test_stream", "image/test_microphone", "image/test_worst", "pages/test_connection"),
    "sandbox_server/web/": ("pages/test_access", "pages/test_approvals", "pages/test_connection"),
    "supervisord/": ("image/test_boot", "image/test_failures", "image/test_browser_chaos", "image/test_desktop_chaos"),
}
"""What is run, too, to land a change of these paths: how the names of its tests begin."""


def belongs(file: str, changed: Collection[str]) -> bool:
    """Whether the tests of a file are to be run for a change, which is given by the files that it touches.

    They are where the change touches the file itself, the folder of the product that theirs mirrors, or an area that names them.
    """
    begins, mirrored = _brought(frozenset(changed))
    return file not in BUILDS and (file.startswith(begins) or file.rpartition("/")[0] in mirrored)


@cache
def _brought(changed: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """How the names begin of the tests that a change brings, and the folders of the product in which it touches something."""
    begins = {path.removeprefix("tests/") for path in changed if path.startswith("tests/")}
    begins.update(begin for path in changed for area, those in AREAS.items() if path.startswith(area) for begin in those)
    product = [PurePath(path).relative_to("sandbox_server") for path in changed if path.startswith("sandbox_server/")]
    return tuple(begins), frozenset(str(folder) for path in product for folder in path.parents)


def is_pure(file: str) -> bool:
    """Whether the tests of a file run on any machine, but for those that are slow or measure."""
    return file.startswith(PURE) and not file.startswith(IMPURE)


def markers_of(node: str, fixtures: Collection[str] = (), slow: bool = False, changed: Collection[str] = ()) -> list[str]:
    """The markers `timing`, `full` and `changed` of a test by its node id, its fixtures and the files of the change."""
    file, _, rest = node.removeprefix("tests/").partition("::")
    functions = TIMING.get(file)
    if functions is not None and (not functions or rest.partition("[")[0].rpartition("::")[2] in functions):
        return ["timing"]
    shared = SHARED.intersection(fixtures) and not OWN.intersection(fixtures)
    lands = shared or (file.startswith(LANDING) and "start_sandbox" not in fixtures)
    own = file.startswith(CONTAINERS) and not lands
    full = ["full"] if own or file.startswith(FULL + BUILDS + LONG) else []
    return full + (["changed"] if (full or slow) and belongs(file, changed) else [])
