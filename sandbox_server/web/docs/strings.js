// The strings of the API reference's frame in English and Chinese. What it says of operations comes from the API, in English.

import { translator } from "/static/strings.js";

const ENGLISH = {
  operations: "Operations",
  search: "Search",
  fields: "Fields",
  answer: "Answer",
  call: "How to call it",
  copy: "Copy",
  try: "Try it",
  send: "Send",
  stop: "Stop",
  asEvents: "as events",
  noMatches: "No matches",
  counted: "{count} operations, {tools} of them tools for agents",
  pick: "Pick an operation",
  about: "Each is an HTTP route, a command of `sandbox` inside the container, and, where it is a tool, part of `/mcp`.",
  envelope:
    "Answers are JSON: `{success, message, data, hint}`. What an operation's page calls its answer is `data`. A failure has `success: false`, and `message` and `hint` say why.",
  inData: "in `data` of the answer",
  tools: "Tools for agents",
  sending: "Sending…",
  stopped: "Stopped",
  outcome: "{status} after {ms} ms",
};

/** @type {Record<keyof typeof ENGLISH, string>} */
const CHINESE = {
  operations: "操作",
  search: "搜索",
  fields: "字段",
  answer: "响应",
  call: "调用方式",
  copy: "复制",
  try: "试一试",
  send: "发送",
  stop: "停止",
  asEvents: "以事件流返回",
  noMatches: "没有匹配项",
  counted: "{count} 个操作，其中 {tools} 个是智能体工具",
  pick: "请选择一个操作",
  about: "每个操作都是一条 HTTP 路由和容器内 `sandbox` 的一个命令；作为工具的操作还属于 `/mcp`。",
  envelope: "响应为 JSON：`{success, message, data, hint}`。各操作页所说的响应即 `data`。失败时 `success` 为 `false`，原因见 `message` 和 `hint`。",
  inData: "位于响应的 `data` 中",
  tools: "智能体工具",
  sending: "正在发送…",
  stopped: "已停止",
  outcome: "{status}，用时 {ms} 毫秒",
};

export const translate = translator(ENGLISH, CHINESE);
