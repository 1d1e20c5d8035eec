// The strings of the error pages in English and Chinese.

import { translator } from "/static/strings.js";

const ENGLISH = {
  home: "Home",
  forbidden: "Not allowed",
  forbiddenAbout: "Your sign-in does not include this page. Ask whoever invited you for access.",
  shell: "Your sign-in does not include the terminal. Ask whoever invited you for terminal access.",
  files: "Your sign-in does not include the files. Ask whoever invited you for access to files.",
  admin: "This page is for the owner of the sandbox. Ask whoever invited you for access.",
  view: "Your sign-in does not include the screen. Ask whoever invited you for a link to watch.",
  missing: "Page not found",
  missingAbout: "There is nothing at this address.",
  held: "Somebody has control",
  heldAbout: "A person is using this right now. Try again once control is handed back.",
};

/** @type {Record<keyof typeof ENGLISH, string>} */
const CHINESE = {
  home: "首页",
  forbidden: "无权访问",
  forbiddenAbout: "你的登录不包含此页面，请向邀请你的人索取权限。",
  shell: "你的登录不包含终端，请向邀请你的人索取终端权限。",
  files: "你的登录不包含文件，请向邀请你的人索取文件权限。",
  admin: "此页面仅供沙箱所有者使用，请向邀请你的人索取权限。",
  view: "你的登录不包含屏幕，请向邀请你的人索取观看链接。",
  missing: "页面不存在",
  missingAbout: "此地址没有内容。",
  held: "有人正在控制",
  heldAbout: "有人正在使用。对方交还控制后请重试。",
};

export const translate = translator(ENGLISH, CHINESE);
