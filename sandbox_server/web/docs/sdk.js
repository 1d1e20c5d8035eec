// The operations of the published Python SDK by tag. A test compares it with the published contract.

/** @type {Record<string, string[]>} */
export const SDK = {
  auth: ["authenticate", "create_ticket"],
  bash: ["close_session", "create_session", "exec", "kill", "output", "sessions", "write"],
  browser: [
    "activate", "add_route", "back", "check", "clear_cookies", "click", "close", "create", "detect", "evaluate", "execute_action",
    "export_console", "export_har", "fill", "fill_form", "find_text", "forward", "get_console", "get_cookies", "get_elements", "get_html",
    "get_info", "get_markdown", "get_proxy_pac", "get_requests", "get_text", "hot_key", "hover", "list", "load", "navigate", "press_key",
    "record", "reload", "remove_route", "restart", "save", "screenshot", "scroll", "scroll_to", "scroll_to_element", "select_option",
    "set_config", "set_cookies", "set_headers", "set_scoped_headers", "type_text", "uncheck", "upload_file", "wait",
  ],
  code: ["execute_code", "get_info"],
  display: ["record"],
  file: [
    "download_file", "find_files", "glob_files", "grep_files", "list_path", "read_file", "replace_in_file", "search_in_file",
    "str_replace_editor", "upload_file", "write_file",
  ],
  "file-watch": ["watch_create", "watch_events", "watch_list", "watch_poll", "watch_stop", "watch_wait"],
  jupyter: ["create_session", "delete_session", "delete_sessions", "execute_code", "get_info", "list_sessions"],
  mcp: [""],
  nodejs: ["create_session", "delete_session", "execute_code", "get_info", "get_session", "list_sessions", "update_session"],
  proxy: [
    "add_exclude", "add_mapping", "diagnose", "get_upstream", "health", "list_excludes", "list_mappings", "remove_exclude",
    "remove_mapping", "remove_upstream", "set_upstream",
  ],
  sandbox: [
    "get_context", "get_nodejs_packages", "get_python_packages", "list_hooks", "observe_export", "observe_live", "observe_report_delete",
    "observe_report_download", "observe_reports", "observe_start", "observe_status", "observe_stop", "register_hook", "remove_hook",
  ],
  shell: [
    "cleanup_all_sessions", "cleanup_session", "create_session", "exec_command", "get_session_stats", "get_terminal_url", "kill_process",
    "list_sessions", "update_session", "view", "wait_for_process", "write_to_process",
  ],
  skills: ["clear_skills", "delete_skill", "get_content", "list_metadata", "register_skills"],
  util: ["convert_to_markdown"],
};
