// What the linter holds the pages to, beside the types.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.LINT ?? "/opt/lint"}/`);
const js = require("@eslint/js");
const globals = require("globals");

export default [
  { ignores: ["**/vendor/**"] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: 2024, sourceType: "module", globals: globals.browser },
    rules: {
      "no-undef": "off", // the types know better
      "no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_$", caughtErrors: "none" }],
      eqeqeq: ["error", "always", { null: "ignore" }],
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
