// The strings of /stream/ in English and Chinese, and what the browser lacks for the stream.

import { translator } from "/static/strings.js";

const ENGLISH = {
  title: "Desktop",
  connecting: "Connecting…",
  connected: "Connected",
  lost: "Connection lost. Reconnecting…",
  slow: "Connection is slow",
  stalled: "Reconnecting… your input is not sent",
  blocked:
    "This network blocks WebSockets. Watching by pictures instead.\nMouse and keyboard cannot be sent. " +
    "A proxy in front of the sandbox has to pass on the headers Upgrade and Connection.",
  blockedShort: "Pictures only",
  picture: "A picture of the screen",
  private: "Private",
  keyboard: "Keyboard of the desktop",
  screen: "The computer's screen. Enter lets the keyboard act on it. Ctrl+Alt+Backspace leaves it.",
  screenToWatch: "The computer's screen",
  enterToControl: "Press Enter to control, Ctrl+Alt+Backspace to leave",
  watchingOnly: "You are watching only.",
  viewOnly: "View only",
  viewOnlyTitle: "Your link lets you watch. Mouse and keyboard do nothing.",
  sound: "Sound",
  microphone: "Microphone",
  fit: "Fit desktop",
  fitTitle: "The desktop gets the size of this window while you drive",
  statistics: "Statistics",
  codecMap: "Codec map",
  whole: "Full screen",
  insecure:
    "This page is not encrypted, so the browser plays no sound, gives it no microphone, keeps it from your clipboard, " +
    "and may show video as single pictures. Open it over https, or at localhost.",
  codec: "This browser cannot decode H.264, so video comes as single pictures. Firefox on Linux needs FFmpeg's libavcodec for it.",
};

/** @type {Record<keyof typeof ENGLISH, string>} */
const CHINESE = {
  title: "桌面",
  connecting: "正在连接…",
  connected: "已连接",
  lost: "连接已断开，正在重新连接…",
  slow: "连接缓慢",
  stalled: "正在重新连接…你的输入不会发送",
  blocked: "此网络阻止了 WebSocket，改为显示逐张截图。\n无法发送鼠标和键盘输入。沙箱前面的代理必须转发 Upgrade 和 Connection 请求头。",
  blockedShort: "仅显示截图",
  picture: "屏幕截图",
  private: "私密",
  keyboard: "桌面的键盘",
  screen: "电脑屏幕。按 Enter 后键盘在其中生效，按 Ctrl+Alt+Backspace 离开。",
  screenToWatch: "电脑屏幕",
  enterToControl: "按 Enter 开始操作，按 Ctrl+Alt+Backspace 离开",
  watchingOnly: "你只能观看。",
  viewOnly: "仅查看",
  viewOnlyTitle: "你的链接只能观看，鼠标和键盘不起作用。",
  sound: "声音",
  microphone: "麦克风",
  fit: "适应窗口",
  fitTitle: "你操作时，桌面大小与此窗口一致",
  statistics: "统计",
  codecMap: "编码分布",
  whole: "全屏",
  insecure: "此页面未加密，因此浏览器不播放声音，不提供麦克风，也不让它写入剪贴板，动态画面可能只逐张显示。请通过 https 或 localhost 打开。",
  codec: "此浏览器无法解码 H.264，动态画面会逐张显示。在 Linux 上，Firefox 需要 FFmpeg 的 libavcodec。",
};

export const translate = translator(ENGLISH, CHINESE);
