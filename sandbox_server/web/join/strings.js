// The strings of the page of an invitation in English and Chinese.

import { translator } from "/static/strings.js";

const ENGLISH = {
  page: "Join",
  title: "You are invited",
  about: "You are invited to a computer that an AI agent and people share. Others see the name that you choose.",
  name: "Your name",
  join: "Join",
  unusable: "Choose a shorter name, of letters that can be seen.",
  broken: "This link is not complete. Copy all of it, or ask for a new one.",
};

/** @type {Record<keyof typeof ENGLISH, string>} */
const CHINESE = {
  page: "加入",
  title: "你收到了邀请",
  about: "你被邀请加入一台由 AI 智能体和人共用的电脑。其他人会看到你填写的名字。",
  name: "你的名字",
  join: "加入",
  unusable: "请换一个较短、由可见字符组成的名字。",
  broken: "此链接不完整。请完整复制，或索取新的链接。",
};

export const translate = translator(ENGLISH, CHINESE);
