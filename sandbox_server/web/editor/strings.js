// The strings of the page that starts an editor, in English and Chinese.

import { translator } from "/static/strings.js";

const ENGLISH = {
  starting: "Starting…",
  startingNamed: "Starting {name}…",
  patience: "This takes some seconds. The page opens by itself.",
  failed: "{name} does not run",
  answered: "the sandbox answered {status}",
  silent: "The sandbox does not answer",
  reload: "Reload the page to try again.",
  home: "Home",
};

/** @type {Record<keyof typeof ENGLISH, string>} */
const CHINESE = {
  starting: "正在启动…",
  startingNamed: "正在启动 {name}…",
  patience: "需要几秒钟，页面会自动打开。",
  failed: "{name} 未能运行",
  answered: "沙箱返回了 {status}",
  silent: "沙箱没有响应",
  reload: "请刷新页面重试。",
  home: "首页",
};

export const translate = translator(ENGLISH, CHINESE);
