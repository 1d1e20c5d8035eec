// The page's strings in English and Chinese. `?lang=` chooses the language, else the browser's.

const ENGLISH = {
  title: "Recorder",
  screen: "The screen",
  events: "What was done",
  timeline: "Who, when",
  kinds: "Show",
  recordings: "Filmed",
  slider: "Moment",
  play: "Play",
  pause: "Pause",
  pin: "Keep these ten minutes",
  pinned: "Kept: ten minutes up to {time}",
  check: "Check the record",
  export: "Export",
  whole: "The record is whole: {count} events",
  broken: "The record was changed: {why}",
  unrecorded: "Nothing was filmed at this moment: nobody acted on the screen.",
  live: "Live",
  loading: "Loading…",
  lost: "Connection lost. It is tried again until it works.",
  refused: "You need the scope admin to see this.",
  failed: "That did not work: {reason}",
  none: "Nothing was done yet.",
  agent: "Agent",
  person: "Person",
  system: "System",
  command: "Commands",
  file: "Files",
  input: "Screen and pages",
  navigation: "Navigation",
  control: "Control",
  handoff: "Requests",
  receipt: "Receipts",
  checkpoint: "Checkpoints",
  call: "Other calls",
  read: "Reads",
  video: "Films",
  log: "The recorder",
  opened: "opened {url}",
  closed: "closed {url}",
  moved: "went to {url}",
  keys: "{count} keys",
  clicks: "{count} clicks",
  inputs: "{count} inputs",
  pastes: "{count} pastes",
  changed: "{person} changed {count} things",
};

/** @type {Record<keyof typeof ENGLISH, string>} */
const CHINESE = {
  title: "记录仪",
  screen: "屏幕",
  events: "操作记录",
  timeline: "谁在何时操作",
  kinds: "显示",
  recordings: "录像",
  slider: "时刻",
  play: "播放",
  pause: "暂停",
  pin: "保留这十分钟",
  pinned: "已保留截至 {time} 的十分钟",
  check: "校验记录",
  export: "导出",
  whole: "记录完整：{count} 条",
  broken: "记录被改动过：{why}",
  unrecorded: "此刻没有录像：没有人在操作屏幕。",
  live: "实时",
  loading: "正在加载…",
  lost: "连接已断开，正在重试。",
  refused: "查看此页需要 admin 权限。",
  failed: "操作失败：{reason}",
  none: "还没有任何操作。",
  agent: "智能体",
  person: "人",
  system: "系统",
  command: "命令",
  file: "文件",
  input: "屏幕与网页",
  navigation: "导航",
  control: "控制权",
  handoff: "求助",
  receipt: "回执",
  checkpoint: "检查点",
  call: "其他调用",
  read: "读取",
  video: "录像",
  log: "记录仪",
  opened: "打开 {url}",
  closed: "关闭 {url}",
  moved: "前往 {url}",
  keys: "{count} 次按键",
  clicks: "{count} 次点击",
  inputs: "{count} 次输入",
  pastes: "{count} 次粘贴",
  changed: "{person} 改动了 {count} 处",
};

const requested = new URL(location.href).searchParams.get("lang") ?? navigator.language;
export const language = requested.toLowerCase().startsWith("zh") ? "zh" : "en";
const STRINGS = language === "zh" ? CHINESE : ENGLISH;

/** @typedef {keyof typeof ENGLISH} StringKey */

/**
 * A string with its placeholders filled.
 * @param {StringKey} key
 * @param {Record<string, string | number>} [values]
 */
export function translate(key, values = {}) {
  return STRINGS[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** A time of day for display. @param {number} at seconds since the epoch */
export function moment(at) {
  return new Date(at * 1000).toLocaleTimeString(language, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
}
