// States of the control lease, as /v1/control tells them.

/** @param {object} changes to a state in which the agent drives and the viewer may take control @returns {any} */
export function control(changes = {}) {
  const { you, ...rest } = /** @type {any} */ (changes);
  return {
    state: "agent",
    holder: null,
    epoch: 1,
    scope: rest.state === "human" ? ["cdp", "gui", "shell"] : [],
    private: null,
    returning: null,
    requests: [],
    viewers: [{ name: "ann#1234", role: "control", you: true }],
    take: "click",
    paused: null,
    agent_seen: true,
    ...rest,
    you: { name: "ann#1234", person: true, role: "control", driving: false, sees: true, ...you },
  };
}

export const OTHER = { state: "human", holder: "bob#5678" };
export const MINE = { state: "human", holder: "ann#1234", you: { driving: true } };

/** A lease that notes what it is asked for. @returns {any} */
export function fakeLease() {
  /** @type {any[]} */
  const done = [];
  return {
    done,
    now: undefined,
    do: async (verb) => void done.push(verb),
    give: async (to) => void done.push(["give", to]),
    answer: async (subject, yes) => void done.push(["answer", subject, yes]),
    secondsLeft: (seconds) => seconds,
  };
}
