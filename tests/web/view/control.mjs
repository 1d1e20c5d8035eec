// States of the control lease, as /v1/control tells them.

/** @param {object} changes to a state in which the agent drives and the viewer may take control @returns {any} */
export function control(changes = {}) {
  const { you, ...rest } = /** @type {any} */ (changes);
  return {
    state: "agent",
    holder: null,
    epoch: 1,
    private: null,
    returning: null,
    requests: [],
    viewers: [{ name: "ann#1234", role: "control", you: true }],
    take: "click",
    ...rest,
    you: { name: "ann#1234", person: true, role: "control", driving: false, sees: true, ...you },
  };
}
