// The terminal page's strings in English and Chinese. `?lang=` chooses the language, else the browser's.

const ENGLISH = {
  terminal: "Terminal",
  tools: "Sessions",
  session: "Session",
  open: "New session",
  close: "Close",
  closeTitle: "Close this session?",
  closeText: "{command} is still running. It will be stopped.",
  closeBusy: "A program is still running. It will be stopped.",
  closeIt: "Close session",
  cancel: "Cancel",
  screen: "Screen of the session",
  connecting: "Connecting…",
  connected: "Connected",
  lost: "Connection lost. Reconnecting…",
  ended: "Closed",
  none: "No session",
  full: "No new session",
  held: "No new session",
  agent: "Agent",
  you: "You",
  running: "{command} (running)",
  busy: "running",
  over: "ended",
  elsewhere: "Agent is typing in another session: {session}",
  show: "Show",
  dismiss: "Dismiss",
  noneTitle: "No terminal is open yet",
  noneText: "The agent’s terminal appears here as soon as it opens one. You can open one of your own.",
  endedTitle: "This session was closed",
  endedText: "Open another one, or start a new one.",
  fullTitle: "All terminals are in use",
  fullText: "Open one of these, or close one to make room.",
  heldTitle: "No new session right now",
  heldText: "Somebody else has control of the terminals. You can watch the open ones.",
  failed: "That did not work: {reason}",
};

/** @type {Record<keyof typeof ENGLISH, string>} */
const CHINESE = {
  terminal: "终端",
  tools: "会话",
  session: "会话",
  open: "新建会话",
  close: "关闭",
  closeTitle: "关闭此会话？",
  closeText: "{command} 仍在运行，将被停止。",
  closeBusy: "仍有程序在运行，将被停止。",
  closeIt: "关闭会话",
  cancel: "取消",
  screen: "会话的屏幕",
  connecting: "正在连接…",
  connected: "已连接",
  lost: "连接已断开，正在重新连接…",
  ended: "已关闭",
  none: "没有会话",
  full: "无法新建会话",
  held: "无法新建会话",
  agent: "智能体",
  you: "你",
  running: "{command}（运行中）",
  busy: "运行中",
  over: "已结束",
  elsewhere: "智能体正在另一个会话中输入：{session}",
  show: "查看",
  dismiss: "忽略",
  noneTitle: "还没有打开的终端",
  noneText: "智能体打开终端后会自动显示在这里。你也可以自己新建一个。",
  endedTitle: "此会话已关闭",
  endedText: "打开另一个会话，或新建一个。",
  fullTitle: "所有终端都在使用中",
  fullText: "打开其中一个，或关闭一个以腾出位置。",
  heldTitle: "现在无法新建会话",
  heldText: "终端正由其他人控制。你可以查看已打开的会话。",
  failed: "操作失败：{reason}",
};

const requested = new URL(location.href).searchParams.get("lang") ?? navigator.language;
export const language = requested.toLowerCase().startsWith("zh") ? "zh" : "en";
const STRINGS = language === "zh" ? CHINESE : ENGLISH;

/** @typedef {keyof typeof ENGLISH} Key */

/**
 * A string with its placeholders filled.
 * @param {Key} key
 * @param {Record<string, string>} [values]
 */
export function translate(key, values = {}) {
  return STRINGS[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** Put the strings where `data-says` and `data-says-aria-label` name them. @param {ParentNode} root */
export function fill(root) {
  for (const element of root.querySelectorAll("[data-says]")) {
    element.textContent = translate(/** @type {Key} */ (element.getAttribute("data-says")));
  }
  for (const element of root.querySelectorAll("[data-says-aria-label]")) {
    element.setAttribute("aria-label", translate(/** @type {Key} */ (element.getAttribute("data-says-aria-label"))));
  }
}
