import js from "@eslint/js";
import globals from "globals";

export default [
  js.configs.recommended,
  { files: ["headlight/*/**/*.js"], languageOptions: { globals: globals.browser } },
  { files: ["tests/**/*.js"], languageOptions: { globals: globals.node } },
  {
    languageOptions: { ecmaVersion: 2022, sourceType: "module" },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      eqeqeq: "error",
      // Names say the type of a thing; tests/test_english.py holds the list against that of Python.
      "id-denylist": ["error", "told", "posed", "asked", "said", "heard", "wanted", "own", "made"],
      "max-len": ["error", { code: 120 }],
      "no-duplicate-imports": "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
