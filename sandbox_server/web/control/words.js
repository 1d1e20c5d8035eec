// What the page says, in English and Chinese; the browser's language decides, or `?lang=`.

const ENGLISH = {
  agent: "The agent drives",
  you: "You drive",
  other: "{name} drives",
  shared: "Everybody drives",
  frozen: "Everything is stopped",
  take: "Take control",
  ask: "Ask for control",
  asked: "Asked for control · {seconds} s",
  cancel: "Cancel",
  seize: "Take over",
  back: "Give back",
  share: "Share",
  unshare: "End sharing",
  stop: "Stop everything",
  thaw: "Let the agent go on",
  watching: "View only",
  idle: "You have been still. The agent has control again in {seconds} s.",
  lost: "The connection of {name} is lost. The agent has control again in {seconds} s.",
  cap: "Control ends in {seconds} s: it was held for the longest time.",
  stay: "I am still here",
  wants: "{name} asks for control",
  agentWants: "The agent asks for control",
  give: "Give it",
  refuse: "Not now",
  taken: "Your click took control. The agent waits until you give it back.",
  dropped: "Your mouse and keyboard do nothing while {name} drives.",
  agentName: "the agent",
  noControl: "Press “Take control” first: your mouse and keyboard do nothing yet.",
  viewers: "Watching: {names}",
  nobody: "Nobody watches",
  me: "{name} (you)",
  keyboard: "Keyboard",
  clipboard: "Clipboard",
  clipLabel: "The desktop's clipboard",
  clipEmpty: "Nothing was copied yet. What you put here can be pasted on the desktop.",
  type: "Type it",
  join: "Share this computer's clipboard",
  terminal: "Terminal",
  whole: "Full screen",
  connecting: "Connecting…",
  disconnected: "Connection lost. It is tried again until it works.",
  refused: "You are signed out. Sign in, or open a new link.",
  failed: "That did not work: {reason}",
  screen: "The computer's screen",
  shortcuts: "Ctrl+Alt+Enter takes control and gives it back; Ctrl+Alt+Backspace leaves the screen.",
};

/** @type {Record<keyof typeof ENGLISH, string>} */
const CHINESE = {
  agent: "智能体正在操作",
  you: "你正在操作",
  other: "{name} 正在操作",
  shared: "大家同时操作",
  frozen: "已全部停止",
  take: "接管",
  ask: "请求控制",
  asked: "已请求控制 · {seconds} 秒",
  cancel: "取消",
  seize: "强制接管",
  back: "交还",
  share: "共享",
  unshare: "结束共享",
  stop: "全部停止",
  thaw: "让智能体继续",
  watching: "仅查看",
  idle: "你已有一段时间没有操作，{seconds} 秒后智能体将重新获得控制。",
  lost: "{name} 的连接已断开，{seconds} 秒后智能体将重新获得控制。",
  cap: "已达到最长控制时间，控制将在 {seconds} 秒后结束。",
  stay: "我还在",
  wants: "{name} 请求控制",
  agentWants: "智能体请求控制",
  give: "交给对方",
  refuse: "暂不",
  taken: "你的点击已接管控制。在你交还之前，智能体会等待。",
  dropped: "{name} 正在操作，你的鼠标和键盘不起作用。",
  agentName: "智能体",
  noControl: "请先点“接管”：你的鼠标和键盘现在还不起作用。",
  viewers: "正在观看：{names}",
  nobody: "没有人在观看",
  me: "{name}（你）",
  keyboard: "键盘",
  clipboard: "剪贴板",
  clipLabel: "桌面的剪贴板",
  clipEmpty: "还没有复制任何内容。写在这里的文字可以粘贴到桌面。",
  type: "逐字输入",
  join: "共享本机剪贴板",
  terminal: "终端",
  whole: "全屏",
  connecting: "正在连接…",
  disconnected: "连接已断开，正在重试。",
  refused: "你已退出登录。请重新登录，或打开新的链接。",
  failed: "操作失败：{reason}",
  screen: "电脑屏幕",
  shortcuts: "Ctrl+Alt+Enter 接管或交还；Ctrl+Alt+Backspace 离开屏幕。",
};

const wished = new URL(location.href).searchParams.get("lang") ?? navigator.language;
export const language = wished.toLowerCase().startsWith("zh") ? "zh" : "en";
const WORDS = language === "zh" ? CHINESE : ENGLISH;

/**
 * A sentence with its gaps filled.
 * @param {keyof typeof ENGLISH} key
 * @param {Record<string, string | number>} [values]
 */
export function say(key, values = {}) {
  return WORDS[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));
}

/** A person's name as people read it: who signed in, and what tells two of them apart. @param {string} name */
export function person(name) {
  const [who, mark] = name.split("#");
  return mark ? `${who} · ${mark.slice(0, 4)}` : who;
}
