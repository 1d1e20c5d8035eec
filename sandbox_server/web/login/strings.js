// The strings of the sign-in page in English and Chinese.

import { translator } from "/static/strings.js";

const ENGLISH = {
  page: "Sign in",
  title: "Sign in to this sandbox",
  used: "This link was already used, or has expired. Ask for a new one.",
  key: "API key or token",
  signIn: "Sign in",
  noKey: "No key? Open the sign-in link from the start output, or print another:",
  silent: "The sandbox does not answer. Is it still running?",
  wrongKey: "Wrong key.",
  answered: "The sandbox answered {status}.",
};

/** @type {Record<keyof typeof ENGLISH, string>} */
const CHINESE = {
  page: "登录",
  title: "登录此沙箱",
  used: "此链接已被使用或已过期，请索取新的链接。",
  key: "API 密钥或令牌",
  signIn: "登录",
  noKey: "没有密钥？请打开启动输出中的登录链接，或重新生成一个：",
  silent: "沙箱没有响应。它还在运行吗？",
  wrongKey: "密钥错误。",
  answered: "沙箱返回了 {status}。",
};

export const translate = translator(ENGLISH, CHINESE);
