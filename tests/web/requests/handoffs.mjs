// Requests of an agent, and what a page does about them, for tests.

/** @type {any} */
export const LOGIN = {
  id: "h1", kind: "login", reason: "The bank asks who you are", instructions: "Use the work account", url: "https://bank.test/login", region: null,
  choices: [], fields: [], deadline_at: 0, claimed_by: null,
};
export const MINE = { ...LOGIN, claimed_by: "ann#1234" };
export const CONFIRM = { ...LOGIN, id: "h2", kind: "confirm", reason: "Place the order for 12.90?", instructions: "", url: null };
export const PASSWORD = { name: "password", label: "Password", secret: true, origin: "https://bank.test" };
export const USER = { name: "user", label: "User name", secret: false, origin: null };

/** Actions that note what they are asked for. @param {object} [given] @returns {any} */
export function fakeActions(given = {}) {
  /** @type {any[]} */
  const done = [];
  return {
    done,
    you: "ann#1234",
    others: [],
    decides: false,
    answer: async ({ id }, answer, how) => (done.push(["answer", id, answer, how]), true),
    claim: async ({ id }) => void done.push(["claim", id]),
    passOn: async ({ id }, to, how) => void done.push(["pass", id, to, how]),
    explainGone: async (id) => void done.push(["gone", id]),
    ...given,
  };
}
