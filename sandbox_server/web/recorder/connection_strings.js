// The strings of connections in the record, in English and Chinese. Home, which shows none of them, does not load them.

import { language } from "/static/strings.js";
import { segmentsOf } from "./strings.js";

/** @typedef {import("./strings.js").Segment} Segment */

const ENGLISH = {
  connectedTo: "{program} connected to {places}",
  refusedPlace: "{program} was refused {place} by the rule {rule}",
  noAnswer: "{program} got no answer from {place}",
  manyTimes: " ({count} times)",
  networkClosed: "The network was closed: the egress process was away",
  networkOpen: "The network is open again",
  policyReplaced: "{who} replaced the network policy",
  policyChanged: "{who} changed the network policy",
  policyGranted: "{who} decided about {what} for a while",
  policyRevoked: "{who} ended the temporary rule for {what}",
  policyAlways: "{who} added a rule for {what}",
  cutConnections: "; {count} connections were cut",
  cutConnectionsOne: "; 1 connection was cut",
};

/** @type {Record<keyof typeof ENGLISH, string>} */
const CHINESE = {
  connectedTo: "{program} 连接了 {places}",
  refusedPlace: "{program} 连接 {place} 被规则 {rule} 拒绝",
  noAnswer: "{program} 未得到 {place} 的应答",
  manyTimes: "（{count} 次）",
  networkClosed: "网络已关闭：出口进程不在",
  networkOpen: "网络已恢复",
  policyReplaced: "{who}替换了网络策略",
  policyChanged: "{who}更改了网络策略",
  policyGranted: "{who}暂时决定了 {what}",
  policyRevoked: "{who}结束了 {what} 的临时规则",
  policyAlways: "{who}为 {what} 加入了一条规则",
  cutConnections: "，断开了 {count} 个连接",
  cutConnectionsOne: "，断开了 1 个连接",
};

/** @typedef {keyof typeof ENGLISH} ConnectionKey */

/** A sentence in pieces. @param {ConnectionKey} key @param {Record<string, string | number>} [values] @param {string[]} [code] @returns {Segment[]} */
export const connectionSegments = (key, values = {}, code = []) => segmentsOf((language === "zh" ? CHINESE : ENGLISH)[key], values, code);
